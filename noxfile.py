"""The tasks of this project: `nox -l` lists them, `nox -s tests` runs one.

Each runs in the environment that is active, which `python -m pip install -e '.[test,dev]'` made;
`.ci/run` makes a clean one and does all of it.
"""

from __future__ import annotations

from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "layers", "types", "tests"]

_TREE = Path("build", "tree")
_GRAFTED = ("analysis", "cli", "reports")


def make_tree() -> None:
    """Make a folder in which the package lies as it is imported, for tools that run no code.

    An import hook of the editable install grafts the folders below `autoparser`. Whatever reads
    files and follows no hook (mypy, pyright, import-linter, griffe) finds them by links here.
    """
    package = _TREE / "autoparser"
    package.mkdir(parents=True, exist_ok=True)
    modules = [path for path in Path("autoparser").iterdir() if path.is_file()]
    sources = {path.name: path.resolve() for path in [*modules, *map(Path, _GRAFTED)]}
    for link in package.iterdir():
        if link.is_symlink() and link.name not in sources:
            link.unlink()
    for name, source in sources.items():
        if not (package / name).exists():
            (package / name).symlink_to(source, target_is_directory=source.is_dir())


@nox.session
def lint(session: nox.Session) -> None:
    """Run ruff; seconds."""
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def layers(session: nox.Session) -> None:
    """Check the contracts between the layers; seconds."""
    make_tree()
    settings = Path("pyproject.toml").resolve()
    # It looks into the current folder first.
    with session.chdir(_TREE):
        session.run("lint-imports", "--config", str(settings))


@nox.session
def types(session: nox.Session) -> None:
    """Run the two type checkers, strict, or the one that is named after `--`; a minute."""
    make_tree()
    for checker in session.posargs or ["mypy", "pyright"]:
        session.run(checker)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the quick lane, or what is named after `--`."""
    session.run("python", "-m", "pytest", *(session.posargs or ["-m", "not slow"]))


@nox.session(name="all-tests")
def all_tests(session: nox.Session) -> None:
    """Run every test, the corpus and the browser among them."""
    session.run("python", "-m", "pytest", "-n", "2", "--dist", "loadfile", *session.posargs)


@nox.session
def snapshots(session: nox.Session) -> None:
    """Write anew what the tests compare whole reports with; look at the difference."""
    session.env["UPDATE_SNAPSHOTS"] = "1"
    session.run("python", "-m", "pytest", "-q", "tests/cli/test_uses.py", "tests/reports")
    session.env["UPDATE_DOCS"] = "1"
    session.run("python", "-m", "pytest", "-q", "tests/cli/test_rule.py")


@nox.session
def screens(session: nox.Session) -> None:
    """Write anew the screens that the README and docs/ show, whole ones and the picture."""
    session.env["UPDATE_DOCS"] = "1"
    session.run("python", "-m", "pytest", "-q", "tests/cli/test_documentation.py")


@nox.session
def picture(session: nox.Session) -> None:
    """Draw the layers in ARCHITECTURE.md anew, from the contracts and the code."""
    session.run("python", "-m", "tests.layer_picture")


@nox.session
def schemas(session: nox.Session) -> None:
    """Write anew the schemas of the documents in docs/, from the classes that they are made of."""
    session.env["UPDATE_DOCS"] = "1"
    session.run("python", "-m", "pytest", "-q", "tests/test_schemas.py")


@nox.session
def scoreboards(session: nox.Session) -> None:
    """Print the neutral cases and the corpus; `-- --parse` and the like ask for one table."""
    if session.posargs:
        session.run("python", "-m", "tests.corpus", *session.posargs)
        return
    for table in ("--scoreboard", "--parse", "--gate"):
        session.run("python", "-m", "tests.corpus", table)


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Run a benchmark by its name, such as `-- parse`; each prints ratios within one run."""
    for name in session.posargs or ["analyze", "parse"]:
        session.run("python", "-m", f"tests.benchmarks.{name}")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation's pages; a broken link fails."""
    session.run("mkdocs", "build", "--strict", *session.posargs)

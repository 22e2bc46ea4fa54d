"""The tasks of this project: `nox -l` lists them, `nox -s tests` runs one.

Tasks run in the active environment, with the packages of `python -m pip install -e '.[test,dev]'`.
`.ci/run` creates a clean environment and runs all checks there.
"""

from __future__ import annotations

from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "layers", "types", "tests"]

_TREE = Path("build", "tree")
_GRAFTED = ("analysis", "cli", "reports")


def make_tree() -> None:
    """Link the package's folders as they are imported, for tools that run no code.

    An import hook of the editable install places the folders below `autoparser`. Tools that read
    files without running hooks (mypy, pyright, import-linter, griffe) find them by these links.
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
    """Run ruff (seconds)."""
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def layers(session: nox.Session) -> None:
    """Check the contracts between the layers (seconds)."""
    make_tree()
    settings = Path("pyproject.toml").resolve()
    # lint-imports resolves modules in the current folder first.
    with session.chdir(_TREE):
        session.run("lint-imports", "--config", str(settings))


@nox.session
def types(session: nox.Session) -> None:
    """Run mypy and pyright, or the one named after `--` (a minute)."""
    make_tree()
    for checker in session.posargs or ["mypy", "pyright"]:
        session.run(checker)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the quick tests, or the tests named after `--`."""
    session.run("python", "-m", "pytest", *(session.posargs or ["-m", "not slow"]))


@nox.session(name="all-tests")
def all_tests(session: nox.Session) -> None:
    """Run all tests, including the corpus and browser tests."""
    session.run("python", "-m", "pytest", "-n", "2", "--dist", "loadfile", *session.posargs)


@nox.session
def snapshots(session: nox.Session) -> None:
    """Rewrite the expected reports of the tests; read the diff afterwards."""
    session.env["UPDATE_SNAPSHOTS"] = "1"
    session.run("python", "-m", "pytest", "-q", "tests/cli/test_uses.py", "tests/reports")
    session.env["UPDATE_DOCS"] = "1"
    session.run("python", "-m", "pytest", "-q", "tests/cli/test_rule.py")


@nox.session
def screens(session: nox.Session) -> None:
    """Rewrite the screens in the README and docs/, including the picture."""
    session.env["UPDATE_DOCS"] = "1"
    session.run("python", "-m", "pytest", "-q", "tests/cli/test_documentation.py")


@nox.session
def picture(session: nox.Session) -> None:
    """Redraw the layers in ARCHITECTURE.md from the contracts and the code."""
    session.run("python", "-m", "tests.layer_picture")


@nox.session
def schemas(session: nox.Session) -> None:
    """Rewrite the JSON schemas in docs/ from the document classes."""
    session.env["UPDATE_DOCS"] = "1"
    session.run("python", "-m", "pytest", "-q", "tests/test_schemas.py")


@nox.session
def scoreboards(session: nox.Session) -> None:
    """Print the tables of the neutral cases and the corpus, or only one, e.g. `-- --parse`."""
    if session.posargs:
        session.run("python", "-m", "tests.corpus", *session.posargs)
        return
    for table in ("--scoreboard", "--parse", "--gate"):
        session.run("python", "-m", "tests.corpus", table)


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Run benchmarks by name, e.g. `-- parse`; each prints ratios within one run."""
    for name in session.posargs or ["analyze", "parse"]:
        session.run("python", "-m", f"tests.benchmarks.{name}")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation site; a broken link fails the build."""
    session.run("mkdocs", "build", "--strict", *session.posargs)

"""The package lists its folders, files and dependencies, and runs beside its own checkout.

A folder that is not a package is silently not in the wheel; an undeclared dependency is there for
as long as another one brings it.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from autoparser import __version__

ROOT = Path(__file__).resolve().parent.parent
GRAFTED = ("analysis", "cli", "reports")
OWN = {"autoparser", "tests", "_typeshed"}


def project_file() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {module.parent for folder in GRAFTED for module in (ROOT / folder).rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_data_files_are_listed_as_package_data() -> None:
    listed: dict[str, list[str]] = project_file()["tool"]["setuptools"]["package-data"]
    found = {
        path.relative_to(ROOT)
        for folder in GRAFTED
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    covered = {
        path.relative_to(ROOT)
        for package, patterns in listed.items()
        for pattern in patterns
        for path in (ROOT / package.replace("autoparser.", "", 1).replace(".", "/")).glob(pattern)
    }
    assert found <= covered
    assert found


def normal(name: str) -> str:
    """Spell a distribution's name as the package index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(requirements: Iterable[str]) -> list[str]:
    return sorted(normal(re.split(r"[^\w.-]", text, maxsplit=1)[0]) for text in requirements)


def imported_modules(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or ""


def imported(*folders: str) -> set[str]:
    """Name the distributions of all that is imported by a statement."""
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    modules = {name.partition(".")[0] for file in files for name in imported_modules(file)}
    distributions = packages_distributions()
    return {
        normal(distributions.get(module, [module])[0])
        for module in modules - OWN - sys.stdlib_module_names
    }


def test_imports_equal_the_declared_dependencies() -> None:
    project = project_file()["project"]
    extras = project["optional-dependencies"]
    assert sorted(imported("autoparser", *GRAFTED)) == declared(
        [*project["dependencies"], *extras["serve"], *extras["debug"]]
    )


def plugin_packages() -> list[str]:
    """Read the packages that a page names for `pip install --no-deps`."""
    page = (ROOT / "docs" / "engines" / "plugins.md").read_text("utf-8")
    (row,) = re.findall(r"^\| the plugins \| (.*) \|$", page, re.MULTILINE)
    return re.findall(r"`([\w-]+)`", row)


def test_plugin_needs_only_the_packages_on_its_page() -> None:
    template = ROOT / "fixtures" / "templates" / "j1-json-in-tags.jinja"
    command = ["tests/plugin_session.py", str(template), *plugin_packages()]
    done = subprocess.run(  # noqa: S603 - a file of this repository
        [sys.executable, *command],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )
    session = json.loads(done.stdout.splitlines()[-1])
    calls = ["get_weather"]
    assert session["read"] == [["hm", calls, False], ["hm", calls, True], ["hm", [], False], calls]
    found = {*session["imported"]}
    assert not {"typer", "rich", "httpx2", "huggingface_hub", "yaml"} & found
    assert {*plugin_packages()} <= found, "the page names one that no plugin needs"


def test_test_imports_are_declared_once() -> None:
    project = project_file()["project"]
    extras = project["optional-dependencies"]
    names = declared([*project["dependencies"], *extras["serve"], *extras["test"]])
    assert imported("tests") <= set(names)
    assert sorted(set(names)) == names


PACKAGES = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
"""Folders of installed packages. Named by PYTHONPATH and under `-S`, they install no import hook,
so that an editable install in them is not found."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder that holds the package as a wheel of `setup.py` has it."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(ROOT / "autoparser", folder / "autoparser")
    for name in ("analysis", "cli", "reports"):
        (folder / "autoparser" / name).symlink_to(ROOT / name, target_is_directory=True)
    return str(folder)


def run(cwd: Path, *arguments: str, packages: list[str] | None) -> str:
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    options = ["-S"] if packages is not None else []
    if packages is not None:
        environment["PYTHONPATH"] = os.pathsep.join(packages)
    command = [sys.executable, *options, *arguments]
    done = subprocess.run(  # noqa: S603 - Python with code of this file
        command, capture_output=True, text=True, cwd=cwd, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def check_both_uses(cwd: Path, packages: list[str] | None) -> None:
    template = ROOT / "fixtures" / "templates" / "content-plain.jinja"
    code = f"from autoparser import analyze; print(analyze({str(template)!r}, isolate=True).ok)"
    assert run(cwd, "-c", code, packages=packages) == "True"
    assert run(cwd, "-m", "autoparser", "--version", packages=packages).endswith(__version__)


def test_works_in_a_checkout_with_only_dependencies_installed() -> None:
    check_both_uses(ROOT, PACKAGES)


@pytest.mark.parametrize("in_checkout", [True, False])
def test_package_works_where_it_is_installed(
    installed: str, in_checkout: bool, tmp_path: Path
) -> None:
    check_both_uses(ROOT if in_checkout else tmp_path, [installed, *PACKAGES])


@pytest.mark.parametrize("in_checkout", [True, False])
def test_package_works_in_this_environment(in_checkout: bool, tmp_path: Path) -> None:
    """Their environment has an editable install, by the command of the README."""
    check_both_uses(ROOT if in_checkout else tmp_path, None)


def test_checkout_lends_the_package_no_other_module() -> None:
    find = "from importlib.util import find_spec; print(find_spec('autoparser.setup'))"
    assert run(ROOT, "-c", find, packages=PACKAGES) == "None"

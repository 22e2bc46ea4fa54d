"""What the package lists is what there is: folders, files, and the dependencies that it imports.

A folder that is not a package is silently not in the wheel; an undeclared dependency is there for
as long as another one brings it.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GRAFTED = ("analysis", "cli", "reports")


OWN = {"autoparser", "tests", "_typeshed"}


def project_file() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def setuptools_settings() -> dict[str, object]:
    settings: dict[str, object] = project_file()["tool"]["setuptools"]
    return settings


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {module.parent for folder in GRAFTED for module in (ROOT / folder).rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_every_file_that_is_no_module_is_package_data() -> None:
    listed = setuptools_settings()["package-data"]
    assert isinstance(listed, dict)
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
    """Name the distributions of all that is imported by a statement, also by one of a stub."""
    modules = {
        name.partition(".")[0]
        for folder in folders
        for file in (ROOT / folder).rglob("*.py*")
        if file.suffix in (".py", ".pyi")
        for name in imported_modules(file)
    }
    distributions = packages_distributions()
    return {
        normal(distributions.get(module, [module])[0])
        for module in modules - OWN - sys.stdlib_module_names
    }


def test_what_the_package_imports_is_what_it_depends_on() -> None:
    project = project_file()["project"]
    extras = project["optional-dependencies"]
    assert sorted(imported("autoparser", *GRAFTED)) == declared(
        [*project["dependencies"], *extras["serve"], *extras["debug"]]
    )


def test_what_the_tests_import_is_declared_and_once() -> None:
    project = project_file()["project"]
    extras = project["optional-dependencies"]
    names = declared([*project["dependencies"], *extras["serve"], *extras["test"]])
    assert imported("tests") <= set(names)
    assert sorted(set(names)) == names

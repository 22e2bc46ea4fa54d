"""The list of packages is the folders on disk: an unlisted one is silently not in the wheel."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GRAFTED = ("analysis", "cli", "reports")


def setuptools_settings() -> dict[str, object]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        settings: dict[str, object] = tomllib.load(file)["tool"]["setuptools"]
    return settings


def packages_on_disk() -> set[str]:
    grafted = {
        ".".join(("autoparser", *module.parent.relative_to(ROOT).parts))
        for folder in GRAFTED
        for module in (ROOT / folder).rglob("__init__.py")
    }
    return {"autoparser"} | grafted


def test_every_package_on_disk_is_listed() -> None:
    assert setuptools_settings()["packages"] == sorted(packages_on_disk())


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {module.parent for folder in GRAFTED for module in (ROOT / folder).rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


@pytest.mark.parametrize("folder", GRAFTED)
def test_a_folder_is_grafted_below_the_import_name(folder: str) -> None:
    directories = setuptools_settings()["package-dir"]
    assert isinstance(directories, dict)
    assert directories[f"autoparser.{folder}"] == folder
    link = ROOT / "autoparser" / folder
    if not link.exists():
        pytest.skip("an sdist has no links: its wheel is built from the mapping alone")
    assert link.readlink() == Path("..", folder)


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

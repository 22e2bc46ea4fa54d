"""Build the parser core from the tree around this folder: `pip install ./.ci/core`."""

from __future__ import annotations

import re
import shutil
import tomllib
from os.path import relpath
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PARTS = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["tool"]["autoparser-core"]
GROUPS = ("vllm.general_plugins", "sglang.srt.plugins")


def requirement_of(name: str) -> str:
    """Return the requirement of the whole project on a package, without its extras."""
    (found,) = (each for each in PROJECT["dependencies"] if re.match(rf"{name}\b(?!-)", each))
    return re.sub(r"\[.*?\]", "", found)


class BuildPart(build_py):
    """Build the listed modules of a package that is in the core in part."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        found = super().find_package_modules(package, package_dir)
        listed = PARTS["modules"].get(package)
        return [each for each in found if listed is None or each[1] in listed]


def main() -> None:
    """Hand all of it to setuptools, with paths from this folder."""
    version = re.search(
        r'^__version__ = "(.+)"$',
        (ROOT / "autoparser" / "__init__.py").read_text("utf-8"),
        re.MULTILINE,
    )
    shutil.copyfile(ROOT / "LICENSE", HERE / "LICENSE")
    # An earlier build may have left modules that are no longer there.
    shutil.rmtree(HERE / "build", ignore_errors=True)
    inner = ["autoparser.analysis", "autoparser.analysis.engines"]
    inner += [f"autoparser.analysis.{wing}" for wing in PARTS["wings"]]
    places = {name: ROOT / name.removeprefix("autoparser.").replace(".", "/") for name in inner}
    setup(
        version=version[1] if version else None,
        install_requires=[*map(requirement_of, PARTS["dependencies"])],
        entry_points={
            group: [f"{name} = {value}" for name, value in PROJECT["entry-points"][group].items()]
            for group in GROUPS
        },
        packages=["autoparser", *inner],
        package_dir={
            name: relpath(place, HERE)
            for name, place in {"autoparser": ROOT / "autoparser", **places}.items()
        },
        package_data={"autoparser": ["*.pyi", "py.typed"]},
        cmdclass={"build_py": BuildPart},
    )


main()

"""The package is imported and run wherever it is installed, and beside its own checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autoparser import __version__

ROOT = Path(__file__).parent.parent
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

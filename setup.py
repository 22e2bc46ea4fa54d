"""The packages: three folders of this repository, imported below `autoparser`.

All other settings are in pyproject.toml, which can either find packages or move folders, not both.
"""

from setuptools import find_packages, setup

GRAFTED = ("analysis", "cli", "reports")

found = find_packages(include=[pattern for name in GRAFTED for pattern in (name, f"{name}.*")])
setup(
    packages=["autoparser", *(f"autoparser.{package}" for package in found)],
    package_dir={f"autoparser.{name}": name for name in GRAFTED},
)

"""The version of what is installed."""

from __future__ import annotations

DISTRIBUTION = "autoparser-chat"
"""The name in the package index; what is imported and run is `autoparser`."""


def installed_version() -> str:
    """Return the version; 0.0.0 of a checkout that is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0.0.0"

"""Colours of severities."""

from __future__ import annotations

from collections.abc import Mapping

from autoparser.analysis.lint.hit import Severity

__all__ = ["SEVERITY_STYLES"]

SEVERITY_STYLES: Mapping[Severity, str] = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "yellow",
    Severity.INFO: "blue",
}

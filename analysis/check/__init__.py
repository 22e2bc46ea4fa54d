"""Checking a format against its template: the fixed battery and the verdict."""

from .battery import Case, battery, battery_tools
from .crash import Crash
from .selfcheck import Check, Failure, self_check

__all__ = ["Case", "Check", "Crash", "Failure", "battery", "battery_tools", "self_check"]

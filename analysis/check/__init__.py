"""Checking a format against its template: the fixed battery and the verdict."""

from .battery import Case, battery, battery_tools
from .selfcheck import Check, Failure, self_check, together

__all__ = ["Case", "Check", "Failure", "battery", "battery_tools", "self_check", "together"]

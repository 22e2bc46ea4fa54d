"""Errors that are raised on purpose. Each is an `AutoparserError`, and its text is one line.

The names stand in `errors.pyi`; each is imported when it is first used.
"""

from __future__ import annotations

from .lazy_names import stub_names

__getattr__, __dir__ = stub_names(__name__)

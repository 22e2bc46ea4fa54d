"""Lint: the rules, and what they find in a template.

The names stand in `lint.pyi`; each is imported when it is first used.
"""

from __future__ import annotations

from .lazy_names import stub_names

__getattr__, __dir__ = stub_names(__name__)

"""Constrained decoding: compiled grammars and the masks that they fill.

The names stand in `grammar.pyi`; each is imported when it is first used.
"""

from __future__ import annotations

from .lazy_names import stub_names

__getattr__, __dir__ = stub_names(__name__)

"""Prompts as token ids: their owners, bridges to the next turn, training samples.

The names stand in `render.pyi`; each is imported when it is first used.
"""

from __future__ import annotations

from .lazy_names import stub_names

__getattr__, __dir__ = stub_names(__name__)

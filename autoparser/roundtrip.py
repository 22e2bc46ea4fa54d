"""Round trips: the scenarios that are played, and the verdict on each turn.

The names stand in `roundtrip.pyi`; each is imported when it is first used.
"""

from __future__ import annotations

from .lazy_names import stub_names

__getattr__, __dir__ = stub_names(__name__)

"""Details of parsing: call ids, options of a request, where reasoning ends.

The names stand in `parsing.pyi`; each is imported when it is first used.
"""

from __future__ import annotations

from .lazy_names import stub_names

__getattr__, __dir__ = stub_names(__name__)

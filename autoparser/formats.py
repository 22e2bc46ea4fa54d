"""The parts of an analysis: formats, markers, switches, verdicts, and evidence.

The names stand in `formats.pyi`; each is imported when it is first used.
"""

from __future__ import annotations

from .lazy_names import stub_names

__getattr__, __dir__ = stub_names(__name__)

"""What is left of a call that was cut or garbled: it is read as content, and is none."""

from __future__ import annotations

import re

from autoparser.analysis.core.format import CallFormat, Slot

__all__ = ["begins_call", "ends_call"]

_SHORTEST = 2
"""What opens calls with fewer characters may stand in any sentence."""


def begins_call(content: str, calls: CallFormat) -> bool:
    """Whether content holds what opens calls: one was cut, or is garbled."""
    first = calls.row[0]
    opening = (calls.section_open + ("" if isinstance(first, Slot) else first)).strip()
    return len(opening) >= _SHORTEST and opening in content


def ends_call(content: str, calls: CallFormat) -> bool:
    """Whether content ends with what closes calls: what opened the call is garbled.

    Of `</call>` that is sure. Signs alone may end any content, as three backticks end code.
    """
    last = calls.row[-1]
    closing = (("" if isinstance(last, Slot) else last) + calls.section_close).strip()
    return re.search(r"\w", closing) is not None and content.rstrip().endswith(closing)

"""The name in an id that carries it: the whole of it, or it is another tool's."""

from __future__ import annotations

import re


def name_in(call_id: str, offered: frozenset[str] | None) -> str:
    """Return the name that an id such as `functions.get_weather:0` carries.

    What stands before the first dot and the number after the last colon are the id's own; an
    offered tool whose name has a dot is written without anything before it, too.
    """
    body = _NUMBER.sub("", call_id)
    if offered is not None and body in offered:
        return body
    return body.partition(".")[2] or body


_NUMBER = re.compile(r":\d+\Z")

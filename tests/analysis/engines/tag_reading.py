"""How the parsers of the fake engines read `fixtures/templates/j1-json-in-tags.jinja`."""

from __future__ import annotations

import json
import re
from typing import Any

OPEN, CLOSE = "<tool_call>\n", "\n</tool_call>"
_QUICK = re.compile(r"<tool_call>\n(.*?)\n?</tool_call>", re.DOTALL)

Calls = list[tuple[str, str]]


def careful(text: str) -> tuple[str, Calls]:
    """Read each call to the end of its JSON, wherever a marker stands in it."""
    content, found, rest = text.partition(OPEN)
    calls: Calls = []
    while found:
        call, end = json.JSONDecoder().raw_decode(rest)
        calls.append(_named(call))
        _, found, rest = rest[end:].partition(OPEN)
    return (content.removesuffix("\n") if calls else content), calls


def quick(text: str) -> tuple[str, Calls]:
    """Read each call to the first closing tag."""
    calls = [_named(json.loads(body)) for body in _QUICK.findall(text)]
    return text.partition(OPEN)[0], calls


def thoughts(text: str) -> tuple[str, str]:
    """Return the reasoning before an answer, and the answer."""
    if not text.startswith("<think>\n"):
        return "", text
    thought, _, rest = text.removeprefix("<think>\n").partition("\n</think>\n\n")
    return thought, rest


def _named(call: dict[str, Any]) -> tuple[str, str]:
    return call["name"], json.dumps(call["arguments"])

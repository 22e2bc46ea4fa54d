"""Where a value ends by its own brackets and quotes, and which places are inside its strings."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autoparser.analysis.core.call_notation import ValueNotation, json_notation, python_notation
from autoparser.analysis.core.text_format import StringText
from autoparser.analysis.parsing.json_text import BracketScan, QuoteScan

VERBATIM: ValueNotation = replace(json_notation(), string=StringText("‹", "›"))
BARE: ValueNotation = replace(json_notation(), string=StringText())


@pytest.mark.parametrize(
    ("notation", "text", "size"),
    [
        (json_notation(), '[1, "]"], x', 8),
        (json_notation(), '["\\"]", 1], x', 10),
        (python_notation(), "['it\\'s ]', \"a'b\"], x", 18),
        (VERBATIM, "[‹a\\›], x", 6),
        (BARE, 'so "it, x', 6),
        (BARE, "so {, x", 4),
    ],
)
def test_a_value_ends_behind_its_brackets_and_quotes(
    notation: ValueNotation, text: str, size: int
) -> None:
    for step in (1, 3, len(text)):
        scan = BracketScan(notation)
        ends = range(step, len(text) + step, step)
        found = (scan.end_of(text[:end], 0, (",",), closed=end >= len(text)) for end in ends)
        assert next(each for each in found if each is not None) == size


@pytest.mark.parametrize(
    ("notation", "text", "inside"),
    [
        (json_notation(), '["a\\"', True),
        (json_notation(), '["a\\\\"', False),
        (json_notation(), 'words "', False),
        (python_notation(), "['it\"s", True),
        (VERBATIM, "[‹a\\›", False),
    ],
)
def test_a_place_is_inside_a_string_or_not_however_its_text_came(
    notation: ValueNotation, text: str, inside: bool
) -> None:
    for cut in range(len(text) + 1):
        scan = QuoteScan(notation)
        scan.read(text[:cut])
        assert scan.inside(text[cut:]) is inside
        scan.read(text[cut:])
        assert scan.inside("") is inside

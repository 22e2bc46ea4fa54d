"""Where a value ends by its own brackets and quotes, and what is inside its strings."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autoparser.analysis.core.call_notation import ValueNotation, json_notation, python_notation
from autoparser.analysis.core.text_format import StringText
from autoparser.analysis.parsing.json_text import BracketScan, QuoteScan

TOKENS: ValueNotation = replace(json_notation(), string=StringText("<|q|>", "<|q|>"))
VERBATIM: ValueNotation = replace(json_notation(), string=StringText("‹", "›"))
NESTED: ValueNotation = replace(
    json_notation(),
    string=StringText("'", "'"),
    array=replace(json_notation().array, values=json_notation()),
)


@pytest.mark.parametrize(
    ("notation", "text", "size"),
    [
        (json_notation(), "3, x", 1),
        (json_notation(), '[1, "]"], x', 8),
        (json_notation(), '["\\"]", 1], x', 10),
        (python_notation(), "['it\\'s ]', \"a'b\"], x", 18),
        (TOKENS, '[<|q|>a "]<|q|>], x', 16),
        (VERBATIM, "[‹a\\›], x", 6),
        (NESTED, '["it\'s"], x', 8),
        (NESTED, "'a, b', x", 6),
        (json_notation(), "C:\\, x", 3),
    ],
)
def test_a_value_ends_behind_its_brackets_and_quotes(
    notation: ValueNotation, text: str, size: int
) -> None:
    for step in (1, 3, len(text)):
        scan = BracketScan(notation)
        found = None
        for end in range(step, len(text) + step, step):
            found = scan.end_of(text[:end], 0, (",",), closed=end >= len(text))
            if found is not None:
                break
        assert found == size


@pytest.mark.parametrize(
    ("notation", "text", "inside"),
    [
        (json_notation(), '["a', True),
        (json_notation(), '["a"', False),
        (json_notation(), '["a\\"', True),
        (json_notation(), '["a\\\\"', False),
        (json_notation(), ' {"k": "', True),
        (json_notation(), 'words "', False),
        (json_notation(), "", False),
        (python_notation(), "['it\"s", True),
        (python_notation(), "['it\"s'", False),
        (TOKENS, "[<|q|>a", True),
        (TOKENS, "[<|q|>a<|q|>", False),
        (VERBATIM, "[‹a\\›", False),
    ],
)
def test_a_place_is_inside_a_string_or_not(
    notation: ValueNotation, text: str, inside: bool
) -> None:
    for cut in range(len(text) + 1):
        scan = QuoteScan(notation)
        scan.read(text[:cut])
        assert scan.inside(text[cut:]) is inside
        # Asked twice, and in pieces, it says the same.
        scan.read(text[cut:])
        assert scan.inside("") is inside

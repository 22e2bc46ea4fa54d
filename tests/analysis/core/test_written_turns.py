"""Compare strings and values with json.dumps, repr and Jinja.

Whole turns are compared with renders: by every self-check, and by the goldens.
"""

from __future__ import annotations

import json
from functools import partial

from hypothesis import given, settings, strategies as st

from autoparser import ChatTemplate, Json
from autoparser.analysis.core.call_notation import (
    ContainerNotation,
    MemberOrder,
    Row,
    RowSlot,
    json_notation,
    python_notation,
)
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.string_notation import StringEscape, StringText


@settings(max_examples=40)
@given(st.text())
def test_escapes_equal_jinjas_and_pythons(text: str) -> None:
    assert f'"{StringText(escape=StringEscape.JSON).write(text)}"' == json.dumps(
        text, ensure_ascii=False
    )
    assert f'"{StringText(escape=StringEscape.JSON_ASCII).write(text)}"' == json.dumps(text)
    assert StringText(escape=StringEscape.PYTHON).write(text) == repr(text)
    template = ChatTemplate("{{ messages[0].content|e }}|{{ messages[0].content|tojson|e }}")
    shown = template.render([{"role": "user", "content": text}])
    plain = StringText(escape=StringEscape.HTML).write(text)
    inner = StringText("&#34;", "&#34;", StringEscape.JSON_HTML).write(text)
    assert shown == f"{plain}|{inner}"


NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=60)
@given(
    VALUES,
    st.booleans(),
    st.booleans(),
    st.sampled_from([(", ", ": "), (",", ":"), (", ", ":")]),
    st.sampled_from([None, 1, 2, 4]),
)
def test_json_notation_equals_json_dumps_for_every_option(
    value: Json,
    ensure_ascii: bool,
    sort_keys: bool,
    separators: tuple[str, str],
    indent: int | None,
) -> None:
    comma, colon = separators
    comma = comma.rstrip() if indent else comma
    notation = json_notation(
        comma=comma,
        colon=colon,
        ascii_only=ensure_ascii,
        order=MemberOrder.SORTED if sort_keys else MemberOrder.GIVEN,
        indent=" " * (indent or 0),
    )
    dumps = partial(json.dumps, ensure_ascii=ensure_ascii, sort_keys=sort_keys, indent=indent)
    assert notation.write(value) == dumps(value, separators=(comma, colon))


@settings(max_examples=40)
@given(VALUES, st.text(st.just(" "), max_size=4))
def test_python_notation_equals_repr_and_margin_indents_every_line(
    value: Json, margin: str
) -> None:
    assert python_notation().write(value) == repr(value)
    notation = json_notation(indent="  ")
    assert notation.write(value, margin) == notation.write(value).replace("\n", f"\n{margin}")


def test_member_whose_type_has_no_row_is_omitted_with_its_separator() -> None:
    def row(*flag: str) -> Row:
        return ("<p n=", RowSlot.KEY, *flag, ">", RowSlot.VALUE, "</p>")

    typed = {JsonType.STRING: row(" s"), JsonType.NULL: None}
    tags = ContainerNotation(separator="\n", entry=row(), typed=typed, values=json_notation())
    cases: list[tuple[dict[str, Json], str]] = [
        ({"a": None, "b": 2}, "<p n=b>2</p>"),
        ({"a": "x", "b": [1]}, '<p n=a s>"x"</p>\n<p n=b>[1]</p>'),
    ]
    for members, written in cases:
        assert tags.write([*members.items()], python_notation()) == written

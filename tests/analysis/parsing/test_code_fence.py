"""An answer by a schema that stands in a fence of Markdown."""

from __future__ import annotations

import pytest

from .loop import TOOLS, analysis_of, disagreement, gaps

JSON = "j1-json-in-tags"
VALUE = '{"note": "a ``` in it", "list": [1, 2]}'
TICKS = "`" * 3


@pytest.mark.parametrize("tools", [None, TOOLS])
@pytest.mark.parametrize(
    ("text", "content"),
    [
        (f"{TICKS}json\n{VALUE}\n{TICKS}", VALUE),
        (f"{TICKS}json\n{VALUE}\n{TICKS}\n", VALUE),
        (f"\n{TICKS}\n{VALUE}{TICKS}<|im_end|>\n", VALUE),
        (f"{TICKS}JSON \r\n  [1]\r\n{TICKS}\r\n", "[1]"),
        (f"{TICKS}`json\n{VALUE}\n{TICKS}`", VALUE),
        (f"~~~json\n{VALUE}\n~~~\n<|im_end|>", VALUE),
        (f"<think>\nHm.\n</think>\n\n{TICKS}json\n{VALUE}\n{TICKS}", VALUE),
        (f"{TICKS}json\n{VALUE}\n", f"{VALUE}\n"),
        (f"{TICKS}json\n{VALUE}", VALUE),
        (f'{TICKS}json\n{{"cut": "', '{"cut": "'),
        (f"{TICKS}json\n{VALUE}\n{TICKS}\nThat is it.", f"{VALUE}That is it."),
        (VALUE, VALUE),
        (f"{TICKS}python\nprint(1)\n{TICKS}", f"{TICKS}python\nprint(1)\n{TICKS}"),
        (f"{TICKS}json", f"{TICKS}json"),
        (f"{TICKS} {VALUE}", f"{TICKS} {VALUE}"),
        ("``", "``"),
    ],
)
def test_the_fence_is_left_out(tools: object, text: str, content: str) -> None:
    parser = analysis_of(JSON).parser(
        TOOLS if tools else None, json_schema={"type": "object"}, strip_code_fence=True
    )
    message = parser.parse(text)
    assert message.content == content
    assert not gaps(message.spans, text)
    assert not disagreement(parser, text, list(text))
    assert not disagreement(parser, text, [text[at : at + 3] for at in range(0, len(text), 3)])


def test_the_value_streams_while_its_fence_is_open() -> None:
    stream = analysis_of(JSON).parser(json_schema={}, strip_code_fence=True).stream()
    given = [delta.text for char in f'{TICKS}json\n{{"a": 1' for delta in stream.feed(char)]
    assert "".join(given) == '{"a": 1'


@pytest.mark.parametrize("option", [{"strip_code_fence": True}, {"json_schema": {}}])
def test_a_fence_stays_unless_both_are_asked_for(option: dict[str, object]) -> None:
    text = f"{TICKS}json\n{VALUE}\n{TICKS}"
    assert analysis_of(JSON).parser(**option).parse(text).content == text  # type: ignore[arg-type]

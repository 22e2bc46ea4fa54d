"""A quote or a bracket in a text that nothing encloses is a part of it, as templates mean it."""

from __future__ import annotations

import json

import pytest

from autoparser.analysis.core.conversation import Json

from .loop import analysis_of, disagreement

UNQUOTED, QUOTED, LINES = "p1-4-unquoted", "p1-2-python-list", "../novel/directive-lines"
CDATA = "arguments-cdata"
TOOL: Json = {
    "type": "function",
    "function": {
        "name": "look_up",
        "parameters": {
            "type": "object",
            "properties": {
                "note": {"type": "string"},
                "any": {},
                "days": {"type": "integer"},
                '"a"': {},
            },
        },
    },
}


@pytest.mark.parametrize(
    ("fixture", "arguments"),
    [
        (UNQUOTED, {"note": '"so', "days": 2}),
        (UNQUOTED, {"note": "'", "days": 2}),
        (UNQUOTED, {"note": '"so" he', "days": 2}),
        (UNQUOTED, {"any": "it's", "days": 2}),
        (LINES, {"note": '"so', "any": 'F"'}),
        (LINES, {"note": '"so', "any": 'F" x'}),
        (LINES, {"any": "[so", "days": 2}),
        (LINES, {"any": 'so {"', "note": "so"}),
        (QUOTED, {"note": "so' days=3", "days": 2}),
        (QUOTED, {"note": "so' days=3"}),
        (UNQUOTED, {"any": "[so", "days": 2}),
        (UNQUOTED, {"any": "so {", "days": 2}),
        (CDATA, {"note": "so\n<k>any</k><v>1", "days": 2}),
        (LINES, {'"a"': 1, "days": 2}),
    ],
)
def test_a_text_is_read_as_the_template_writes_it(fixture: str, arguments: dict[str, Json]) -> None:
    analysis = analysis_of(fixture)
    question: Json = {"role": "user", "content": "Which?"}
    call: Json = {
        "id": "abcDEF123",
        "type": "function",
        "function": {"name": "look_up", "arguments": arguments},
    }
    answer: Json = {"role": "assistant", "content": "", "tool_calls": [call]}
    prompt = analysis.template.render([question], tools=[TOOL], add_generation_prompt=True)
    whole = analysis.template.render([question, answer], tools=[TOOL])
    assert whole.startswith(prompt)
    parser = analysis.parser([TOOL], prompt=prompt)
    text = whole[len(prompt) :]
    (read,) = parser.parse(text).tool_calls
    assert json.loads(read.arguments) == arguments
    assert not disagreement(parser, text, list(text))


@pytest.mark.parametrize(
    ("fixture", "text"),
    [
        (UNQUOTED, '[look_up(note="so, so", days=2)]<|eot|>'),
        (LINES, '\n@call look_up\n@arg note\n"so, so"\n@arg days\n2\n@end</a>'),
    ],
)
def test_what_models_write_otherwise_is_still_read(fixture: str, text: str) -> None:
    (read,) = analysis_of(fixture).parser([TOOL]).parse(text).tool_calls
    assert json.loads(read.arguments) == {"note": "so, so", "days": 2}

"""The table of `fixtures/outputs/forgiven.yaml`: each text in one shot and in many cuts."""

from __future__ import annotations

import json

import msgspec
import pytest
import yaml

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.parsing.parsed_message import Status
from tests.fixture_analyses import TEMPLATES, analysed

from .loop import disagreement, gaps

FIXTURES = TEMPLATES.parent
TOOLS: list[Json] = yaml.safe_load((FIXTURES / "tools.yaml").read_text("utf-8"))
SIZES = (1, 2, 3, 5, 7, 40)


class Output(msgspec.Struct, forbid_unknown_fields=True):
    """A text behind the header of a turn, and how it is read."""

    what: str
    template: str
    text: str
    calls: list[tuple[str, dict[str, object]]] = []
    content: str | None = None
    reasoning: str | None = None
    status: Status | None = None
    complete: bool = True


OUTPUTS = msgspec.convert(
    yaml.safe_load((FIXTURES / "outputs" / "forgiven.yaml").read_text("utf-8")), list[Output]
)


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda output: f"{output.template}: {output.what}")
def test_an_output_is_read_as_the_table_says_however_it_is_cut(output: Output) -> None:
    analysis = analysed(output.template)
    parser = analysis.parser(TOOLS, prompt=analysis.format.header or "U:")
    text = output.text
    message = parser.parse(text, complete=output.complete)
    calls = [(call.name, json.loads(call.arguments)) for call in message.tool_calls]
    assert calls == output.calls
    assert message.content == output.content
    assert message.reasoning_content == output.reasoning
    if output.status is not None:
        assert message.status is output.status
    assert not gaps(message.spans, text)
    for size in SIZES:
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert not disagreement(parser, text, pieces, complete=output.complete)

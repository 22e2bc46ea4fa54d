"""Templates that rewrite what a turn says, whose own turns would come back all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoparser import analyze
from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.history import trip_verdict as verdict
from autoparser.analysis.history.round_trips import Row
from autoparser.analysis.history.sampled_turns import NotWrittenError, Sample
from autoparser.analysis.history.scenarios import Next
from autoparser.analysis.history.trip_causes import Cause, Culprit
from autoparser.analysis.history.trip_verdict import REWRITTEN, Outcome, says_message
from autoparser.analysis.parsing.parsed_message import ParsedCall, ParsedMessage, Status
from tests.analysis.tiny import CONTENT, turn

from .played import rows, shipped


def tagged(string: str = "v", other: str = "v|tojson") -> str:
    """Write calls with an element for each argument; what a string and another value become."""
    value = f"({string} if v is string else {other})"
    return (
        "{% for c in m.tool_calls or [] %}<call name={{ c.function.name }}>"
        "{% for k, v in c.function.arguments.items() %}<arg name={{ k }}>{{ "
        + value
        + " }}</arg>{% endfor %}</call>{% endfor %}"
    )


def as_json(behind: str) -> str:
    """Write the arguments of a call as JSON, through one filter more."""
    return (
        "{% for c in m.tool_calls or [] %}<call name={{ c.function.name }}>"
        "{{ c.function.arguments|tojson" + behind + " }}</call>{% endfor %}"
    )


def played(calls: str, name: str) -> Row:
    template = turn(CONTENT, calls, opening="<|a|>", end="<|end|>", prompt="<|a|>")
    (row,) = rows(analyze(template), [replace(shipped(name), next=(Next.TOOL,))])
    return row


REWRITING = [
    # what writes the calls, scenario, what the model writes of it
    (tagged("v|replace('^', '')"), "quotes in values", "x^2"),
    (tagged("v|replace('~', '-')"), "quotes in values", "~ y_1"),
    (as_json("|replace('^', '')"), "quotes in values", "x^2"),
    (tagged("v|trim"), "padded values", "> padded <"),
    (tagged("v|lower"), "tool call", ">Oslo<"),
    (tagged("v|lower"), "Python literals", ">True<"),
]


@pytest.mark.parametrize(("calls", "name", "text"), REWRITING)
def test_a_template_that_rewrites_a_value_is_at_fault(calls: str, name: str, text: str) -> None:
    found = played(calls, name).verdict
    assert text in found.sampled
    assert (found.outcome, found.cause, found.fault) == (
        Outcome.BREAKS,
        Cause.VALUES,
        Culprit.TEMPLATE,
    )
    assert found.unconfirmed == REWRITTEN


HONEST = [
    (tagged(), "quotes in values"),
    (tagged(), "padded values"),
    (tagged(other="(v|string|lower if v is boolean else v|tojson)"), "many parameters"),
    (tagged("v|replace('<', '&lt;')"), "quotes in values"),
    (as_json(""), "quotes in values"),
    (tagged().replace("arguments.items()", "arguments|dictsort"), "quotes in values"),
    # No schema says of what type these values are: nothing is rewritten.
    (tagged(), "unknown parameters"),
]


@pytest.mark.parametrize(("calls", "name"), HONEST)
def test_a_turn_that_is_read_back_stays_the_template_s(calls: str, name: str) -> None:
    found = played(calls, name).verdict
    assert found.holds
    assert found.unconfirmed == ""


def test_what_the_format_cannot_write_either_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: object) -> Sample:
        raise NotWrittenError("the format has no such text")

    monkeypatch.setattr(verdict, "sample_turn", refusing)
    template = turn(CONTENT, tagged("v|lower"), opening="<|a|>", end="<|end|>", prompt="<|a|>")
    assert rows(analyze(template), [shipped("arguments as object")]) == ()


SAID: list[tuple[str, dict[str, Json], bool]] = [
    ('{"draft": true}', {"draft": True}, True),
    ('{"draft": 1}', {"draft": True}, False),
    ('{"b": 1, "a": 2}', {"a": 2, "b": 1}, True),
    ('{"b": "x2"}', {"b": "x^2"}, False),
    ("{", {}, False),
]


@pytest.mark.parametrize(("arguments", "meant", "same"), SAID)
def test_types_of_arguments_are_part_of_a_message_and_their_order_is_not(
    arguments: str, meant: dict[str, Json], same: bool
) -> None:
    call = ParsedCall("save_note", arguments, "id-of-its-own")
    parsed = ParsedMessage(None, None, (call,), None, Status.OK, ())
    assert says_message(parsed, "", Message(calls=(ToolCall("save_note", meant),))) is same

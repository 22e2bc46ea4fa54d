"""What is not as the template writes it: where, what was expected, why it may be."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from autoparser.analysis.core.turn_format import Begun, RefusedMessageError
from autoparser.analysis.formats.output_explanation import (
    CauseKind,
    DeviationExplanation,
    OutputDeviation,
    OutputReading,
    explain_output,
)
from autoparser.analysis.formats.text_restoring import PromptedParser
from tests.analysis.parsing.loop import (
    TOOLS,
    analysis_of,
    fixture_names,
    generated,
    third_of_battery,
    with_ids,
)

pytestmark = pytest.mark.slow

JSON = "j1-json-in-tags"
SECTION = "j1-6-section-around"
MUSE = "reasoning-forced-closed"
INSIDE = '{"name": "get_forecast", "arguments": {"city": "Oslo", "days": 3}}'
CALL = f"<tool_call>\n{INSIDE}\n</tool_call>"
END = "<|im_end|>"
SKELETON = '<tool_call>\n{"name": "NAME", "arguments": ARGUMENTS}\n</tool_call>'


def explained(
    fixture: str, text: str, prompt: str | None = None
) -> tuple[DeviationExplanation, ...]:
    """Explain what follows a prompt; None: the template's default one."""
    analysis = analysis_of(fixture)
    others = [
        PromptedParser(Begun(each, opening), analysis.parser(TOOLS, prompt=opening.text))
        for each in analysis.formats
        for opening in each.openings
    ]
    (begun, *_) = analysis.begun(TOOLS, prompt=prompt)
    reader = OutputReading(begun, analysis.parser(TOOLS, prompt=prompt), others)
    return explain_output(reader, text)


class Line(NamedTuple):
    """An output, and its places: what, offset, expected, found."""

    why: str
    text: str
    places: tuple[tuple[OutputDeviation, int, str, str], ...]
    fixture: str = JSON


LINES = (
    Line("as the template writes it", f"<think>\nHm.\n</think>\n\n{CALL}{END}\n", ()),
    Line("the end is missing", "Hello.", ((OutputDeviation.NO_END, 6, END, ""),)),
    Line(
        "a closer of nothing",
        f"I think so</think>Hello{END}",
        ((OutputDeviation.STRAY, 10, "", "</think>"),),
    ),
    Line(
        "a closer once more",
        f"{CALL}\n</tool_call>{END}",
        ((OutputDeviation.STRAY, len(CALL) + 1, "", "</tool_call>"),),
    ),
    Line("text after the end", f"Hello.{END} Bye", ((OutputDeviation.BEHIND_END, 17, "", "Bye"),)),
    Line(
        "noise in a section",
        f"Hm.\n</think>\nOk.\n<tool_calls>\nfirst {CALL}\n</tool_calls>{END}",
        ((OutputDeviation.LEFT_OUT, 30, "", "first"),),
        SECTION,
    ),
    Line(
        "no section around a call",
        f"Hm.\n</think>\nOk.{CALL}{END}",
        (
            (OutputDeviation.MISSING, 16, "\n<tool_calls>\n", ""),
            (OutputDeviation.MISSING, 16 + len(CALL), "\n</tool_calls>", ""),
        ),
        SECTION,
    ),
    Line(
        "compact JSON, all of it in one",
        f"{CALL.replace(': ', ':')}{END}",
        ((OutputDeviation.SPACE, 20, " ", ""),),
    ),
    Line(
        "compact JSON, and the end is missing, which is said once",
        CALL.replace(": ", ":"),
        (
            (OutputDeviation.SPACE, 20, " ", ""),
            (OutputDeviation.NO_END, len(CALL) - CALL.count(": "), END, ""),
        ),
    ),
    Line(
        "another order",
        CALL.replace(INSIDE, '{"arguments": {"city": "Oslo", "days": 3}, "name": "get_forecast"}')
        + END,
        ((OutputDeviation.ORDER, 13, '"name": "get_forecast", ', ', "name": "get_forecast"'),),
    ),
    Line(
        "Python's literals",
        f"{CALL.replace('3', 'None')}{END}",
        ((OutputDeviation.OTHER, CALL.index("3"), "null", "None"),),
    ),
    Line(
        "a missing closer",
        f"{CALL[:-13]}{END}",
        ((OutputDeviation.MISSING, len(CALL) - 13, "\n</tool_call>", ""),),
    ),
    Line(
        "a tool that was not offered",
        f"{CALL.replace('forecast', 'forcast')}{END}",
        ((OutputDeviation.UNKNOWN_TOOL, 22, "get_forecast", "get_forcast"),),
    ),
    Line(
        "a call that breaks",
        f"{CALL.replace(chr(34) + 'Oslo' + chr(34), 'Oslo]')}{END}",
        ((OutputDeviation.UNREADABLE, 63, SKELETON, '], "days": 3}}\n</tool_call><|im_end|>'),),
    ),
    Line("a call that is cut", CALL[:50], ((OutputDeviation.CUT, 50, SKELETON, ""),)),
    Line(
        "the call of another format",
        f"<function=get_forecast>\nOslo</function>{END}",
        ((OutputDeviation.FOREIGN, 0, SKELETON, "<function=get_forecast>"),),
    ),
    Line("a tool named in a sentence", f"I ask get_forecast (soon).{END}", ()),
    Line("markup in the middle of a text", f"Write <b>it</b> so.{END}", ()),
    Line(
        "a template's own output in a stranger's words",
        f"[note] Hm. [/note]{END}",
        ((OutputDeviation.FOREIGN, 0, SKELETON, "[note]"),),
    ),
)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.why)
def test_every_place_is_named(line: Line) -> None:
    found = explained(line.fixture, line.text)
    places = tuple((each.deviation, each.offset, each.expected, each.found) for each in found)
    assert places == line.places


def test_places_that_are_alike_are_one() -> None:
    (spaces,) = explained(JSON, f"{CALL.replace(': ', ':')}{END}")
    assert spaces.more == CALL.count(": ") - 1


STRIPPED = (
    # what, the fixture, the output without its markers, and the markers with their places
    (
        "a call",
        JSON,
        f"Let me look.\n\n{INSIDE}\n",
        (("<tool_call>", 13, 0), ("</tool_call>", 15 + len(INSIDE), 0), (END, 15 + len(INSIDE), 0)),
    ),
    (
        "two calls, and the end is there",
        JSON,
        f"\n{INSIDE}\n\n\n{INSIDE}\n{END}",
        (("<tool_call>", 0, 1), ("</tool_call>", 2 + len(INSIDE), 1)),
    ),
    (
        "reasoning",
        JSON,
        "\nHm.\n\n\nHello.",
        (("<think>", 0, 0), ("</think>", 5, 0), (END, 13, 0)),
    ),
    (
        "some of a call's markers",
        "t1-name-then-json",
        'get_forecast[ARGS]{"city": "Oslo", "days": 3}',
        (("[TOOL_CALLS]", 0, 0), ("</s>", 45, 0)),
    ),
)


@pytest.mark.parametrize(("why", "fixture", "text", "markers"), STRIPPED)
def test_markers_that_an_engine_stripped_are_put_back(
    why: str, fixture: str, text: str, markers: tuple[tuple[str, int, int], ...]
) -> None:
    found = explained(fixture, text)
    assert tuple((each.expected, each.offset, each.more) for each in found) == markers, why
    for each in found:
        assert each.cause is not None
        assert each.cause.kind is CauseKind.STRIPPED
        assert set(each.cause.markers) == {marker for marker, _, _ in markers}


@pytest.mark.parametrize("text", ["One.\n\nTwo.", f'See {{"name": "x"}}.{END}', "{}", '{"name": '])
def test_nothing_is_put_back_without_need(text: str) -> None:
    assert all(each.deviation is OutputDeviation.NO_END for each in explained(JSON, text))


def test_the_prompt_of_another_setting_is_named() -> None:
    (missing,) = explained(MUSE, "Hello.<turn|>")
    assert missing.deviation is OutputDeviation.MISSING
    assert missing.cause is not None
    assert missing.cause.kind is CauseKind.OTHER_PROMPT
    assert missing.cause.setting == {"enable_thinking": False}
    (stray,) = explained(MUSE, "Hm</muse>Hello.<turn|>", "<|turn>model\n<muse></muse>")
    assert stray.deviation is OutputDeviation.STRAY
    assert stray.cause is not None
    assert (stray.cause.kind, stray.cause.setting) == (CauseKind.OTHER_PROMPT, {})


AMBIGUOUS = {"a6-key-is-tag", "j3-4-tagged-array", "j8-python-dict", "p1-2-python-list"}
AMBIGUOUS |= {"p1-3-double-quotes", "p1-4-unquoted", "p1-6-no-separator", "reasoning-delimiter"}
AMBIGUOUS |= {"j3-8-header-recipient"}
"""Fixtures whose turns are not read back as they were meant; in the last, what ends a turn also
closes its reasoning."""


@pytest.mark.parametrize("name", [name for name in fixture_names() if name not in AMBIGUOUS])
def test_what_the_template_writes_needs_no_explanation(name: str) -> None:
    format_ = analysis_of(name).format
    for case in third_of_battery(name):
        message = with_ids(format_, case.message)
        try:
            text, parser = generated(format_, format_.write(message))
        except RefusedMessageError:
            continue
        begun = Begun(format_, next(iter(format_.openings), None))
        found = explain_output(OutputReading(begun, parser), text)
        assert not found or not text.strip(), (text, found)

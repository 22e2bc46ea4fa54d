"""Determine the outcome of each corpus template: how its analysis ends, and what probes show.

The probes are plain renders of a few fixed conversations, independent of the analysis: they list
all message shapes, try each, and one that renders is enough. They give the numbers that the
analysis is measured against.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from autoparser import Analysis, AutoparserError, ChatTemplate
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.verdicts import Check
from autoparser.errors import TemplateRenderError

from .corpus_templates import Board, analysis_at, by_cause, read_template


class Ending(StrEnum):
    PASSED = "the self-check passed"
    FAILED = "the self-check failed"
    UNUSABLE = "no analysis"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class Outcome:
    name: str
    ending: Ending
    cause: str
    """A behavior that the format cannot express, or the reason why the analysis failed."""
    message: str = ""
    """The error as a person reads it; of a crash, the exception."""
    renders: int = 0
    passed: int = 0
    total: int = 0
    writes_calls: bool = False
    writes_reasoning: bool = False
    shows_call: bool = False
    """By the independent probes: the template renders a tool call."""
    shows_reasoning: bool = False
    """By the independent probes: the template renders a reasoning field."""
    spoiled: str = ""
    """The OpenAI-style message part that the template silently loses, or empty."""


def outcome_of(path: Path) -> Outcome:
    """Analyze one template and probe it; whatever happens is an outcome."""
    template = read_template(path)
    found = _ending(path)
    try:
        shows_call, shows_reasoning = renders_call(template), renders_reasoning(template)
    except AutoparserError:
        return found
    return replace(found, shows_call=shows_call, shows_reasoning=shows_reasoning)


def _ending(path: Path) -> Outcome:
    name = path.stem
    try:
        analysis = analysis_at(path)
    except AutoparserError as error:
        return Outcome(name, Ending.UNUSABLE, _cause_of_error(error), str(error))
    except Exception as error:  # noqa: BLE001 - a crash is what the survey looks for
        return Outcome(name, Ending.CRASHED, type(error).__name__, repr(error))
    check, format_ = worst(analysis), analysis.formats.fullest
    return Outcome(
        name,
        Ending.FAILED if check.failures else Ending.PASSED,
        _cause_of_verdict(analysis),
        renders=analysis.renders,
        passed=check.passed,
        total=check.total,
        writes_calls=format_.calls is not None,
        writes_reasoning=any(
            TurnPart.REASONING in layout.parts for layout in format_.layouts.values()
        ),
        spoiled="" if analysis.spoiled is None else analysis.spoiled.usual,
    )


def worst(analysis: Analysis) -> Check:
    """Return the verdict on the first format that does not hold, else that on the default's."""
    return next((check for check in analysis.checks if check.failures), analysis.check)


def _cause_of_error(error: AutoparserError) -> str:
    """Return the kind of error, without the words of the template itself."""
    kind = error.message.partition(":")[0]
    return f"{type(error).__name__}: {kind}"


def _cause_of_verdict(analysis: Analysis) -> str:
    check = worst(analysis)
    smallest = check.smallest
    if smallest is not None:
        return f"{smallest.reason}, first with: {smallest.title}"
    if analysis.formats.fullest.calls is not None:
        return "writes calls"
    if check.refused:
        return "refuses calls or other messages, as its format says"
    return "writes no calls"


def _lines(found: Sequence[Outcome]) -> Iterator[str]:
    yield f"{'':>5}  {'calls':>5}  {'reasoning':>9}  outcome"
    yield _row(found, "all templates")
    for ending in Ending:
        ended = [outcome for outcome in found if outcome.ending is ending]
        if not ended:
            continue
        yield _row(ended, str(ending))
        for cause, same in by_cause(ended, lambda row: row.cause):
            yield _row(same, f"  {cause}")
            if ending is not Ending.PASSED:
                yield from (f"{'':25}    {_named(row)}" for row in same)
    for form in dict.fromkeys(outcome.spoiled for outcome in found if outcome.spoiled):
        spoiled = [outcome for outcome in found if outcome.spoiled == form]
        yield _row(spoiled, f"what users send is spoiled: {form}")
        yield from (f"{'':25}    {row.name}" for row in spoiled)
    yield "calls, reasoning: templates that render them, by probes apart from the analysis"


def _row(found: Sequence[Outcome], words: str) -> str:
    calls = sum(outcome.shows_call for outcome in found)
    reasoning = sum(outcome.shows_reasoning for outcome in found)
    return f"{len(found):>5}  {calls:>5}  {reasoning:>9}  {words}"


def _named(outcome: Outcome) -> str:
    if outcome.message:
        return f"{outcome.name}: {outcome.message}"
    return f"{outcome.name}: {outcome.passed} of {outcome.total} messages"


OUTCOMES = Board(outcome_of, _lines, lambda row: row.ending is not Ending.CRASHED, chunk=16)

Sent: TypeAlias = dict[str, Any]
"""A message, or a tool, as a template takes it."""

TOKENS = {
    f"{name}_token": f"<{name}>" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
}

NAME, KEY, VALUE = "zqlookup", "wvplace", "xjoslo"
REASONING, CONTENT, USER, ANSWER = "kpponder", "hgreply", "bcquery", "mdresult"

ALIASES = ("reasoning_content", "thinking", "reasoning")
SWITCHES: tuple[Mapping[str, bool], ...] = (
    {},
    {"enable_thinking": True},
    {"enable_thinking": False},
    {"thinking": True},
    {"thinking": False},
)
IDS = ("aB3dE6gH1", f"functions.{NAME}:0")
_CONTENTS = (CONTENT, [{"type": "text", "text": CONTENT}])

FUNCTION: Sent = {
    "name": NAME,
    "description": "Looks up.",
    "parameters": {
        "type": "object",
        "properties": {KEY: {"type": "string", "description": "Where."}},
        "required": [KEY],
    },
}
TOOLS: tuple[list[Sent] | None, ...] = ([{"type": "function", "function": FUNCTION}], None)


def render(
    template: ChatTemplate,
    messages: Sequence[Sent],
    tools: Sequence[Sent] | None = None,
    switches: Mapping[str, bool] | None = None,
) -> str:
    """Render; a refusal shows nothing."""
    variables: dict[str, object] = {
        **TOKENS,
        "messages": messages,
        "tools": tools,
        "documents": None,
        "add_generation_prompt": False,
        **(switches or {}),
    }
    try:
        return template.render_prepared(variables)
    except TemplateRenderError:
        return ""


def user_messages() -> tuple[list[Sent], ...]:
    """Return the beginnings of a conversation that templates insist on."""
    user: Sent = {"role": "user", "content": USER}
    parts: Sent = {"role": "user", "content": [{"type": "text", "text": USER}]}
    return [user], [{"role": "system", "content": "Be brief."}, user], [parts]


def call_messages(call_id: str) -> Iterator[Sent]:
    """Return assistant messages that make one call, in every shape."""
    contents: list[Sent] = [{"content": text} for text in ("", None, *_CONTENTS)]
    forms = ({KEY: VALUE}, f'{{"{KEY}": "{VALUE}"}}')
    for content, arguments, wrapped in product([*contents, {}], forms, (True, False)):
        function: Sent = {"name": NAME, "arguments": arguments}
        call: Sent = {"function": function} if wrapped else function
        calls = [{"id": call_id, "type": "function", **call}]
        yield {"role": "assistant", "tool_calls": calls, **content}


def renders_call(template: ChatTemplate) -> bool:
    """Whether some shape of a call shows its name (or an id that carries it), key and value."""
    if "tool_calls" not in template.text:
        return False  # saves many renders: a field that is never named is never read
    for call_id in IDS:
        for call, tools, start in product(call_messages(call_id), TOOLS, user_messages()):
            for tail in ([], [_answer(call_id)]):
                text = render(template, [*start, call, *tail], tools)
                if VALUE in text and _shows_call(template, text, start, tools):
                    return True
    return False


def _answer(call_id: str) -> Sent:
    return {"role": "tool", "name": NAME, "tool_call_id": call_id, "content": ANSWER}


def _shows_call(
    template: ChatTemplate, text: str, start: Sequence[Sent], tools: Sequence[Sent] | None
) -> bool:
    """Whether name and key show more often than the tools alone explain."""
    told = {"role": "assistant", "content": CONTENT}
    answer = _answer(IDS[0])
    without = render(template, [*start, told], tools)
    answered = render(template, [*start, told, answer], tools)
    shown = max((without, answered), key=lambda other: other.count(NAME))
    return text.count(NAME) > shown.count(NAME) and text.count(KEY) > without.count(KEY)


def renders_reasoning(template: ChatTemplate) -> bool:
    aliases = [alias for alias in ALIASES if alias in template.text]
    for switches, alias, start in product(SWITCHES, aliases, user_messages()):
        for turns, tools in _reasoned_turns(alias):
            if REASONING in render(template, [*start, *turns], tools, switches):
                return True
    return False


def _reasoned_turns(alias: str) -> Iterator[tuple[list[Sent], Sequence[Sent] | None]]:
    for content in _CONTENTS:
        yield [{"role": "assistant", "content": content, alias: REASONING}], None
    for message in call_messages(IDS[0]):
        if message.get("content") in ("", None, CONTENT):
            for tail in ([], [_answer(IDS[0])]):
                yield [{**message, alias: REASONING}, *tail], TOOLS[0]

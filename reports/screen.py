"""The first screen of an analysis: what a person wants to know first, each thing once."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from autoparser.analysis.core.call_format import ArgumentForm
from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.message_shape import StringArguments
from autoparser.analysis.formats.learned_format import LearntFormat
from autoparser.analysis.formats.saved_format import SavedFormat
from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt

from .blocks import Row, sentence
from .findings_section import findings_words
from .provenance import provenance_words
from .screen_turn import screen_turn
from .settings import gate_score, gate_style
from .stops import stops_words
from .summary import absent_words, kept_words, limit_words, wants_words
from .switches import screen_switches
from .terminal import Lines, drawn_lines, fact_lines, text_of
from .token_suggestions import unwritten_rows
from .tools_in_prompt import tools_in_prompt_section
from .verdict import verdict
from .visible import visible

__all__ = ["screen_report", "screen_rows"]

LABEL = len("Reasoning")
MOST = 3
"""Lines that one row takes."""
HEIGHT = 40
"""Lines of a screen; a turn is cut to what is left of them."""


def screen_report(
    learnt: LearntFormat,
    width: int,
    unwritten: Sequence[str] = (),
    tools: ToolsInPrompt | None = None,
) -> Text:
    """Return the first screen: at most 40 lines of 80 cells, and what becomes of `tools` below it.

    `unwritten` are added tokens of the model's tokenizer that no render writes.
    """
    head = _short_rows(_head(learnt), width)
    rest = [
        *screen_switches(learnt, width),
        Text(),
        *_short_rows(screen_rows(learnt), width),
        *_short_rows(unwritten_rows(learnt, unwritten), width),
        *_short_rows([("Next", _next(learnt, width - LABEL - 2))], width),
    ]
    drawn = [*head, *screen_turn(learnt, width, HEIGHT - len(head) - len(rest)), *rest]
    more = [] if tools is None else tools_in_prompt_section(tools)
    return text_of([*drawn, *drawn_lines(more, width)])


def _short_rows(pairs: Iterable[Row], width: int) -> Lines:
    drawn: Lines = []
    for row in pairs:
        lines = fact_lines([row], width, indent=0, label=LABEL)
        if len(lines) > MOST:
            lines = lines[:MOST]
            lines[-1].truncate(width - 2)
            lines[-1].append(" …", style="dim")
        drawn += lines
    return drawn


def _head(learnt: LearntFormat) -> Iterator[Row]:
    template = learnt.template
    origin = Text(visible(template.origin or "a text"))
    if template.name not in (None, "default"):
        origin.append(f" (named {visible(str(template.name))})")
    came = provenance_words(template.source)
    if came is not None:
        origin.append(f", {came}")
    if isinstance(learnt, SavedFormat):
        origin.append(f", read from the saved format {visible(learnt.file)}")
    yield "Template", origin
    yield "Verdict", _verdict(learnt)


def _verdict(learnt: LearntFormat) -> Text:
    """Give both scores, and what they mean in a word."""
    gate = learnt.gate
    said = verdict(learnt.check)
    if gate.asked:
        said = sentence(said, ", ", (gate_score(gate), gate_style(learnt)))
    if len(learnt.formats) > 1:
        failed = sum(not check.ok for check in learnt.checks)
        said.append(f" ({len(learnt.formats)} formats")
        said.append(f", {failed} fail)" if failed else ")")
    if learnt.ok:
        return said.append(": as the template renders")
    own_form = learnt.gate.own_form_ok and not any(check.failures for check in learnt.checks)
    return said.append(": spoiled as users send it" if own_form else ": not as it renders")


def screen_rows(learnt: LearntFormat) -> Iterator[Row]:
    """Return what no example shows: what callers give, what is kept, where a turn stops."""
    format_ = learnt.formats.united
    if format_.reasoning is None:
        yield "Reasoning", Text(absent_words(learnt, Presence(reasoning=True)))
    else:
        field = learnt.shape.reasoning_field
        cut = "cut out of the content" if format_.reasoning_cut else "no field brings it in"
        given = f"given as {visible(field)}" if field else cut
        yield "Reasoning", sentence(given, kept_words(format_.retention))
    if format_.calls is None:
        yield "Calls", Text(absent_words(learnt, Presence(calls=True)))
    else:
        yield "Calls", Text(f"{limit_words(format_.calls)}; {_arguments(learnt)}")
    wants = wants_words(learnt)
    if wants:
        yield "It wants", Text("; ".join(wants))
    yield "Stops", stops_words(learnt)
    yield "Findings", findings_words(learnt)


def _arguments(learnt: LearntFormat) -> str:
    """Say in which form callers give arguments; a form that is lost is among the findings."""
    if learnt.formats.united.argument_form is ArgumentForm.STRING:
        return "arguments are given as JSON text"
    also = {
        StringArguments.SAME: ", or as JSON text",
        StringArguments.PASTED: ", or as JSON text, which is pasted as it is",
    }
    texts = learnt.string_arguments
    return f"arguments are given as an object{also.get(texts, '') if texts else ''}"


def _next(learnt: LearntFormat, width: int) -> Text:
    """Name the command that tells most that is not here, so that it can be copied."""
    words = ("lint", "") if learnt.ok else ("analyze", " --show faults")
    source = shlex.quote(visible(learnt.template.origin or "-"))
    command = source.join((f"autoparser {words[0]} ", words[1]))
    if len(command) > width:
        command = command.replace(source, "TEMPLATE")
    return Text(command)

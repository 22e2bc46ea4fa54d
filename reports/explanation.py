"""Reasons why an output departs from the template's writing: place by place, with an excerpt."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from autoparser.analysis.formats.output_explanation import (
    CauseKind,
    DeviationExplanation,
    OutputDeviation,
    PossibleCause,
)

from .blocks import Blocks, blank, excerpt, heading, joined, prose, rows, sentence
from .terminal import report_text
from .visible import quoted, setting_words, visible

MOST = 12
"""Explanations that are shown; the rest are counted."""

SHOWN = 160
"""Longest expected or found text shown, in characters."""

_BESIDE = 28
"""Characters of a line in an excerpt on each side of its place."""

_TITLES = {
    OutputDeviation.STRAY: "A stray closing marker; it is dropped.",
    OutputDeviation.BEHIND_END: "Text after the end of the turn; it is dropped.",
    OutputDeviation.LEFT_OUT: "Text where the template writes none; it is dropped.",
    OutputDeviation.UNREADABLE: "A tool call cannot be parsed from here; it stays in the content.",
    OutputDeviation.UNKNOWN_TOOL: "The function is not one of the tools that were offered.",
    OutputDeviation.SCHEMA: "The arguments of this call break the schema of its tool.",
    OutputDeviation.CUT: "The output ends inside a tool call.",
    OutputDeviation.NO_END: "No end of the turn was seen.",
    OutputDeviation.MISSING: "Something that the template writes here is missing.",
    OutputDeviation.SURPLUS: "The template writes nothing here.",
    OutputDeviation.OTHER: "The template writes something else here.",
    OutputDeviation.ORDER: "The template writes the same in another order.",
    OutputDeviation.SPACE: "The template writes other whitespace.",
    OutputDeviation.FOREIGN: "This looks like markup, but not of this format.",
}


def explanation_report(explanations: Sequence[DeviationExplanation], text: str, width: int) -> Text:
    """Show the deviations from the template's writing, in the order of the text."""
    drawn: Blocks = heading("Deviations from the template")
    if not explanations:
        drawn += prose("Nothing: the output is as the template writes it.")
    causes = [None, *(explanation.cause for explanation in explanations)]
    for at, (before, explanation) in enumerate(zip(causes, explanations[:MOST], strict=False)):
        drawn += blank() if at else []
        drawn += _place_section(explanation, text, same_cause=before == explanation.cause)
    left = len(explanations) - MOST
    if left > 0:
        drawn += blank() + prose(f"… and {left} more places; --json has them all.")
    return report_text(drawn, width)


def _place_section(explanation: DeviationExplanation, text: str, *, same_cause: bool) -> Blocks:
    """Show one place; `same_cause` omits the cause, which is that of the place before."""
    line, column = line_and_column(text, explanation.offset)
    where = sentence((f"line {line}, column {column}", "bold"), ": ")
    drawn = prose(sentence(where, _TITLES[explanation.deviation]))
    drawn += excerpt(_place_lines(text, explanation.offset, line, column), 4, broken=False)
    pairs = [
        ("expected", _expected(explanation)),
        ("found", _found_text(explanation, text)),
    ]
    if explanation.more:
        many = "place" if explanation.more == 1 else "places"
        pairs.append(("also", Text(f"in {explanation.more} more {many}")))
    if explanation.cause is not None:
        words = cause_words(explanation.cause, explanation.deviation)
        pairs.append(("likely", Text("as above") if same_cause else words))
    return [*drawn, *rows(pairs, indent=4)]


def _found_text(explanation: DeviationExplanation, text: str) -> Text:
    if not explanation.found and explanation.offset >= len(text):
        return Text("the end of the output")
    return _piece(explanation.found)


def _expected(explanation: DeviationExplanation) -> Text:
    if explanation.deviation is not OutputDeviation.UNKNOWN_TOOL:
        return _piece(explanation.expected)
    if not explanation.expected:
        return Text("one of the tools offered", style="dim")
    return sentence(_piece(explanation.expected), ", a tool that was offered")


def _piece(text: str) -> Text:
    if not text:
        return Text("nothing", style="dim")
    return sentence(quoted(text[:SHOWN]), " …") if len(text) > SHOWN else quoted(text)


def cause_words(cause: PossibleCause, deviation: OutputDeviation) -> Text:
    """Return a possible cause as a sentence."""
    markers = joined([quoted(marker) for marker in cause.markers], ", ")
    match cause.kind:
        case CauseKind.STRIPPED if len(cause.markers) == 1 and deviation is OutputDeviation.NO_END:
            return sentence(
                "the engine has taken ", markers, " off, as most do, or a limit was met"
            )
        case CauseKind.STRIPPED:
            return sentence(
                "special tokens were stripped: with ",
                markers,
                " put back, it parses cleanly; ask the engine to keep special tokens",
            )
        case CauseKind.OTHER_PROMPT:
            setting = setting_words(cause.setting) or "the defaults"
            return sentence(
                "the output follows another prompt: after the template's prompt for ",
                (setting, "bold"),
                ", it parses cleanly",
            )
        case CauseKind.OTHER_FORMAT:
            return Text("the model writes another format than this template's")


def _place_lines(text: str, offset: int, line: int, column: int) -> list[Text]:
    """Return the line of a place after its number, and a caret under the place."""
    begin = offset - (column - 1)
    end = text.find("\n", offset)
    end = len(text) if end < 0 else end + 1
    start = max(begin, offset - _BESIDE)
    stop = min(end, offset + _BESIDE)
    before = ("…" if start > begin else "") + visible(text[start:offset])
    behind = visible(text[offset:stop]) + ("…" if stop < end else "")
    number = f"{line} | "
    margin = " " * (cell_len(number) - 2) + "| " + " " * cell_len(before)
    return [
        sentence((number, "dim"), before, behind),
        sentence((margin, "dim"), ("^", "red")),
    ]


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return the line and the column of a place, both from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1

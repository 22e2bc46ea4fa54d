"""Why an output departs from the template's writing, place by place, and what lost its calls.

A place is shown in its line. For example, a comma too many in the second line of an output gives

    2 | …ool_call>{"name": "weather",}
      |                              ^
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.engines.output_reading import EngineOutcome, ExplainedOutput
from autoparser.analysis.formats.lost_calls import LossCause, LossOrigin, LossReason
from autoparser.analysis.formats.output_explanation import (
    CauseKind,
    DeviationExplanation,
    OutputDeviation,
    PossibleCause,
)

from .blocks import (
    Block,
    Blocks,
    Excerpt,
    blank,
    excerpt,
    heading,
    join_texts,
    prose,
    rows,
    sentence,
)
from .engines import parser_flags
from .terminal import report_text
from .visible import counted_noun, first_names, quote_marker, setting_words, visible

MOST = 12
"""Explanations that are shown; the rest are counted."""

SHOWN = 160
"""Longest expected or found text shown, in characters."""

_BESIDE = 28
"""Characters of a line in an excerpt on each side of its place."""

_TITLES = {
    OutputDeviation.STRAY: "A stray closing marker; it is dropped.",
    OutputDeviation.BEHIND_END: "Text after the end of the turn; it is dropped.",
    OutputDeviation.LEFT_OUT: "Text between markup; it is dropped.",
    OutputDeviation.UNREADABLE: "A tool call cannot be parsed from here.",
    OutputDeviation.UNKNOWN_TOOL: "The function is not one of the tools that were offered.",
    OutputDeviation.SCHEMA: "The arguments of this call break the schema of its tool.",
    OutputDeviation.CUT: "The output ends inside a tool call.",
    OutputDeviation.NO_END: "The end of the turn is missing.",
    OutputDeviation.MISSING: "Missing markup.",
    OutputDeviation.SURPLUS: "Unexpected text; the template has nothing here.",
    OutputDeviation.OTHER: "Unexpected text.",
    OutputDeviation.ORDER: "The same in another order.",
    OutputDeviation.SPACE: "Different whitespace.",
    OutputDeviation.FOREIGN: "This looks like markup, but not of this format.",
}


def explanation_report(explained: ExplainedOutput, text: str, width: int) -> Text:
    """Show the deviations from the template's writing in the order of the text, then the cause."""
    whole = explained.cause.reason is LossReason.NOTHING or explained.cause.rejected
    # If the output is healthy, or only the turn as a whole is not, the cause says it all.
    shown = not whole or explained.places
    drawn: Blocks = [*departures(explained.places, text)] if shown else []
    return report_text([*drawn, *cause_blocks(explained, text)], width)


def departures(explanations: Sequence[DeviationExplanation], text: str) -> Iterator[Block]:
    """Show the deviations from the template's writing, in the order of the text."""
    yield from heading("Deviations from the template")
    if not explanations:
        yield from prose("None: the output follows the template's format.")
    # Each explanation is paired with the cause of the one before.
    causes = [None, *(explanation.cause for explanation in explanations)]
    for at, (before, explanation) in enumerate(zip(causes, explanations[:MOST], strict=False)):
        yield from blank() if at else []
        yield from _place_section(explanation, text, same_cause=before == explanation.cause)
    # A text in another format departs at every call; the first places show that.
    left = len(explanations) - MOST
    if left > 0:
        yield from blank() + prose(f"… and {left} more places; --json has them all.")


_ORIGINS = {
    LossOrigin.NOTHING: "Nothing was lost",
    LossOrigin.MODEL: "The model's slip",
    LossOrigin.FORMAT: "The format",
    LossOrigin.SCHEMA: "The model's arguments violate the tool's schema",
    LossOrigin.ENGINE: "The engine",
    LossOrigin.REQUEST: "The request",
    LossOrigin.LIMIT: "The token limit",
}
"""The part of a system that lost a call, as a title."""

_GRAMMAR = ("constrain the answer by a grammar", "autoparser grammar {template} --tools {tools}")
_WAYS_OUT: Mapping[LossReason, tuple[str, ...]] = {
    LossReason.DEPARTURE: _GRAMMAR,
    LossReason.UNKNOWN_TOOL: (f"offer the tool, or {_GRAMMAR[0]}", _GRAMMAR[1]),
    LossReason.IN_REASONING: (
        "have the engine parse reasoning first, and ask the model again; calls in reasoning are"
        " drafts",
    ),
    LossReason.OTHER_FORMAT: ("use the chat template that the model was trained with",),
    LossReason.NO_CALLS: (
        "use a template that writes tool calls, or teach this one's format",
        "autoparser learn {template} --examples FILE",
    ),
    LossReason.SCHEMA: (
        f"{_GRAMMAR[0]}, and check that the schema reaches the prompt",
        _GRAMMAR[1],
        "autoparser analyze {template} --tools {tools}",
    ),
    LossReason.STRIPPED: (
        'ask the engine to keep special tokens, such as with "skip_special_tokens": false in the'
        " request",
    ),
    LossReason.REFUSED: ("allow calls in the request: tool_choice, parallel_tool_calls, tools",),
    LossReason.CUT: ("raise max_tokens, or ask the model to go on",),
}
"""The action against each cause, and its commands, with the caller's files in braces."""
_REASONS = {
    LossReason.NOTHING: "every part of the output follows the template's format",
    LossReason.IN_REASONING: "the model wrote the call inside its reasoning, which is not acted on",
    LossReason.OTHER_FORMAT: "the model uses another format than this template",
    LossReason.NO_CALLS: "this template writes no tool calls, so none can be read",
    LossReason.REFUSED: "the request allows fewer calls than the output has",
    LossReason.CUT: "the output ends inside a call",
}


def cause_blocks(explained: ExplainedOutput, text: str) -> Blocks:
    """Show why a call was lost or wrong, the way out, and how engines read the output."""
    drawn = [*heading("Cause"), *prose(cause_sentence(explained, text))]
    way, *commands = _way_out(explained)
    pairs = [("way out", Text(way))] if way else []
    pairs += [(visible(outcome.title), outcome_words(outcome)) for outcome in explained.engines]
    if explained.cause.reason is LossReason.NOTHING:
        pairs += _not_asked({outcome.engine for outcome in explained.engines})
    else:
        pairs.append(("report", Text("--format issue writes this for an issue tracker")))
    drawn += rows(pairs, indent=4)
    # A command is copied whole, even one that is wider than the terminal.
    lines = tuple(Text(visible(command), style="cyan") for command in commands)
    return [*drawn, Excerpt(lines, 4, broken=False)] if lines else drawn


def _not_asked(asked: Collection[str]) -> Iterator[tuple[str, Text]]:
    """Yield the command that tests the remaining engines, whose parsers may lose the output."""
    records = (engine.record for engine in ServerEngine)
    titles = [record.title for record in records if record.package not in asked]
    if titles:
        names = first_names(titles, len(titles))
        words = f"{names}: not tested; --python PATH/bin/python runs the parsers of that"
        yield ("engines", Text(f"{words} environment"))


def cause_sentence(explained: ExplainedOutput, text: str) -> Text:
    """Return why a call was lost or wrong, as a sentence that begins with the origin."""
    cause = explained.cause
    title = (_ORIGINS[cause.reason.origin], "bold")
    return sentence(title, ": ", _reason_words(explained, text), ".")


def _reason_words(explained: ExplainedOutput, text: str) -> Text:
    """Describe why a call was lost, with its place in the output."""
    cause = explained.cause
    place = cause.place
    where = ""
    if place is not None:
        line, column = line_and_column(text, place.offset)
        where = f" (line {line}, column {column})"
    match cause.reason:
        case LossReason.STRIPPED if place is not None and place.cause:
            markers = join_texts([quote_marker(marker) for marker in place.cause.markers], ", ")
            were, them = ("was", "it") if len(place.cause.markers) == 1 else ("were", "them")
            return sentence(markers, f" {were} stripped; with {them} put back, it parses cleanly")
        case LossReason.OTHER_PROMPT if place is not None and place.cause:
            return cause_words(place.cause, place.deviation)
        case LossReason.SCHEMA if place is not None:
            return sentence(visible(place.found), where)
        case LossReason.UNKNOWN_TOOL if place is not None:
            return sentence(quote_marker(place.found), " was not offered", where)
        case LossReason.PARSER:
            # The reason `PARSER` implies an engine that reads the output wrong.
            wrong = next(outcome for outcome in explained.engines if outcome.wrong)
            return sentence(
                "the output is as the template writes it, and ", outcome_words(wrong, best=False)
            )
        case LossReason.DEPARTURE:
            words = sentence(_departure_words(cause, text), where, _consequence(cause))
            held = None if place is None else place.cause
            if held is not None and held.kind is CauseKind.OTHER_PROMPT:
                setting = setting_words(held.setting) or "the defaults"
                words.append(f"; or the server rendered the prompt for {setting}")
            return words
        case LossReason.NOTHING if not text.strip():
            return Text("the output is empty")
        case reason:
            return sentence(_REASONS[reason], where)


def _departure_words(cause: LossCause, text: str) -> Text:
    """Return how the model departed, in a few words."""
    place = cause.place
    if place is None and cause.rejected:
        return Text("the turn is not exactly what the template writes")
    if place is None:
        # Such a call departs as a whole, not at a place.
        return Text("a call without markup, or with arguments by position; --forgive all reads it")
    expected, found = _piece(place.expected), _piece(place.found)
    # Nothing but whitespace is left there, so the model wrote nothing else instead.
    if not text[place.offset :].strip():
        if place.deviation is OutputDeviation.UNREADABLE:
            return Text("the model stopped, or the output was truncated, inside a call")
        return sentence("the model stopped, or the output was truncated, before ", expected)
    match place.deviation:
        case OutputDeviation.MISSING:
            return sentence(expected, " is missing")
        case OutputDeviation.ORDER if place.expected.strip() == place.found.strip():
            moved = _piece(place.found.strip())
            return sentence(moved, " is at another place than in the template")
        case OutputDeviation.UNREADABLE:
            return sentence("a call cannot be parsed from ", found, " on")
        case OutputDeviation.OTHER | OutputDeviation.ORDER | OutputDeviation.SPACE:
            return sentence("found ", found, " instead of ", expected)
        case _:
            return sentence("the template does not write ", found)


def _consequence(cause: LossCause) -> str:
    """Return the outcome of the call, and the schema errors that the departure causes."""
    schema = f"; the arguments read so far break the schema: {visible(cause.schema)}"
    parsed = "; it was parsed nevertheless, but a stricter parser may lose it"
    if cause.rejected:
        parsed = "; --forgive exact leaves the call in the content, --forgive repairs parses it"
    shown = cause.rejected or not cause.lost
    return (schema if cause.schema else "") + (parsed if shown else "")


def way_out(explained: ExplainedOutput) -> str:
    """Return an action against the cause and its commands, or empty if nothing was lost."""
    way, *commands = _way_out(explained)
    return f"{way} ({'; '.join(commands)})" if commands else way


def _way_out(explained: ExplainedOutput) -> tuple[str, ...]:
    """Return an action against the cause, or empty if nothing was lost, and its commands."""
    cause = explained.cause
    if cause.reason is LossReason.PARSER:
        wrong = next(outcome for outcome in explained.engines if outcome.wrong)
        if wrong.best is not None and wrong.best.all_right:
            return (f"start the server with {parser_flags(wrong.best.pair)}, which reads it",)
        # This engine takes no parser by name, so its answers can only be parsed in front of it.
        if wrong.ranking is not None and not wrong.ranking.offered.has_parsers:
            return ("put autoparser serve in front of the server (docs/serve.md)",)
        return ("use autoparser's plugin", f"autoparser analyze {explained.template} --show serve")
    if cause.reason is LossReason.OTHER_PROMPT and cause.place is not None:
        held = cause.place.cause
        setting = "" if held is None else setting_words(held.setting)
        return (f"parse it after that prompt: --switch {setting}" if setting else "",)
    way = _WAYS_OUT.get(cause.reason, ("",))
    if cause.reason is LossReason.NO_CALLS and not explained.teachable:
        # The model is offered no tools, so that no examples can teach its calls.
        way = ("use a template that offers tools to the model, and writes its calls",)
    return tuple(
        piece.format(template=explained.template, tools=explained.tools) if at else piece
        for at, piece in enumerate(way)
    )


def outcome_words(outcome: EngineOutcome, *, best: bool = True) -> Text:
    """Return how an engine reads the output; ``best`` adds the parsers that read it best."""
    judged, ranked_best = outcome.judged, outcome.best
    if judged is None or ranked_best is None or outcome.ranking is None:
        way = f"; {outcome.way_out}" if outcome.way_out else ""
        return Text(visible(f"no answer: {outcome.left_out}{way}"))
    has_parsers = outcome.ranking.offered.has_parsers
    name = parser_flags(judged.pair) if has_parsers else "its own parser"
    if judged.failure is None:
        return sentence((name, "bold"), " reads it")
    verdict = judged.failure.verdict
    words = sentence(
        (visible(outcome.title), "bold") if not best else "",
        " with " if not best else "",
        (name, "bold"),
    )
    # A parser that raises has no reading of any part.
    if verdict.part == "message":
        words.append_text(sentence(" cannot parse it: ", _piece(verdict.actual)))
    else:
        words.append_text(
            sentence(
                f" reads the {verdict.part} differently, {judged.failure.delivery}: expected ",
                _piece(verdict.expected),
                ", got ",
                _piece(verdict.actual),
            )
        )
    if best and ranked_best.all_right and ranked_best.pair != judged.pair:
        words.append(f"; {parser_flags(ranked_best.pair)} reads it")
    return words


def _place_section(explanation: DeviationExplanation, text: str, *, same_cause: bool) -> Blocks:
    """Show one place; `same_cause` omits the cause, which the place before has already."""
    line, column = line_and_column(text, explanation.offset)
    where = sentence((f"line {line}, column {column}", "bold"), ": ")
    drawn = prose(sentence(where, _TITLES[explanation.deviation]))
    drawn += excerpt(_place_lines(text, explanation.offset, line, column), 4, broken=False)
    pairs = [
        ("expected", _expected_text(explanation)),
        ("found", _found_text(explanation, text)),
    ]
    if explanation.more:
        pairs.append(("also", Text(f"in {counted_noun(explanation.more, 'more place')}")))
    if explanation.cause is not None:
        words = cause_words(explanation.cause, explanation.deviation)
        pairs.append(("likely", Text("as above") if same_cause else words))
    return [*drawn, *rows(pairs, indent=4)]


def _found_text(explanation: DeviationExplanation, text: str) -> Text:
    # `nothing` would also fit a place in the middle where markup is missing.
    if not explanation.found and explanation.offset >= len(text):
        return Text("the end of the output")
    bare = explanation.found.strip()
    if explanation.deviation is OutputDeviation.ORDER and bare == explanation.expected.strip():
        return sentence(_piece(bare), ", at another place")
    return _piece(explanation.found)


def _expected_text(explanation: DeviationExplanation) -> Text:
    if explanation.deviation is not OutputDeviation.UNKNOWN_TOOL:
        return _piece(explanation.expected)
    # A name that is unlike all offered ones has no closest tool.
    if not explanation.expected:
        return Text("one of the tools offered", style="dim")
    return sentence(_piece(explanation.expected), ", a tool that was offered")


def _piece(text: str) -> Text:
    if not text:
        return Text("nothing", style="dim")
    return sentence(quote_marker(text[:SHOWN]), " …") if len(text) > SHOWN else quote_marker(text)


def cause_words(cause: PossibleCause, deviation: OutputDeviation) -> Text:
    """Return a possible cause as a sentence."""
    markers = join_texts([quote_marker(marker) for marker in cause.markers], ", ")
    match cause.kind:
        case CauseKind.STRIPPED if len(cause.markers) == 1 and deviation is OutputDeviation.NO_END:
            return sentence(
                "the engine stripped ", markers, " (most do), or the output was truncated"
            )
        case CauseKind.STRIPPED:
            return sentence(
                "special tokens were stripped: with ",
                markers,
                " put back, it parses cleanly; ask the engine to keep special tokens",
            )
        case CauseKind.OMITTED:
            return sentence(
                "the model omitted markup: with ", markers, " put back, it parses cleanly"
            )
        case CauseKind.OTHER_PROMPT:
            setting = setting_words(cause.setting) or "the defaults"
            return sentence(
                "the output follows another prompt: after the template's prompt for ",
                (setting, "bold"),
                ", it parses cleanly",
            )
        case CauseKind.OTHER_FORMAT:
            return Text("the model uses another format than this template")


def _place_lines(text: str, offset: int, line: int, column: int) -> list[Text]:
    """Return the line of a place after its number, and a caret under the place."""
    # An output may be one line of many thousand characters.
    begin = offset - (column - 1)
    end = text.find("\n", offset)
    # Include the newline, which is shown as a sign, since the place may be there.
    end = len(text) if end < 0 else end + 1
    start = max(begin, offset - _BESIDE)
    stop = min(end, offset + _BESIDE)
    before = ("…" if start > begin else "") + visible(text[start:offset])
    behind = visible(text[offset:stop]) + ("…" if stop < end else "")
    number = f"{line} | "
    # Measured in cells: a wide character before the place moves the caret by two.
    margin = " " * (cell_len(number) - 2) + "| " + " " * cell_len(before)
    return [
        sentence((number, "dim"), before, behind),
        sentence((margin, "dim"), ("^", "red")),
    ]


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return the line and the column of a place, both from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1

"""Change a template's analysis by evidence other than its renders.

The parts: added tokens that no render holds (`unwritten_tokens`), a learned format in the place of
the template's (`taught_analysis`) or beside it (`widened_analysis`), a check that the template's
own turns are still read (`spoiled_render`), and formats of a saved file (`with_saved`).

For a template that writes only `<|asst|>` and `<|eot|>`, one added token may open a call:

    added = ["<|asst|>", "<|call|>", "<|spare_0|>", "<|spare_1|>", "<|eot|>"]
    unwritten_tokens(analysis, added)  # ('<|call|>',)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import groupby

from msgspec import structs

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json, Message, ToolResult
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.format_choice import Formats
from autoparser.analysis.core.json_types import json_type
from autoparser.analysis.core.media_treatment import MediaSlot
from autoparser.analysis.core.message_battery import battery_messages, loose_tools
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.core.reading_judge import same_json
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.verdicts import Check, EvidenceKind
from autoparser.analysis.formats.saved_format import SavedFormat
from autoparser.analysis.learning.continuations import TemplateContinuation
from autoparser.analysis.learning.example_conclusion import written_turn
from autoparser.analysis.learning.prober import Prober
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import message_from

# Added tokens of a model's tokenizer that its template never writes: the model may write them.
#
# Contract: renders alone decide the format; the name of a token decides nothing. Tokens are
# considered only if the template shows no calls, or no reasoning. Series of spare tokens, which
# differ only in their numbers, are left out.


def unwritten_tokens(analysis: Analysis, tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the added tokens of a tokenizer that no render holds, in the order given.

    Return no tokens if the template shows both calls and reasoning.
    """
    if not analysis.formats.lacks_parts:
        return ()
    rows = Counter(_without_number(token) for token in tokens)
    known = set(analysis.template.special_tokens.values())
    asked = [
        token
        for token in tokens
        if token.strip() and token not in known and rows[_without_number(token)] == 1
    ]
    texts = tuple(dict.fromkeys(_renders(analysis))) if asked else ()
    return tuple(token for token in asked if not any(token in text for text in texts))


def _without_number(token: str) -> str:
    return re.sub(r"\d+", "0", token)


def _renders(analysis: Analysis) -> Iterator[str]:
    """Yield the renders: for the phases, after the prompts, with tools and without."""
    for finding in analysis.phases:
        for evidence in finding.evidence:
            yield from (evidence.left.text, evidence.right.text)
    for continuation in analysis.continuations:
        yield continuation.opening.text
        yield continuation.text or ""
    for media in analysis.content_parts.media:
        # The slots hold numbers and data of the request, which are not the template's text.
        yield "".join(piece.filled(dict.fromkeys(MediaSlot, "\0")) for piece in media.placeholder)
    prober = analysis.prober()
    settings = [opening.setting for opening in analysis.formats.openings]
    # A switch may write a token without changing where turns begin.
    settings += [{switch.name: value} for switch in analysis.switches for value in switch.values]
    for setting in {repr(tried): tried for tried in (prober.setting, *settings)}.values():
        yield from _conversations(prober, setting)


def _conversations(prober: Prober, setting: Setting) -> Iterator[str]:
    user, marks = prober.user, prober.sentinels
    answer = Message(marks.content, marks.reasoning)
    called = Message(reasoning=marks.reasoning, calls=(marks.call(),))
    result = ToolResult(marks.answer, marks.names[0], marks.ids[0])
    for tools in (True, False):
        for dialogue in ((user,), (user, answer, user), (user, called, result, answer)):
            generation = not isinstance(dialogue[-1], Message)
            probe = prober.probe(dialogue, tools=tools, generation=generation, setting=setting)
            yield probe.text


class UsedFormat(StrEnum):
    """Which format is used once something was learned."""

    TEMPLATE = "template"
    """The template's own: the learned one reads no more outputs."""
    LEARNED = "learned"
    """The learned one, in the place of the template's."""
    BOTH = "both"
    """Both: the parser reads either, and grammars allow either."""


def taught_analysis(
    analysis: Analysis, format_: TurnFormat, shown_parts: frozenset[TurnPart], kind: EvidenceKind
) -> Analysis:
    """Replace the default's format; the new one is evidence for the `shown_parts`."""
    base = analysis.format
    new = {part: kind for part in TurnPart if part in shown_parts - base.shown_parts}
    known = {part: old for part, old in base.not_rendered.items() if part not in shown_parts}
    format_ = structs.replace(format_, not_rendered={**known, **new})
    taught = tuple(format_ if old is base else _taught(old, format_) for old in analysis.formats)
    formats = _among(analysis.formats, taught)
    return replace(analysis, formats=formats)


def widened_analysis(analysis: Analysis, format_: TurnFormat, kind: EvidenceKind) -> Analysis:
    """Let the parser read calls of another format as well as the template's own."""
    known = structs.replace(format_, not_rendered={TurnPart.CALLS: kind})
    widened = tuple(_with_calls_of(old, known) for old in analysis.formats)
    return replace(analysis, also=_among(analysis.formats, widened))


def with_checked_format(analysis: Analysis, check: Check) -> Analysis:
    """Replace the self-check of the default's format by a verdict."""
    return replace(analysis, checks=(check, *analysis.checks[1:]))


def _among(formats: Formats, changed: tuple[TurnFormat, ...]) -> Formats:
    fullest = changed[formats.distinct.index(formats.fullest)]
    return Formats(changed, formats.base, fullest=fullest, untried=formats.untried)


def _taught(old: TurnFormat, format_: TurnFormat) -> TurnFormat:
    """Return another setting's format with the calls learned for the default."""
    # Calls that renders show under this setting take precedence, and a turn with another header
    # need not have the calls learned for the default.
    if old.header != format_.header or old.calls is not None:
        return old
    return _with_calls_of(old, format_)


def _with_calls_of(old: TurnFormat, format_: TurnFormat) -> TurnFormat:
    called = {presence: layout for presence, layout in format_.layouts.items() if presence.calls}
    return structs.replace(
        old,
        layouts={**old.layouts, **called},
        calls=format_.calls,
        not_rendered=format_.not_rendered,
    )


def tools_called(messages: Sequence[Message]) -> list[Json] | None:
    """Return tools that messages call, or None; without a marker, a call opens with its name."""
    types: dict[str, dict[str, dict[str, None]]] = {}
    for call in (call for message in messages for call in message.calls):
        known = types.setdefault(call.name, {})
        for key, value in call.arguments.items():
            # The schema must accept all calls, and an argument may have another type in each.
            known.setdefault(key, {})[str(json_type(value))] = None
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "parameters": {
                    "type": "object",
                    "properties": {key: {"type": list(kinds)} for key, kinds in known.items()},
                },
            },
        }
        for name, known in types.items()
    ] or None


def spoiled_render(own: Analysis, other: Analysis) -> str:
    """Return the title of a message that only `own` reads back as rendered, or an empty text."""
    for opening, renders in groupby(
        _own_renders(own), key=lambda continuation: continuation.opening
    ):
        tools, prompt = loose_tools() if opening.tools else None, opening.text or None
        parsers = [analysis.parser(tools, prompt=prompt) for analysis in (own, other)]
        for render in renders:
            before, after = (
                reads_as(parser, render.text or "", render.message) for parser in parsers
            )
            # If the old format could not read the render either, the new one is not at fault.
            if before and not after:
                return render.title
    return ""


def _own_renders(analysis: Analysis) -> Iterator[TemplateContinuation]:
    """Yield the turns that the template writes after its prompts, as far as known."""
    found = analysis.continuations
    yield from (
        continuation
        for continuation in found
        if continuation.text is not None and continuation.form is None
    )
    format_ = analysis.format
    for opening in format_.openings[:1] if analysis.check.ok else ():
        # Messages that pass the self-check are written by the format as the template renders them.
        for case in battery_messages():
            written = written_turn(format_, case.message)
            if written is not None and written.startswith(opening.text):
                text = written.removeprefix(opening.text)
                yield TemplateContinuation(opening, case.title, case.message, text)


def reads_as(parser: OutputParser, text: str, meant: Message) -> bool:
    """Whether a text is read as a message, apart from made-up ids and whitespace at edges."""
    try:
        read = message_from(parser.parse(text))
    except ValueError:
        return False
    return same_json(comparable_message(read), comparable_message(meant))


def comparable_message(message: Message) -> Json:
    """Return the parts of a message that a reading must have, without ids and outer whitespace."""
    calls: list[Json] = [[call.name, dict(call.arguments)] for call in message.calls]
    return [message.content.strip(), message.reasoning.strip(), calls]


def with_saved(analysis: Analysis, saved: SavedFormat) -> Analysis:
    """Return an analysis with the formats of a file that was learned from the same template.

    Raises AutoparserError if it was made from another template.
    """
    if saved.sha256 != analysis.sha256:
        made = f", {saved.template.origin}" if saved.template.origin else ""
        raise AutoparserError(
            f"the format was learned from a different template{made}",
            file=saved.file,
            hint="learn it again from this template",
        )
    return replace(
        analysis,
        formats=saved.formats,
        requires_nonnull_content=saved.requires_nonnull_content,
        checks=saved.checks,
        also=saved.also,
    )

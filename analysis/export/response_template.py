r"""Export a format as transformers' `response_template`, and try the export out.

    TurnFormat -> response_template -> Export (document, limits) -> try_out -> ExportTrial

`try_out` lets the target's own parser read what the template writes of the battery, and lets the
template write what was read.

For example, of a format with reasoning, content and calls:

    >>> from autoparser import analyze, load_template
    >>> analysis = analyze(load_template("fixtures/templates/j1-json-in-tags.jinja"))
    >>> export = response_template(analysis)
    >>> list(export.document["fields"]), export.limits
    (['thinking', 'content', 'tool_calls'], ())
    >>> export.document["fields"]["tool_calls"]["close_pattern"]
    '(?<=\\}\\s*)</tool_call>'
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Json, Message, ToolCall, with_properties
from autoparser.analysis.core.message_battery import BatteryCase, battery_messages, battery_tools
from autoparser.analysis.core.turn_format import RefusedMessageError, TurnFormat
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.turn_shape import PromptProgress
from autoparser.analysis.formats.learned_format import LearnedFormat

from .argument_patterns import surviving_arguments
from .call_fields import json_field, row_field
from .export_limits import Export, ExportLimit, MessagePiece, TemplateDialect
from .field_patterns import (
    CallsField,
    TargetSurroundings,
    TurnEnds,
    anchor_field,
    any_pattern,
    exact_pattern,
    target_surroundings,
    written_header,
)
from .text_fields import (
    call_opening,
    content_field,
    content_limit,
    markup_pattern,
    reasoning_field,
    reasoning_limit,
)

if TYPE_CHECKING:
    from autoparser.analysis.learning.prober import Prober
    from autoparser.analysis.learning.template_turns import TemplateTurns


# transformers' `response_template`: from a format to the document that a tokenizer carries.
#
# The document's fields are searched for in the text after the last header of the prompt, including
# the beginning of the turn in the prompt; see `utils/chat_parsing` of transformers 5.23.


def response_template(
    learned: LearnedFormat | TurnFormat,
    dialect: TemplateDialect = TemplateDialect.COMMON,
    eos: str | None = None,
) -> Export:
    """Return a format as a `response_template`, with the parts that it cannot express.

    For an analysis or a saved format, that is its fullest format, with the openings of all
    settings.

    `eos` is the token that ends an output regardless of the template: empty for none, None for the
    one of the template's model. transformers parses the ids of an output including that token:
    after a call it would become content, and replace earlier content.
    """
    if isinstance(learned, LearnedFormat):
        eos = learned.template.special_tokens.get("eos_token") if eos is None else eos
        learned = learned.formats.united
    format_ = learned.whole
    # An end that no turn has still ends the text that the target parses.
    if eos and eos not in format_.stop_strings:
        format_ = replace(format_, stop_strings=(*format_.stop_strings, eos))
    around = target_surroundings(format_)
    calls, limits = _calls_field(around)
    around = replace(around, calls=calls)
    fields: dict[str, Json] = {}
    without = reasoning_limit(around)
    block = around.turn.reasoning
    if block is not None and without is None:
        around = replace(around, reasoning=block)
        fields[dialect.reasoning] = reasoning_field(around, block)
    # After the others: content is all that no other field reads, so it has to know them.
    fields["content"] = content_field(around, markup_pattern(around), joins=dialect.joins)
    if calls is not None:
        closing = anchor_field("close", calls.close) if calls.close else {}
        fields["tool_calls"] = {
            **anchor_field("open", call_opening(around)),
            **closing,
            **calls.settings,
        }
    document: dict[str, Json] = {
        "version": 1,
        "defaults": {"role": "assistant"},
        **_start_anchor(format_),
        "fields": fields,
    }
    return Export(
        document,
        tuple(limit for limit in (without, content_limit(around), *limits) if limit is not None),
        needs_tools=calls is not None and calls.needs_tools,
        plain_names=calls is not None and calls.plain_names,
        dialect=dialect,
    )


def _calls_field(around: TargetSurroundings) -> tuple[CallsField | None, tuple[ExportLimit, ...]]:
    calls = around.format.calls
    if calls is None:
        return None, ()
    fields = calls.json_fields
    end = TurnEnds(around.end, around.ends)
    # JSON first: its values keep their types, while rows may need the tools' schemas.
    found = None if fields is None else json_field(calls, fields, end)
    if found is None:
        found = row_field(calls, around.begins, end)
    if found is None:
        return None, (
            ExportLimit(MessagePiece.CALLS, "no text before the arguments names the function"),
        )
    return found, found.limits


def _start_anchor(format_: TurnFormat) -> dict[str, str]:
    """Match the text right before the turn, at the end of the prompt."""
    header = written_header(format_).strip() and format_.header
    openings = sorted(format_.openings, key=lambda opening: -len(opening.text))
    known = [opening.text for opening in openings if opening.text]
    anchors: dict[str, None] = {exact_pattern(header): None} if header else {}
    for opening in openings:
        text = opening.text
        begun = any(layout.literals[0].startswith(text) for layout in format_.layouts.values())
        if opening.written is PromptProgress.OTHER and text and not begun:
            # No turn contains this text, so it is not part of the message.
            anchors[exact_pattern(text)] = None
        elif not header or header not in text:
            at_end = rf"(?={exact_pattern(text)}\Z)" if text else r"\Z"
            # An empty prompt is at the end of any text, so it must not follow another prompt.
            others = any_pattern(exact_pattern(other) for other in known) if not text else ""
            anchors[f"(?<!{others}){at_end}" if others else at_end] = None
    # The longest first: a text that begins with the header goes on after it.
    return anchor_field(
        "start_anchor", any_pattern(sorted(anchors, key=len, reverse=True)) or r"\Z"
    )


TARGET_PACKAGE = "transformers"
_EARLIER = Message("An earlier answer.")


class Parse(Protocol):
    """transformers' `parse_response`."""

    def __call__(
        self,
        text: str,
        response_template: Mapping[str, Json],
        *,
        prefix: str,
        tools: Sequence[Json],
    ) -> Mapping[str, Any]:
        """Parse a model's output after a prompt."""
        ...


class ComparedMessage(Struct, frozen=True):
    """A message in comparable form: absent parts are None."""

    reasoning: str | None
    """The reasoning, e.g. "A lookup is due.", or None without any."""
    content: str | None
    """The content, e.g. "Here is what I found.", or None without any."""
    calls: tuple[tuple[str, str, str | None], ...] = ()
    """Name, arguments as sorted JSON text, and the id if the export includes it, e.g.
    `("get_forecast", '{"city": "Oslo", "days": 3}', None)`."""


class ExportMismatch(Struct, frozen=True):
    """A message that the target parses differently from the export's promise."""

    title: str
    """The message in words, e.g. "content and 1 call"."""
    prefix: str
    r"""The prompt, where the target begins to read, e.g. `"…<|im_start|>assistant\n"`."""
    text: str
    r"""The output that it read, e.g. `"Here is what I found.<|im_end|>\n"`."""
    expected: ComparedMessage
    """The message that the output means, e.g. with that content and no calls."""
    read_message: ComparedMessage | None
    """The message that the target read, e.g. with None for the content, or None if it raised."""
    error: str = ""
    r"""The error of the target, or the template's render of the message that was found, e.g. "it
    renders as 'Here it is.<|im_end|>\n'"."""

    @property
    def kind(self) -> str:
        """The parts that come back otherwise, in words."""
        if self.read_message is None:
            return "the parser raises"
        ours, theirs = self.expected, self.read_message
        parts = {
            "reasoning": ours.reasoning != theirs.reasoning,
            "content": ours.content != theirs.content,
            "calls": ours.calls != theirs.calls,
        }
        named = [part for part, differs in parts.items() if differs]
        return " and ".join(named) or "its rendered text"


class ExportTrial(Struct, frozen=True):
    """The results for the battery's messages."""

    passed: int
    """The number of messages that are read as promised, e.g. 47."""
    total: int
    """Number of messages that the export promises to give back, e.g. 47."""
    left_out: int
    """Number of messages with a part that the export says it does not express, e.g. 10."""
    foretold: int
    """Messages of the total that the template writes after none of its prompts, usually 0: they are
    read from the text that the format predicts, which no render confirms."""
    mismatches: tuple[ExportMismatch, ...] = ()
    """The messages that are read in another way, e.g. "2 calls"."""
    kinds: Mapping[str, int] = {}
    """Number of messages of the total by the part they hold, e.g.
    `{"content": 13, "reasoning": 11, "calls": 39, "several calls": 8}`."""

    @property
    def ok(self) -> bool:
        """Whether the export keeps its promises."""
        return self.passed == self.total


def transformers_parser() -> Parse | None:
    """Return transformers' parser, or None if no transformers with one is installed."""
    if find_spec(TARGET_PACKAGE) is None:
        return None
    try:
        module = import_module(f"{TARGET_PACKAGE}.utils.chat_parsing")
    except ImportError:
        # Releases before 5.13 have none, and neither has an installation without `regex`.
        return None
    parse: Parse = module.parse_response
    return parse


def try_out(
    format_: TurnFormat,
    export: Export,
    parse: Parse,
    prober: Prober,
    cases: Sequence[BatteryCase] | None = None,
) -> ExportTrial:
    """Parse the messages that the template writes, after every prompt.

    `cases` are the messages; None means the battery. `prober` has nothing set. The messages that
    are found are given back to the template, which has to write the text that was parsed.
    """
    return _Tryout(format_, export, parse, prober).of(
        battery_messages() if cases is None else cases
    )


class _Tryout:
    """One export, and the template that judges it."""

    def __init__(self, format_: TurnFormat, export: Export, parse: Parse, prober: Prober) -> None:
        # Imported here: an export without a trial renders nothing.
        from autoparser.analysis.learning.continuations import turns_after  # noqa: PLC0415

        self._format, self._export, self._parse = format_, export, parse
        # Reversed, so that the first setting wins if several have the same prompt.
        openings = {opening.text: opening for opening in reversed(format_.openings)}
        self._turns = [turns_after(format_, opening, prober) for opening in openings.values()]

    def of(self, cases: Sequence[BatteryCase]) -> ExportTrial:
        """Try the messages one by one."""
        total = left_out = foretold = 0
        mismatches: list[ExportMismatch] = []
        kinds: Counter[str] = Counter()
        for case in cases:
            message = self._format.with_naming_ids(case.message)
            try:
                # The format writes it first: a message that it refuses is never written, so nothing
                # is promised.
                turn = self._format.write(message)
            except RefusedMessageError:
                continue
            if not self._export.promises(message):
                left_out += 1
                continue
            total += 1
            parts = {
                "reasoning": message.reasoning,
                "content": message.content,
                "calls": message.calls,
                "several calls": len(message.calls) > 1,
            }
            kinds.update(kind for kind, there in parts.items() if there)
            # Only prompts that the turn continues can precede it.
            asked = [
                turns
                for turns in self._turns
                if turns.written_turn(message).continuation is not None
            ]
            foretold += not asked
            found = self._rendered_mismatch(message, asked) or self._predicted_mismatch(
                message, turn
            )
            if found is not None:
                mismatches.append(replace(found, title=case.title))
        passed = total - len(mismatches)
        return ExportTrial(passed, total, left_out, foretold, tuple(mismatches), dict(kinds))

    def _rendered_mismatch(
        self, message: Message, template_turns: Sequence[TemplateTurns]
    ) -> ExportMismatch | None:
        """Parse the template's own turns after its prompts, and render the found messages."""
        for turns in template_turns:
            # Under another setting a turn may have fewer parts.
            expected = _surviving(self._format, self._export, turns.shown_message(message))
            prefix, text = turns.prompt, turns.written_turn(message).continuation or ""
            found = self._mismatch(expected, prefix, text)
            if isinstance(found, ExportMismatch):
                return found
            # Compared messages lack the order of keys, and maybe ids, which the template writes.
            read = _with_wanted_ids(found, message)
            second_text = text if read == message else turns.written_turn(read).rest
            if second_text != text:
                error = f"it renders as {second_text!r}"
                return ExportMismatch("", prefix, text, expected, found, error)
        return None

    def _predicted_mismatch(self, message: Message, turn: str) -> ExportMismatch | None:
        """Parse the text that the format predicts, after an earlier turn."""
        expected = _surviving(self._format, self._export, message)
        for prefix, text in turn_prompts(self._format, message, turn):
            found = self._mismatch(expected, prefix, text)
            if isinstance(found, ExportMismatch):
                return found
        return None

    def _mismatch(
        self, expected: ComparedMessage, prefix: str, text: str
    ) -> ExportMismatch | ComparedMessage:
        document = self._export.document
        try:
            read = self._parse(text, document, prefix=prefix, tools=trial_tools())
            found = _compared_message(read, self._export)
        except (ValueError, KeyError, TypeError) as error:
            return ExportMismatch("", prefix, text, expected, None, repr(error))
        return found if found == expected else ExportMismatch("", prefix, text, expected, found)


def _with_wanted_ids(read_message: ComparedMessage, wanted_message: Message) -> Message:
    """Return the message found, with the ids and the order of keys of the message asked for."""
    known = dict(enumerate(wanted_message.calls))
    calls: list[ToolCall] = []
    for at, (name, text, call_id) in enumerate(read_message.calls):
        call = known.get(at, ToolCall(name))
        arguments: dict[str, Json] = json.loads(text)
        kept = {
            key: value
            for key, value in call.arguments.items()
            if key in arguments and _sorted_json(value) == _sorted_json(arguments[key])
        }
        # `kept` comes first for the order of the keys, and last for the order inside the values.
        calls.append(ToolCall(name, {**kept, **arguments, **kept}, call_id or call.id))
    return Message(read_message.content or "", read_message.reasoning or "", tuple(calls))


def _sorted_json(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def turn_prompts(format_: TurnFormat, message: Message, turn: str) -> Iterator[tuple[str, str]]:
    """Return every prompt that a turn may follow, with an earlier turn, and the rest of the turn.

    A prompt that opens the reasoning, where no turn in the history shows that, is among them.
    """
    try:
        earlier = format_.write(_EARLIER)
    except RefusedMessageError:
        earlier = ""
    texts = dict.fromkeys(opening.text for opening in format_.openings)
    fitting = [text for text in texts if turn.startswith(text)]
    for text in fitting:
        yield earlier + text, turn[len(text) :]
    if not fitting:
        # Use a prompt whose text no turn contains, or one that opens a part that this turn lacks.
        strange = (
            opening.text for opening in format_.openings if opening.written is PromptProgress.OTHER
        )
        yield earlier + next(strange, format_.header), _behind_header(format_, turn)
    layout = format_.layouts[message.presence]
    if layout.parts[:1] != (TurnPart.REASONING,):
        return
    for opening in format_.openings:
        if opening.written is PromptProgress.REASONING_OPEN and opening.text not in fitting:
            yield earlier + opening.text, turn[len(layout.literals[0]) :]


def _behind_header(format_: TurnFormat, turn: str) -> str:
    header = written_header(format_)
    if turn.startswith(header) or not turn.startswith(header.rstrip()):
        return turn.removeprefix(header)
    return turn.removeprefix(header.rstrip()).lstrip()


def trial_tools() -> tuple[Json, ...]:
    """Return the battery's tools; the parameter that gets null in a case allows null."""
    nullable: dict[str, Json] = {"parent": {"type": ["string", "null"]}}
    offered = [with_properties(tool, nullable.get) for tool in battery_tools()]
    return tuple({"type": "function", "function": tool} for tool in offered)


def _surviving(format_: TurnFormat, export: Export, message: Message) -> ComparedMessage:
    """Return the parts of a message that the template writes."""
    layout = format_.layouts[message.presence]
    reasoning = content = ""
    if TurnPart.REASONING in layout.parts:
        reasoning = layout.reasoning.apply(message.reasoning)
    if TurnPart.CONTENT in layout.parts:
        content = layout.content.apply(format_.without_cut(message.content))
    calls: list[tuple[str, str, str | None]] = []
    if TurnPart.CALLS in layout.parts and format_.calls is not None:
        lacks_ids = export.lacks(MessagePiece.IDS) or export.lacks(MessagePiece.CALLS)
        has_ids = format_.calls.has(RowSlot.ID) and not lacks_ids
        for call in format_.calls.written_calls(message.calls):
            arguments = _sorted_json(surviving_arguments(format_.calls.arguments, call))
            calls.append((call.name, arguments, call.id if has_ids else None))
    return ComparedMessage(
        reasoning if reasoning.strip() else None, content if content.strip() else None, tuple(calls)
    )


def _compared_message(message: Mapping[str, Any], export: Export) -> ComparedMessage:
    calls: list[tuple[str, str, str | None]] = []
    has_ids = not export.lacks(MessagePiece.IDS)
    for call in message.get("tool_calls", ()):
        function = call["function"]
        call_id = call.get("id") if has_ids else None
        calls.append((str(function["name"]), _sorted_json(function["arguments"]), call_id))
    reasoning = message.get(export.dialect.reasoning)
    return ComparedMessage(reasoning, message.get("content"), tuple(calls))

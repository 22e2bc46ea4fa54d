"""Write a template with `{% generation %}` markers around one that has none.

The markers are transformers' extension: they enclose the text that the model writes, and do not
change the render. The template itself stays unchanged: it becomes a macro. The code after it
renders the macro, finds the text that each assistant message adds after the generation prompt, by
the rule of `message_attribution.py`, and writes the render in pieces, these inside generation
blocks. The text is equal by construction; the proof compares renders nevertheless.

For example, of the render of two questions with their answers

    <|usr|>user<|mid|>Hi<|eot|><|asst|>assistant<|mid|>Hello.<|eot|><|usr|>user<|mid|>Why?<|eot|>…

the generation blocks enclose `Hello.<|eot|>` and `So.<|eot|>`, but no header.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import product

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Dialogue, Message as Turn, ToolResult, UserMessage
from autoparser.analysis.core.errors import AutoparserError, TemplateRenderError
from autoparser.analysis.core.message_battery import battery_messages, battery_tools
from autoparser.analysis.core.message_shape import offered_tools
from autoparser.analysis.core.stop_texts import whole_stops
from autoparser.analysis.learning.prober import choose_sentinels
from autoparser.analysis.templates.chat_template import ChatTemplate, prepared_messages

from .history_renders import HistoryRenders, Messages, generation_ranges
from .message_attribution import Attributed, Joints, attribute_render, historic_closes
from .text_marks import MARK_DIGITS, reasoning_field_names, unused_word

# The proof of a training template: it renders the same texts, and marks the model's text.
#
# Both templates render every message of the battery, alone, between others and again after the
# results of its calls. A different text is an error; a turn whose marks differ from the renderer's
# loss mask is a deviation, which has a name.


class TrainingTemplateError(AutoparserError):
    """A template with generation markers cannot be written, or renders other text."""


@dataclass(frozen=True, slots=True)
class MismarkedTurn:
    """A turn whose marked text differs from the sampled text that the renderer reports."""

    conversation: tuple[str, ...]
    """The roles of its messages, such as `("user", "assistant")`."""
    message: int
    """The number of the message, such as `1`."""
    turn: str
    """The parts of the turn, such as `"reasoning and content"`, or empty if the message is not an
    assistant's."""
    left_out: tuple[str, ...]
    r"""Sampled texts without markers, such as `("<|im_start|>a\n",)`."""
    marked_too: tuple[str, ...]
    r"""Marked texts that are not sampled, such as `("<|im_start|>a\n",)`."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The comparison of both templates' renders."""

    conversations: int
    """The number of conversations that render to the same text, or raise in both, such as `266`."""
    refused: int
    """The number of conversations on which both raise, such as `0`."""
    masked: int
    """The number of conversations whose marked text is the sampled text of the renderer, such as
    `266`."""
    deviations: tuple[MismarkedTurn, ...]
    """The turns where it is not, one for each kind of turn and of conversation; `()` if the proof
    passes."""

    @property
    def passed(self) -> bool:
        """Whether both render, and the markers are the renderer's loss mask wherever they do."""
        return self.masked == self.conversations - self.refused > 0


def prove_training_template(
    analysis: Analysis, patched: ChatTemplate, *, briefly: bool = False, written_calls: bool = False
) -> Proof:
    """Render the battery by both. Raises TrainingTemplateError if a text differs.

    `briefly` takes one message of each kind of turn, without a generation prompt; `written_calls`
    leaves out conversations of which the template writes no word of some message's calls.
    """
    asked = _ProofConversations(analysis)
    renders = asked.renders
    # Both use the same clock, so that no second passes in between.
    others = HistoryRenders(patched, renders.tools, renders.switches, renders.clock)
    conversations = refused = masked = 0
    deviations: dict[tuple[object, ...], MismarkedTurn] = {}
    for dialogue, generation in asked.conversations(briefly=briefly, written_calls=written_calls):
        messages = asked.messages(dialogue)
        text = renders.attempt(messages, generation=generation)
        other = others.attempt(messages, generation=generation)
        if text != other:
            raise TrainingTemplateError(
                "with generation markers it does not render the same text",
                file=analysis.template.origin,
                hint="use the loss mask of autoparser's renderer instead",
            )
        conversations += 1
        if text is None:
            refused += 1
            continue
        whole = asked.attribute_text(messages, text, generation=generation)
        marked = _marked_ranges(others, messages, text, generation=generation)
        # An unknown range counts as no mark: the deviation is then the whole sampled text.
        found = list(_find_deviations(whole, marked, dialogue, messages))
        masked += not found
        for deviation in found:
            # Show one of each kind: the battery repeats a deviation in every conversation.
            deviations.setdefault(
                (deviation.conversation, deviation.message, deviation.turn), deviation
            )
    return Proof(conversations, refused, masked, tuple(deviations.values()))


class _ProofConversations:
    """The battery's conversations, prepared for one template."""

    def __init__(self, analysis: Analysis) -> None:
        self._shape = analysis.shape
        self._calls = analysis.formats.united.calls is not None
        tools = offered_tools(battery_tools(), analysis.shape)
        self.renders = HistoryRenders.of(analysis.template, tools, {})
        self._joints = Joints(analysis.formats.united)
        self._fields = reasoning_field_names(analysis.shape)
        self._system = choose_sentinels(analysis.template.text).system

    def messages(self, dialogue: Dialogue) -> Messages:
        return prepared_messages(self._shape.messages(dialogue, self._system))

    def conversations(
        self, *, briefly: bool, written_calls: bool
    ) -> Iterator[tuple[Dialogue, bool]]:
        """Yield the conversations, each with whether a generation prompt follows."""
        messages = [case.message for case in battery_messages()]
        if briefly:
            # Reversed, so that the first message of each kind in the battery is kept.
            one_of_each = {str(message.presence): message for message in reversed(messages)}
            messages = [*one_of_each.values()]
        if written_calls and not self._calls:
            messages = [message for message in messages if not message.calls]
        yield from product(_proof_dialogues(messages), (False,) if briefly else (False, True))

    def attribute_text(self, messages: Messages, text: str, *, generation: bool) -> Attributed:
        """Attribute every character of a render."""
        return attribute_render(
            self.renders,
            messages,
            self._joints,
            generation=generation,
            reasoning_fields=self._fields,
            text=text,
        )


@dataclass(frozen=True, slots=True)
class AttributedTurns:
    """A conversation of the proof with its attributed text."""

    variables: Mapping[str, object]
    """The variables of its render, such as `messages` and `add_generation_prompt`."""
    roles: tuple[object, ...]
    """The roles of its messages, e.g. `("user", "assistant")`."""
    whole: Attributed
    """The render, attributed to its messages, such as to message 0 from the offset 1758 on."""


def attributed_turns(analysis: Analysis) -> Iterator[AttributedTurns]:
    """Yield one conversation of each kind that the template renders without losing a word."""
    asked = _ProofConversations(analysis)
    for dialogue, _ in asked.conversations(briefly=True, written_calls=True):
        messages = asked.messages(dialogue)
        text = asked.renders.attempt(messages)
        if text is not None:
            whole = asked.attribute_text(messages, text, generation=False)
            roles = tuple(message.get("role") for message in messages)
            yield AttributedTurns(asked.renders.variables(messages, False), roles, whole)


def _marked_ranges(
    others: HistoryRenders, messages: Messages, text: str, *, generation: bool
) -> list[tuple[int, int]]:
    """Return the ranges of generation blocks, or no ranges if they are unknown."""
    try:
        marked = generation_ranges(others, messages, text, generation=generation)
    except TemplateRenderError:
        return []
    return join_ranges(marked or [])


def _find_deviations(
    whole: Attributed, marked: Sequence[tuple[int, int]], dialogue: Dialogue, messages: Messages
) -> Iterator[MismarkedTurn]:
    """Return the turns of a conversation that are marked differently than they are sampled."""
    sampled = join_ranges(
        (segment.start, segment.end) for segment in whole.segments if segment.sampled
    )
    left_out = _ranges_outside(sampled, marked)
    marked_too = _ranges_outside(marked, sampled)
    owners: dict[int, tuple[list[str], list[str]]] = {}
    for which, stretches in enumerate((left_out, marked_too)):
        for start, end in stretches:
            owner = next(segment.message for segment in whole.segments if segment.end > start)
            owners.setdefault(owner, ([], []))[which].append(whole.text[start:end])
    roles = tuple(str(message.get("role")) for message in messages)
    # A required system message precedes the dialogue.
    before = len(messages) - len(dialogue)
    for owner, (left, too) in sorted(owners.items()):
        turn = dialogue[owner - before] if owner >= before else None
        parts = str(turn.presence) if isinstance(turn, Turn) else ""
        yield MismarkedTurn(roles, owner, parts, tuple(left), tuple(too))


def _ranges_outside(
    one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Subtract sorted ranges from sorted ranges."""
    found: list[tuple[int, int]] = []
    for start, end in one:
        at = start
        for begin, stop in other:
            if stop <= at or begin >= end:
                continue
            if begin > at:
                found.append((at, begin))
            at = max(at, stop)
        if at < end:
            found.append((at, end))
    return found


def join_ranges(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge adjacent ranges."""
    found: list[tuple[int, int]] = []
    for start, end in stretches:
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _proof_dialogues(messages: Iterable[Turn]) -> Iterator[Dialogue]:
    """Yield conversations with each message: alone, between others, and after its results."""
    done_turn = Turn("All done.", "It is done.")
    next_question = UserMessage("Thanks. Anything else?")
    for message in messages:
        answers = tuple(ToolResult("done", call.name, call.id) for call in message.calls)
        asked: Dialogue = (UserMessage("Please look into it."), message, *answers)
        yield asked
        # With a later question, since templates rewrite turns that are not the last.
        yield (*asked, *([done_turn] if answers else []), next_question, Turn("Nothing else."))
        if answers:
            yield (*asked, message, *answers, done_turn)


MARK_LETTERS = 8
"""Letters of a mark; conversations are unknown yet, and contain a longer word less likely."""


@dataclass(frozen=True, slots=True)
class TrainingTemplate:
    """A template with generation markers, and the proof that its renders are unchanged."""

    template: ChatTemplate
    """The template with markers, such as `<ChatTemplate of chat_template.jinja: 236 lines>`."""
    proof: Proof
    """The comparison of its renders with the original's, such as `Proof(266, 0, 266, ())`."""
    patched: bool
    """Whether markers were added; false if the template already had `{% generation %}`."""


def training_template(analysis: Analysis, *, briefly: bool = False) -> TrainingTemplate:
    """Return the template with `{% generation %}` markers. Raises TrainingTemplateError.

    With `briefly`, the proof renders one message of each kind instead of the whole battery. It is
    an error as well if the template raises on all of them, since that proves nothing.
    """
    made = _prove_template(analysis, briefly=briefly)
    if made.proof.refused == made.proof.conversations:
        raise TrainingTemplateError(
            f"the template raises on all {made.proof.refused} test conversations",
            file=analysis.template.origin,
            hint="pass the model's directory: the template may need its special tokens",
        )
    return made


def _prove_template(analysis: Analysis, *, briefly: bool) -> TrainingTemplate:
    original = analysis.template
    if original.source is not None and original.source.ran_code:
        raise TrainingTemplateError(
            "an encoder in Python has no template to add markers to",
            file=original.origin,
            hint="use the loss mask of autoparser's renderer instead",
        )
    # The author's own markers are kept, and only checked.
    if original.marks_generation:
        return TrainingTemplate(
            original, prove_training_template(analysis, original, briefly=briefly), patched=False
        )
    try:
        return _make_template(analysis, ends=True, briefly=briefly)
    except TrainingTemplateError:
        # A template may refuse a conversation that ends with a turn, such as an unanswered call.
        return _make_template(analysis, ends=False, briefly=briefly)


def _make_template(analysis: Analysis, *, ends: bool, briefly: bool) -> TrainingTemplate:
    original = analysis.template
    patched = ChatTemplate(
        _wrap_template(analysis, ends=ends),
        original.special_tokens,
        original.name,
        original.origin,
        original.source,
    )
    try:
        patched.check_syntax()
    except AutoparserError as error:
        raise TrainingTemplateError(
            f"the template cannot be wrapped in a macro: {error.message}", file=original.origin
        ) from error
    return TrainingTemplate(
        patched, prove_training_template(analysis, patched, briefly=briefly), patched=True
    )


def _wrap_template(analysis: Analysis, *, ends: bool) -> str:
    format_ = analysis.formats.united
    # Jinja drops a newline at a template's end, which would not be at the end inside a macro.
    text = analysis.template.text.removesuffix("\n")
    around = (
        files("autoparser.analysis.history").joinpath("training.jinja").read_text(encoding="utf-8")
    )
    values = {
        "original": text,
        "mark": _jinja_literal(unused_word(text + around, MARK_LETTERS)),
        "digits": str(MARK_DIGITS),
        "width": str(MARK_DIGITS + 2),
        "header": _jinja_literal(format_.prompted_header),
        "openings": _jinja_list([opening.text for opening in format_.openings if opening.text]),
        "stops": f"[{', '.join(map(_jinja_list, whole_stops(format_).items()))}]",
        "closes": _jinja_list(historic_closes(format_)),
        "fields": _jinja_list(reasoning_field_names(analysis.shape)),
        "ends": str(ends).lower(),
    }
    # Replace all places at once, so that inserted text is not searched again.
    return re.sub("@(\\w+)@", lambda place: values[place[1]], around)


def _jinja_literal(text: str) -> str:
    """Quote a text as a Jinja string literal."""
    inner = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    return f'"{inner}"'


def _jinja_list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_jinja_literal, texts))}]"

"""Bridge from one turn to the next without rendering the conversation again.

    previous prompt ids + completion ids + new messages -> next prompt ids, or BridgeRefusal

Contract: the result begins with the previous prompt and the completion, id for id. After them
comes the text that the template writes after such a turn: the rest of its end that the engine
swallowed after the stop token, or all of it if the turn was cut; the new messages; the next
generation prompt. If the template would change anything before that, the bridge is refused, unless
it is reasoning that the caller keeps on purpose; the notes of the result then report it.

For a template that keeps reasoning only in the turns after the last user message:

    prompt          completion           new user message   result
    <u>Hi</s><a>    Yes.</s>             So?                <u>Hi</s><a>Yes.</s><u>So?</s><a>
    <u>Hi</s><a>    Yes.                 So?                the same, with a note
    <u>Hi</s><a>    <t>Hm.</t>Yes.</s>   So?                refused: REASONING_DROPPED
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate

from msgspec import structs

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Message as Turn, tool_function
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.text_alignment import edge_units
from autoparser.analysis.parsing.parsed_message import ParsedMessage, Status
from autoparser.analysis.sources.tokenizer import EncodedText, TokenText

from .bridge_refusals import (
    BridgeRefusal,
    Purpose,
    RefusalReason,
    RefusedBridge,
    Retention,
)
from .cached_prompts import GivenPrompts, PromptPast
from .earlier_turns import EarlierTurns, History, dropped_block
from .history_renders import Messages
from .media_tokens import media_parts
from .message_attribution import (
    TEMPLATE,
    Attributed,
    Joints,
    Segment,
    attribute_render,
    common_length,
    historic_closes,
)
from .rendered_tokens import RenderedTokens, TokenOwner, own_tokens
from .request_arguments import checked_messages
from .text_skeleton import (
    MOST_PATTERNS,
    Base,
    LastText,
    RenderPattern,
    Skeletons,
    render_pattern,
    varying_words,
)
from .turn_kinds import AnsweredKind, KeptKind, OwnedKind, PlacedKind, SettledKind, TurnKind
from .turn_response import ReadOutput, Responses

# The shortest base that a kind of turn needs, so that a bridge renders as little as possible.
#
# A prompt may offer a hundred tools and end with a tool result, but the text after a turn hardly
# ever depends on tools that are not called, or on the call before. This is checked once for each
# kind of turn against the render of everything.

MOST_KINDS = 256
"""The most kinds of turns that are cached; the names of called tools are part of a kind."""


@dataclass(frozen=True, slots=True)
class PlacedTurn:
    """A turn as bridged after one base."""

    whole_text: str
    r"""The turn as the template writes it, and all the text that follows, such as
    `"wpzqqmqw<|im_end|>\n<|im_start|>user\nWhat is the weather in Osaka?<|im_end|>\n…"`."""
    rest: str
    r"""The text after the turn's last text, such as
    `"<|im_end|>\n<|im_start|>user\nWhat is the weather in Osaka?<|im_end|>\n…"`."""
    notes: tuple[str, ...]
    """The text of the turn, and before it, that the bridge keeps, such as `("kept, although the
    template drops reasoning from the history: of the turn that the model wrote",)`."""


class ShorterBases:
    """Finds the shortest base after which a kind of turn is bridged in the same way."""

    def __init__(self, skeletons: Skeletons) -> None:
        """Store the skeletons; rendering is lazy."""
        self._skeletons = skeletons
        self._known_bases: dict[PlacedKind, tuple[Base, tuple[str, ...]] | None] = {}
        """None for a kind seen only once, which is not worth a proof, or one that needs all."""
        self._tried_kinds: set[PlacedKind] = set()

    def base(self, kind: PlacedKind) -> tuple[Base, tuple[str, ...]] | None:
        """Return the shorter base for a kind of turn and the notes of its bridge, or None."""
        return self._known_bases.get(kind)

    def forget(self, kind: PlacedKind) -> None:
        """Bridge turns of this kind after the whole base from now on."""
        self._known_bases[kind] = None

    def learn(
        self,
        kind: PlacedKind,
        base: Base,
        tool_names: tuple[str, ...],
        place: Callable[[Base], PlacedTurn | None],
    ) -> None:
        """Find a base shorter than `base` when a kind of turn is seen for the second time.

        `tool_names` are the tools named by the turn and the messages after it.
        """
        if kind in self._tried_kinds:
            return
        if kind not in self._known_bases:
            if len(self._known_bases) >= MOST_KINDS:
                self._known_bases.clear()
                self._tried_kinds.clear()
            self._known_bases[kind] = None
            return
        self._tried_kinds.add(kind)
        whole = place(base)
        # The first shorter base with the same text, rest and notes is the shortest equivalent one.
        for shorter in self._skeletons.shorter(base, tool_names):
            if whole is not None and place(shorter) == whole:
                self._known_bases[kind] = shorter, whole.notes
                return


def _check_tools(
    past: PromptPast, tools: Sequence[object] | None, base: Base, purpose: Purpose
) -> None:
    """Refuse a tool that the template writes in its prompts and that this prompt does not have."""
    functions = map(tool_function, tools or ())
    names = tuple("" if known is None else str(known.get("name", "")) for known in functions)
    # Prompts that follow this one contain all of its text.
    if not names or names in past.contents:
        return
    messages = str(base.messages)
    for name in names:
        # Do not count the names in the base's own calls and results.
        written = bool(name) and base.prompt.count(name) > messages.count(name)
        if written and name not in past.text:
            purpose.keep(RefusalReason.OTHER_TOOLS, name)
    past.contents.add(names)


_BROKEN = {
    Status.CUT: "the output ends inside a call, which stays open",
    Status.MALFORMED: "a call that could not be read stays as it is",
}
"""Notes about calls that the bridge does not close, by their status."""
_SHOWN_BEFORE = 16
_SHOWN_AFTER = 24
"""Characters that a note shows before and after the point where model and template differ."""


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A completion as a turn that can be rendered, and the messages after it."""

    turn: Turn
    """The turn with sentinels for its texts, such as `Message("wpzqqmqw", "dxdpspvg")`, and its
    calls."""
    new: Messages
    """The messages after it, e.g. `[{"role": "user", "content": "So?"}]`."""
    lead: str | None
    """The text before the content or the calls of a turn that has nothing else, such as
    `"<｜Assistant｜><think></think>"`."""
    number: int | None = None
    """The number of its first call, such as `7`, if calls are counted through the conversation."""

    def kind(self, purpose: Purpose) -> TurnKind:
        """Return the facts about the turn that decide how it is bridged."""
        presence, roles = self.turn.presence, purpose.roles
        return TurnKind(presence, self.lead, self.number, roles, purpose.force)


@dataclass(frozen=True, slots=True)
class Continued:
    """The skeleton with a turn and the new messages after it."""

    base: Base
    r"""The conversation before the turn, such as one with the prompt
    `"<|im_start|>user\npkvrbnwj<|im_end|>\n<|im_start|>assistant\n"`."""
    whole: Base
    """The base that the prompt may end with; `base` is a shorter one if that is known to do."""
    added: NewTurn
    """The turn and the messages after it, such as a turn `"wpzqqmqw"` and a user's message."""
    messages: Messages
    """The messages of the base, the turn, and the new ones, such as
    `[{"role": "user", "content": "pkvrbnwj"}, {"role": "assistant", …}, {"role": "user", …}]`."""
    text: str
    r"""Their render, with a generation prompt, such as
    `"<|im_start|>user\npkvrbnwj<|im_end|>\n<|im_start|>assistant\nwpzqqmqw<|im_end|>\n…"`."""
    last: LastText
    """The last text of the turn, after which the bridge adds text, such as
    `LastText("<｜Assistant｜><think></think>", "wpzqqmqw", True)`."""


class Bridge:
    """Bridges the turns of one template."""

    def __init__(
        self,
        analysis: Analysis,
        tokens: TokenText,
        responses: Responses,
        joints: Joints,
        switches: dict[str, object],
        retention: Retention,
    ) -> None:
        """Store the arguments; rendering is lazy."""
        self._analysis = analysis
        self._text = tokens
        self._responses = responses
        self._joints = joints
        self._switches = switches
        self._retention = retention
        self._format = analysis.under(switches).format
        self._skeletons = Skeletons(analysis, self._format)
        self._shorter = ShorterBases(self._skeletons)
        self._history = History(self._format, self._skeletons, tokens)
        self._stops = sorted(responses.stops.all, key=lambda stop: len(stop.text), reverse=True)
        self._known_prompts = GivenPrompts()
        self._settled_notes: dict[SettledKind, tuple[str, ...]] = {}
        """The notes of each kind of turn that stays after all bases that are possible."""
        self._answer_bases: dict[AnsweredKind, Sequence[Base]] = {}
        """Bases with an answer, if reasoning stays only after an answer."""
        self._kept_turns: dict[KeptKind, RefusalReason | None] = {}
        """Why the turn does not stay, or None."""
        self._patterns: dict[OwnedKind, tuple[RenderPattern, ...]] = {}

    def to_next_turn(
        self,
        prompt: Sequence[int],
        completion: Sequence[int],
        new: Sequence[object],
        tools: Sequence[object] | None,
        *,
        force: bool,
    ) -> RenderedTokens | BridgeRefusal:
        """Return the next prompt, or the reason why it cannot be bridged."""
        past = self._known_prompts.find(prompt := tuple(prompt))
        if past is None:
            self._text.check(prompt, "prev_prompt_ids")
            past = PromptPast(self._text, prompt)
        self._text.check(completion, "prev_completion_ids")
        if not new:
            return BridgeRefusal(RefusalReason.NOTHING_NEW)
        messages = checked_messages(new, "new_messages")
        roles = tuple(str(message.get("role")) for message in messages)
        if "assistant" in roles:
            return BridgeRefusal(
                RefusalReason.ASSISTANT, f"new_messages[{roles.index('assistant')}]"
            )
        counted = self._numbered_part(messages)
        if counted is not None:
            return BridgeRefusal(RefusalReason.DEPENDS, counted)
        response = self._responses.parse(completion, prompt, tools=tools)
        refusal = BridgeRefusal(RefusalReason.NOTHING_NEW)
        # Unforced first: only a refusal makes `_bridge` try a base without a call, and under force
        # it is only noted.
        for forced in (False, True) if force else (False,):
            purpose = Purpose(self._retention, roles, forced, [])
            try:
                return self._bridge(past, completion, messages, response, tools, purpose)
            except RefusedBridge as refused:
                refusal = refused.refusal
            except TemplateRenderError as error:
                return BridgeRefusal(RefusalReason.REFUSED, error.reason)
        return refusal

    def _numbered_part(self, new: Messages) -> str | None:
        """Return a new part that is numbered through the conversation, in words, or None."""
        for part in media_parts(new):
            media = self._analysis.content_parts_under(self._switches).of(part.kind)
            if media is not None and (media.first_number is not None or media.alone):
                place = f"new_messages[{part.message}].content[{part.part}]"
                return f"{place}: each {part.kind} has a number"
        return None

    def _bridge(
        self,
        past: PromptPast,
        completion: Sequence[int],
        new: Messages,
        response: ReadOutput,
        tools: Sequence[object] | None,
        purpose: Purpose,
    ) -> RenderedTokens:
        """Return the ids of the next prompt: prompt, completion, and the new messages.

        The new text is rendered behind a skeleton of the turn, encoded, and added after the ids
        that the model sampled, which never change. Raises RefusedBridge if the template would
        render the past differently, or if the end of the turn is unknown.
        """
        prompt = past.ids
        end = self._responses.end_of(prompt)
        bases: Sequence[Base] = self._skeletons.bases(tools, self._switches, end.tail)
        _check_tools(past, tools, bases[0], purpose)
        if response.message.tool_calls and self._skeletons.numbered:
            bases = self._numbered_bases(bases, past)
        try:
            bases = self._bases_after_answer(bases, past, end.opening, response, new, purpose.roles)
            found, place = self._place_turn(bases, response, new, purpose)
        except RefusedBridge:
            if len(bases) == 1 or not self._history.is_first_turn(bases[0], past, end.opening):
                raise
            # No call precedes this turn, so its text need not stay the same after one.
            purpose.notes.clear()
            found, place = self._place_turn(bases[:1], response, new, purpose)
        self._check_history(found, place, past, end.opening, purpose)
        self._note_spelling(found, response, purpose)
        if response.stop is None and not found.last.ends:
            raise RefusedBridge(RefusalReason.END_UNKNOWN, str(found.added.turn.presence))
        ending = found.text[place:]
        closer = self._responses.unwritten_closer(
            response.message,
            self._text_before_end(response),
            self._part_closer(found, response.message, ending),
            prompt,
            tools,
        )
        stop, behind = self._text_to_add(ending, completion, response, purpose)
        statuses = (attempt.status for attempt in response.message.attempts)
        purpose.notes += [_BROKEN[status] for status in statuses if status in _BROKEN]
        if closer and behind != ending:
            # The sampled ids stay as they are, so nothing comes before the end that is in them.
            purpose.notes.append(f"the model ended its turn without {closer!r}")
            closer = ""
        added = self._encode_addition(found, stop, closer, behind)
        behind = closer + behind
        until = len(completion) if response.stop is None else response.stop + 1
        rest = len(completion) - until
        ids = prompt + (*completion, *added.token_ids)  # noqa: RUF005 - copied once, not twice
        # The next turn begins with this prompt, which then need not be checked or decoded again.
        self._known_prompts.keep(past.followed_by(ids, len(completion), behind))
        return RenderedTokens(
            ids,
            (
                TokenOwner(len(prompt), TEMPLATE, False, False, False),
                TokenOwner(until, TEMPLATE, False, True, True),
                TokenOwner(rest, TEMPLATE, False, False, False),
                *added.owners,
            ),
            tuple(dict.fromkeys(purpose.notes)),
        )

    def _numbered_bases(self, bases: Sequence[Base], past: PromptPast) -> Sequence[Base]:
        """Return bases with as many calls as the prompt holds, as the template counts them."""
        numbers = self._skeletons.numbers(past.text)
        # A prompt may show a call as an example, before the conversation begins.
        shown = [] if bases[0].call_count else self._skeletons.numbers(bases[0].prompt)
        calls = 0 if numbers == shown else numbers[-1] + 1 - self._skeletons.first_number
        found = (self._skeletons.with_calls(base, calls) for base in bases if calls <= len(numbers))
        counted = [base for base in found if base is not None]
        if not counted:
            raise RefusedBridge(RefusalReason.DEPENDS, "the number of the call")
        return counted

    def _bases_after_answer(
        self,
        bases: Sequence[Base],
        past: PromptPast,
        opening: str,
        response: ReadOutput,
        new: Messages,
        roles: tuple[str, ...],
    ) -> Sequence[Base]:
        """Return bases with an answer if the prompt has one and reasoning stays because of it.

        Whether reasoning stays only after an answer is checked once for each kind of turn.
        """
        message = response.message
        if not message.reasoning_content:
            return bases
        key = AnsweredKind(bool(message.content), bool(message.tool_calls), roles, bases[-1].prompt)
        later = self._answer_bases.get(key)
        if later is None:
            turn = self._skeletons.message(self._skeletons.turn(message, new))
            made = [self._skeletons.behind_answer(base) for base in bases]
            stays = any(
                self._history.keeps_later(base, behind, turn, new)
                for base, behind in zip(bases, made, strict=True)
            )
            later = self._answer_bases[key] = [
                answered for answered in made if answered is not None and stays
            ]
        # Only headers and calls show whether the prompt has an answer; if unknown, the stricter
        # bases count.
        return later if later and self._history.has_answer(past, opening) else bases

    def _place_turn(
        self, bases: Sequence[Base], response: ReadOutput, new: Messages, purpose: Purpose
    ) -> tuple[Continued, int]:
        """Place the turn and the new messages after a base that the prompt may end with.

        If several are possible, the turn must stay after each of them; this is checked once for
        each kind of turn.
        """
        message = response.message
        number = next(iter(self._skeletons.numbers(response.text)), None)
        turn = NewTurn(self._skeletons.turn(message, new), new, self._first_lead(response), number)
        prompts = tuple(base.prompt for base in bases)
        key = SettledKind(turn.kind(purpose), len(message.tool_calls), prompts)
        if key not in self._settled_notes:
            for base in bases[:-1]:
                self._place_of_end(self._render_continued(base, base, turn), purpose)
            self._settled_notes[key] = tuple(purpose.notes)
        # The skeleton has sentinels for texts, so the notes of an earlier turn of this kind hold
        # for this one.
        purpose.notes[:] = self._settled_notes[key]
        return self._place_after(bases[-1], turn, purpose)

    def _place_after(self, base: Base, turn: NewTurn, purpose: Purpose) -> tuple[Continued, int]:
        """Place the turn and the new messages after a base, or an equivalent shorter one."""
        named = (
            *(call.name for call in turn.turn.calls),
            *(str(message["name"]) for message in turn.new if "name" in message),
        )
        kind = PlacedKind(turn.kind(purpose), base.prompt, named)
        shorter = self._shorter.base(kind)
        if shorter is not None:
            found = self._try_place(shorter[0], base, turn, purpose)
            # If the notes differ from the proof's, the shorter base is not equivalent for this
            # turn.
            if found is not None and found[2] == shorter[1]:
                purpose.notes += found[2]
                return found[:2]
            self._shorter.forget(kind)

        def place_turn(other: Base) -> PlacedTurn | None:
            # A shorter base may be refused, e.g. if a template wants tools for a call; then it
            # proves nothing.
            found = self._try_place(other, base, turn, purpose)
            if found is None:
                return None
            text, place = found[0].text, found[1]
            written = text[text.rfind(other.last) + len(other.last) + len(other.tail) :]
            return PlacedTurn(written, text[place:], found[2])

        self._shorter.learn(kind, base, named, place_turn)
        continued = self._render_continued(base, base, turn)
        return continued, self._place_of_end(continued, purpose)

    def _try_place(
        self, base: Base, whole: Base, turn: NewTurn, purpose: Purpose
    ) -> tuple[Continued, int, tuple[str, ...]] | None:
        """Place the turn after a base and return the notes too, or None if it is refused."""
        alone = Purpose(purpose.retention, purpose.roles, purpose.force, [])
        try:
            found = self._render_continued(base, whole, turn)
            return found, self._place_of_end(found, alone), tuple(alone.notes)
        except (RefusedBridge, TemplateRenderError):
            return None

    def _render_continued(self, base: Base, whole: Base, added: NewTurn) -> Continued:
        turn = added.turn
        messages = [*base.messages, self._skeletons.message(turn), *added.new]
        text = base.renders.text(messages, generation=True)
        if not turn.calls and any(message.get("role") == "tool" for message in added.new):
            raise RefusedBridge(RefusalReason.NO_CALL)
        last = self._skeletons.last_text(turn, added.number)
        return Continued(base, whole, added, messages, text, last)

    def _place_of_end(self, continuation: Continued, purpose: Purpose) -> int:
        """Return the offset where the turn's last text ends, if the turn stays as written."""
        base, text = continuation.base, continuation.text
        start = text.rfind(base.last) + len(base.last)
        first = len(base.prompt) - len(base.tail)
        own = base.before[first:]
        # Whether reasoning before the turn is dropped depends on the real prompt, not the base.
        stays = text.startswith(base.prompt[:first]) and start == first
        plain = text[:start] == base.unthought
        if not (stays or plain) and self._without_reasoning(
            text[:start]
        ) != self._without_reasoning(base.prompt[:first]):
            purpose.keep(RefusalReason.HISTORY_REWRITTEN, "the text before the turn")
        if not text.startswith(own, start):
            purpose.keep(RefusalReason.HISTORY_REWRITTEN, "the end of the message before the turn")
        at = text.find(continuation.last.text, start)
        if at < 0:
            purpose.keep(RefusalReason.HISTORY_REWRITTEN, "the turn that the model wrote")
            # Only with `force`: without sentinels in the text, use the end of the turn's own text.
            return self._end_of_turn(continuation)
        place = at + len(continuation.last.text) - self._closer_length(continuation)
        thought = self._skeletons.marks.reasoning
        if continuation.added.turn.reasoning and thought not in text[start:place]:
            purpose.keep_reasoning(
                RefusalReason.REASONING_DROPPED, "of the turn that the model wrote"
            )
        elif not text.startswith(base.tail, start):
            purpose.keep_reasoning(RefusalReason.PROMPT_REWRITTEN, repr(base.tail[len(own) :]))
        else:
            self._check_turn(continuation, text[start + len(base.tail) : at], place, purpose)
        return place

    def _closer_length(self, continuation: Continued) -> int:
        """Count the characters at the end of the last text that close it, such as calls' closer."""
        # A stop that closes the calls also ends the turn: it belongs to the rest, in which
        # `_text_to_add` looks for the stop.
        stops = self._responses.stops.after_calls if continuation.added.turn.calls else ()
        return max(
            (len(stop.text) for stop in stops if continuation.last.text.endswith(stop.text)),
            default=0,
        )

    def _part_closer(self, continuation: Continued, message: ParsedMessage, rest: str) -> str:
        """Return the text that closes the last part of a turn, before `rest`, the turn's end."""
        last, mark = continuation.last.text, self._skeletons.marks.content
        calls, reasoning = self._format.calls, self._format.reasoning
        if message.content and last.startswith(mark):
            return last.removeprefix(mark)
        if message.tool_calls and calls is not None and last.endswith(calls.closing):
            return calls.closing[: len(calls.closing) - self._closer_length(continuation)]
        if not message.reasoning_content or message.content or message.begun_calls:
            return ""
        # One marker may close the reasoning and the turn.
        shared = reasoning is None or rest.lstrip().startswith(reasoning.close.core)
        return "" if reasoning is None or shared else reasoning.close.text

    def _first_lead(self, response: ReadOutput) -> str | None:
        """Return the text before the content or the calls of a turn that has nothing else.

        Return "" for an empty turn, and None if it is not known.
        """
        message, calls = response.message, self._format.calls
        if message.reasoning_content or (message.content and message.tool_calls):
            return None
        first = message.content or ""
        if message.tool_calls:
            first = "" if calls is None else calls.opening
        if response.text and not first:
            return None
        at = response.text.find(first)
        return response.text[:at] if at >= 0 else None

    def _without_reasoning(self, text: str) -> str:
        """Return a text without its reasoning and the reasoning markers."""
        return self._history.without_marks(text.replace(self._skeletons.marks.reasoning, ""))

    def _check_turn(self, continuation: Continued, lead: str, place: int, purpose: Purpose) -> None:
        """Raise RefusedBridge if the turn in the history differs from the turn as the last one.

        `lead` is the text between the prompt and the turn's last text.
        """
        written = continuation.last.before
        if lead == continuation.added.lead:
            # The last turn would have an empty reasoning block, which the model has not written.
            return
        if written.endswith(lead) and continuation.base.prompt.endswith(written.removesuffix(lead)):
            return
        key = KeptKind(
            continuation.added.turn.presence,
            len(continuation.added.turn.calls),
            lead,
            continuation.base.prompt,
            purpose.roles,
        )
        if key not in self._kept_turns:
            self._kept_turns[key] = self._change_reason(continuation, continuation.text[:place])
        reason, whose = self._kept_turns[key], "the turn that the model wrote"
        if reason is RefusalReason.HISTORY_REWRITTEN:
            purpose.keep(reason, whose)
        elif reason is not None:
            is_empty = not continuation.added.turn.reasoning
            purpose.keep_reasoning(reason, dropped_block(f"of {whose}", is_empty=is_empty))

    def _change_reason(self, continuation: Continued, text: str) -> RefusalReason | None:
        """Return the change if the turn is the last one, or None; `text` ends with it."""
        # The turn may look different as the last one: some templates show reasoning only there.
        alone = continuation.base.renders.attempt(
            continuation.messages[: -len(continuation.added.new)]
        )
        if alone is None or alone.startswith(text):
            return None
        if self._without_reasoning(alone).startswith(self._without_reasoning(text)):
            return RefusalReason.REASONING_DROPPED
        return RefusalReason.HISTORY_REWRITTEN

    def _end_of_turn(self, continuation: Continued) -> int:
        """Return the offset of a turn's end that the template wrote differently than the model."""
        turn = len(continuation.base.messages)
        own = [segment for segment in self._segments(continuation) if segment.message == turn]
        if not own:
            raise RefusedBridge(RefusalReason.HISTORY_REWRITTEN, "the turn that the model wrote")
        start, end = own[0].start, own[-1].end
        texts = [stop.text for stop in self._stops]
        # The last stop counts, as a stop of the template may also occur inside the turn.
        stops = [at for text in texts if (at := continuation.text.rfind(text, start, end)) >= 0]
        return max(stops, default=end)

    def _check_history(
        self, continuation: Continued, place: int, past: PromptPast, opening: str, purpose: Purpose
    ) -> None:
        """Raise RefusedBridge if turns before the last one would change."""
        turn = continuation.messages[len(continuation.base.messages)]
        kept = self._history.fate_of_turns(
            continuation.whole,
            continuation.added.turn.presence,
            turn,
            continuation.added.new,
            purpose.roles,
            partial(self._rest_after, continuation, place),
        )
        if kept is EarlierTurns.ALL or self._history.is_first_turn(
            continuation.whole, past, opening
        ):
            return
        if kept is EarlierTurns.DEPENDS:
            purpose.keep(RefusalReason.DEPENDS)
        elif kept is EarlierTurns.CHANGED:
            purpose.keep(RefusalReason.HISTORY_REWRITTEN, "turns before the last one")
        elif (
            words := self._history.dropped_words(kept, continuation.whole, past, opening)
        ) and not (kept is EarlierTurns.NOT_AT_FIRST and self._history.has_answer(past, opening)):
            purpose.keep_reasoning(RefusalReason.REASONING_DROPPED, words)

    def _note_spelling(
        self, continuation: Continued, response: ReadOutput, purpose: Purpose
    ) -> None:
        """Note where the template would write the turn differently than the model did.

        The template is rendered only if the format differs; its render then decides.
        """
        own, message, turn = response.text, response.message, continuation.added.turn
        if not own or purpose.notes:
            # An earlier note already reports the deviation.
            return
        content = (message.content or "") if turn.content else ""
        reasoning = (message.reasoning_content or "") if turn.reasoning else ""
        # The turn was already rendered with sentinels; formats only strip the edges of texts.
        shown, marks = continuation.last.before + continuation.last.text, self._skeletons.marks
        for mark, part in ((marks.content, content), (marks.reasoning, reasoning)):
            shown = shown.replace(mark, part) if part and part == part.strip() else shown
        prompt = continuation.base.prompt
        if shown.endswith(own) and prompt.endswith(shown.removesuffix(own)):
            return
        turn = structs.replace(turn, content=content, reasoning=reasoning)
        number = next(iter(self._skeletons.numbers(own)), None)
        before, same, end = self._skeletons.turn_text(turn, number).rpartition(own)
        ends = tuple(stop.text for stop in self._stops)
        # The beginning of the turn may be missing, such as an empty reasoning block.
        if same and prompt.endswith(before) and (not end or end.lstrip().startswith(ends)):
            return
        base = continuation.base
        messages = [*base.messages, self._skeletons.message(turn), *continuation.added.new]
        same_turn = turn == continuation.added.turn
        text = continuation.text if same_turn else base.renders.attempt(messages, generation=True)
        if text is None:
            return
        template = text[text.rfind(base.last) + len(base.last) :].removeprefix(base.tail)
        if not template.startswith(own):
            at = common_length(template, own)
            first = max(0, at - _SHOWN_BEFORE)
            ours, theirs = (text[first : at + _SHOWN_AFTER] for text in (own, template))
            purpose.notes.append(f"kept the model's spelling: {ours!r}, not {theirs!r}")

    def _rest_after(self, continuation: Continued, place: int, calls: int) -> str:
        """Return the text after the turn's last text with this many calls before the turn."""
        numbered = bool(continuation.added.turn.calls) and self._skeletons.numbered
        base = self._skeletons.with_calls(continuation.whole, calls) if numbered else None
        if base is None:
            return continuation.text[place:]
        number = self._skeletons.first_number + calls
        turn = replace(continuation.added, number=number)
        counted = self._render_continued(base, base, turn)
        at = counted.text.find(counted.last.text, len(base.head))
        return counted.text[at + len(counted.last.text) - self._closer_length(counted) :]

    def _text_before_end(self, response: ReadOutput) -> str:
        """Return an output's text without the turn's end, of which it may have the beginning."""
        stop = response.stop_text
        whole = response.text + stop
        ends = (_shared_end(whole, known.text) for known in self._stops)
        end = max(ends, key=len, default="")
        return whole.removesuffix(end) if len(end) >= len(stop) else response.text

    def _text_to_add(
        self, rest: str, completion: Sequence[int], response: ReadOutput, purpose: Purpose
    ) -> tuple[str, str]:
        """Return the stop string that the ids end with, or "", and the text to add after them.

        `rest` is the text that the template writes after the turn's last text.
        """
        # `_stops` has the longest first: a stop may begin with a shorter one.
        ended = next((stop for stop in self._stops if rest.lstrip().startswith(stop.text)), None)
        stop, closed = "", rest
        if response.stop is None:
            written = "" if ended is None else _shared_end(response.text, ended.text)
            if written:
                return "", rest[rest.index(written) + len(written) :]
            purpose.notes.append("the output had no stop token: the turn was closed")
            return "", rest
        stop_text, last = response.stop_text, completion[response.stop]
        begins = ended is not None and stop_text != "" and ended.text.startswith(stop_text)
        if ended is not None:
            # If the end has several markers, the model may have written only the first.
            taken = stop_text if begins else ended.text
            stop, closed = stop_text, rest[rest.index(ended.text) + len(taken) :]
        if ended is None or not (begins or ended.eos == last):
            close = next(filter(rest.startswith, historic_closes(self._format)), "")
            end = ended.text if ended else close
            wanted = f"not {end!r}" if end else "which it does not write"
            purpose.keep_end(RefusalReason.END_DIFFERS, f"{stop_text!r}, {wanted}")
            if ended is None:
                # The end that the model wrote replaces the history's end.
                closed = rest.removeprefix(close)
            stop = ""
        # An engine may also return ids after the stop token. They stay in the prompt, so the
        # template must write the same text there.
        if not closed.startswith(response.behind):
            raise RefusedBridge(RefusalReason.BEHIND_STOP, repr(response.behind[:40]))
        # Only a stop of one token has an id that text after it can be encoded behind.
        alone = len(completion) == response.stop + 1 and self._text.decode([last]) == stop_text
        return stop if alone else "", closed[len(response.behind) :]

    def _encode_addition(
        self, continuation: Continued, stop: str, closer: str, behind: str
    ) -> RenderedTokens:
        """Return the tokens of the text after the previous ids, with their owners.

        `closer` closes the last part of the turn; like the turn's end, it is the template's.
        """
        # The stop string is in the ids already; it is encoded again so that the text after it is
        # encoded as in the middle of a text.
        tokens = self._text.encode(stop + closer + behind).behind(len(stop))
        stop_id = self._text.single(stop) if stop else None
        context = () if stop_id is None else (stop_id,)
        # A tokenizer that normalizes text would put other text into the prompt.
        if not self._text.gives_back(tokens, closer + behind, context):
            raise RefusedBridge(RefusalReason.NOT_ENCODED)
        return self._owned_tokens(
            continuation, tokens, len(continuation.text) - len(behind), len(stop + closer)
        )

    def _owned_tokens(
        self, continuation: Continued, tokens: EncodedText, start: int, first: int
    ) -> RenderedTokens:
        """Return the tokens after offset `start` with their owners, counted from `first`."""
        text = continuation.text[start:]
        # An attribution costs renders of its own, so the owners are learned once for each kind and
        # then matched by words.
        key = OwnedKind(
            continuation.added.turn.presence,
            tuple(message.get("role") for message in continuation.added.new),
        )
        known = self._patterns.get(key, ())
        words = varying_words(continuation.added.turn.calls, continuation.added.new)
        matching = (pattern.segments(words, text) for pattern in known)
        segments = next((fitting for fitting in matching if fitting is not None), None)
        if segments is None:
            segments = self._attribute_addition(continuation, start)
            # A template may write content in a way that no pattern knows; such text is attributed
            # each time.
            pattern = render_pattern(segments, words, text)
            if pattern is not None:
                self._patterns[key] = (pattern, *known)[:MOST_PATTERNS]
        return own_tokens(Attributed(text, segments), tokens, first)

    def _attribute_addition(self, continuation: Continued, start: int) -> tuple[Segment, ...]:
        """Attribute the text after `start` to the new messages."""
        before = len(continuation.messages) - len(continuation.added.new)
        return tuple(
            replace(
                segment,
                start=max(0, segment.start - start),
                end=segment.end - start,
                message=max(TEMPLATE, segment.message - before),
                sampled=False,
                loss=False,
            )
            for segment in self._segments(continuation)
            if segment.end > start
        )

    def _segments(self, continuation: Continued) -> tuple[Segment, ...]:
        base, text = continuation.base, continuation.text
        return attribute_render(
            base.renders, continuation.messages, self._joints, generation=True, text=text
        ).segments


def _shared_end(text: str, stop: str) -> str:
    """Return the longest prefix of a stop, up to the end of a marker, that is a text's suffix."""
    beginnings = accumulate(edge_units(stop))
    return next(
        (beginning for beginning in reversed([*beginnings]) if text.endswith(beginning)), ""
    )

"""From one turn to the next without rendering the conversation again.

Contract: the previous prompt and what the model wrote stand at the beginning of the result, id for
id. After them comes what the template writes after such a turn: the rest of its end that the
engine swallowed after the stop token, or all of it where the turn was cut; the new messages; the
next generation prompt. Where the template would change what stands before, there is no bridge,
unless it is reasoning that the caller keeps on purpose; then the result says so in its notes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import TypeAlias

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Message as Turn
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.text_alignment import edge_units
from autoparser.analysis.sources.tokenizer import EncodedText, TokenText

from .earlier_turns import EarlierTurns, History, dropped_block
from .history_renders import BridgeRefusal, Messages, Purpose, Reason, RefusedBridge, Retention
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
from .prompt_tokens import (
    GivenPrompts,
    PromptPast,
    RenderedTokens,
    TokenOwner,
    messages_of,
    own_tokens,
)
from .text_skeleton import (
    MOST_PATTERNS,
    Base,
    LastText,
    RenderPattern,
    Skeletons,
    pattern_of,
    refused_as,
    words_of,
)
from .turn_response import ReadOutput, Responses

# With how little before it a turn is bridged alike, so that a bridge renders no more than that.
#
# A prompt may offer a hundred tools and end with the result of a call, and what a template writes
# after a turn hardly ever depends on tools that are not called, or on the call before. Whether it
# does is asked once for each kind of turn, of the render with all of it: only where the same is
# bridged without, it is left out from then on.


MOST_KINDS = 256
"""Kinds of turns that are told apart at a time: the names that are called are part of a kind."""


@dataclass(frozen=True, slots=True)
class PlacedTurn:
    """What a bridge makes of a turn after one base; where it refuses, there is none."""

    written: str
    """The turn as the template writes it, and all that follows."""
    rest: str
    """What stands after the turn's last text."""
    notes: tuple[str, ...]
    """What is kept of the turn and of what stands before it."""


_Kind: TypeAlias = tuple[object, ...]


class ShorterBases:
    """Finds out what a conversation after a prompt can do without."""

    def __init__(self, skeletons: Skeletons) -> None:
        """Prepare; nothing is rendered yet."""
        self._skeletons = skeletons
        self._known: dict[_Kind, tuple[Base, tuple[str, ...]] | None] = {}
        """None: the kind was seen once, which a proof is not worth, or needs all of it."""
        self._asked: set[_Kind] = set()

    def base(self, kind: _Kind) -> tuple[Base, tuple[str, ...]] | None:
        """Return what may stand before turns of a kind, and the notes of a bridge after it."""
        return self._known.get(kind)

    def forget(self, kind: _Kind) -> None:
        """Have turns of a kind bridged after all that may matter, as one of them needs it."""
        self._known[kind] = None

    def learn(
        self,
        kind: _Kind,
        base: Base,
        named: tuple[str, ...],
        place: Callable[[Base], PlacedTurn | None],
    ) -> None:
        """Prove at its second time that a kind of turn needs less before it than `base`.

        `named` are the tools that the turn and what follows it name.
        """
        if kind in self._asked:
            return
        if kind not in self._known:
            if len(self._known) >= MOST_KINDS:
                self._known.clear()
                self._asked.clear()
            self._known[kind] = None
            return
        self._asked.add(kind)
        whole = place(base)
        for shorter in self._skeletons.shorter(base, named):
            if whole is not None and place(shorter) == whole:
                self._known[kind] = shorter, whole.notes
                return


def named_in(turn: Turn, new: Messages) -> tuple[str, ...]:
    """Return the tools that a turn and the messages after it name."""
    called = (call.name for call in turn.calls)
    return (*called, *(str(message["name"]) for message in new if "name" in message))


_BEFORE = 16
_BEHIND = 24
"""Characters that a note shows on both sides of where the model and the template part."""


@dataclass(frozen=True, slots=True)
class NewTurn:
    """What a model wrote as a turn that can be rendered, and what follows it."""

    turn: Turn
    new: Messages
    lead: str | None
    """What the model wrote before its content or its calls, where these are all of its turn."""
    number: int | None = None
    """Of its first call, where calls are counted through the conversation."""


@dataclass(frozen=True, slots=True)
class Continued:
    """The skeleton with the new messages after it."""

    base: Base
    whole: Base
    """What the prompt may end with; `base` says less where that is known to do."""
    messages: Messages
    turn: Turn
    new: Messages
    text: str
    last: LastText
    lead: str | None
    """What the model wrote before its content or its calls, where these are all of its turn."""


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
        """Prepare; the template is rendered when the first bridge is asked for."""
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
        self._given = GivenPrompts()
        self._settled: dict[tuple[object, ...], tuple[str, ...]] = {}
        """What is kept of each kind of turn, with what follows, after all that may stand before."""
        self._later: dict[tuple[object, ...], Sequence[Base]] = {}
        """By the kind of turn: what holds an answer, where reasoning stays after one alone."""
        self._kept_turns: dict[tuple[object, ...], Reason | None] = {}
        """By the kind of turn and what leads to its last text: why it does not stay as it was."""
        self._patterns: dict[tuple[object, ...], tuple[RenderPattern, ...]] = {}

    def to_next_turn(
        self,
        prompt: Sequence[int],
        completion: Sequence[int],
        new: Sequence[object],
        tools: Sequence[object] | None,
        *,
        force: bool,
    ) -> RenderedTokens | BridgeRefusal:
        """Return the next prompt, or say why there is none."""
        past = self._given.find(prompt := tuple(prompt))
        if past is None:
            self._text.check(prompt, "prev_prompt_ids")
            past = PromptPast(self._text, prompt)
        self._text.check(completion, "prev_completion_ids")
        if not new:
            return BridgeRefusal(Reason.NOTHING_NEW)
        messages = messages_of(new, "new_messages")
        roles = tuple(str(message.get("role")) for message in messages)
        if "assistant" in roles:
            return BridgeRefusal(Reason.ASSISTANT, f"new_messages[{roles.index('assistant')}]")
        counted = self._counted(messages)
        if counted is not None:
            return BridgeRefusal(Reason.DEPENDS, counted)
        response = self._responses.parse(completion, prompt, tools=tools)
        try:
            try:
                purpose = Purpose(self._retention, roles, False, [])
                bridged = self._bridged(past, completion, messages, response, tools, purpose)
            except RefusedBridge:
                if not force:
                    raise
                purpose = Purpose(self._retention, roles, True, [])
                bridged = self._bridged(past, completion, messages, response, tools, purpose)
        except RefusedBridge as refused:
            return refused.refusal
        except TemplateRenderError as error:
            return refused_as(error).refusal
        return bridged

    def _counted(self, new: Messages) -> str | None:
        """Name a new part that has its number in the whole conversation; None where none has."""
        for part in media_parts(new):
            media = self._analysis.content_parts_under(self._switches).of(part.kind)
            if media is not None and (media.first_number is not None or media.alone):
                place = f"new_messages[{part.message}].content[{part.part}]"
                return f"{place}: each {part.kind} has a number"
        return None

    def _bridged(
        self,
        past: PromptPast,
        completion: Sequence[int],
        new: Messages,
        response: ReadOutput,
        tools: Sequence[object] | None,
        purpose: Purpose,
    ) -> RenderedTokens:
        prompt = past.ids
        end = self._responses.end_of(prompt)
        bases: Sequence[Base] = self._skeletons.bases(tools, self._switches, end.tail)
        if response.message.tool_calls and self._skeletons.numbered:
            bases = self._numbered(bases, past)
        try:
            bases = self._answered_before(bases, past, end.opening, response, new, purpose.roles)
            found, place = self._placed(bases, response, new, purpose)
        except RefusedBridge:
            if len(bases) == 1 or not self._history.begins(bases[0], past, end.opening):
                raise
            # No call stands before the turn: then it need not stay after one.
            purpose.notes.clear()
            found, place = self._placed(bases[:1], response, new, purpose)
        self._check_history(found, place, past, end.opening, purpose)
        self._note_spelling(found, response, purpose)
        if response.stop is None and not found.last.ends:
            raise RefusedBridge(Reason.END_UNKNOWN, str(found.turn.presence))
        stop, behind = self._behind(found.text[place:], completion, response, purpose)
        added = self._tail(found, stop, behind)
        until = len(completion) if response.stop is None else response.stop + 1
        rest = len(completion) - until
        ids = prompt + (*completion, *added.token_ids)  # noqa: RUF005 - copied once, not twice
        self._given.keep(past.followed_by(ids, len(completion), behind))
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

    def _numbered(self, bases: Sequence[Base], past: PromptPast) -> Sequence[Base]:
        """Return bases with as many calls as the prompt holds: the template counts them."""
        numbers = self._skeletons.numbers(past.text)
        # A prompt may show a call as an example, before the conversation begins.
        shown = [] if bases[0].counted else self._skeletons.numbers(bases[0].prompt)
        calls = 0 if numbers == shown else numbers[-1] + 1 - self._skeletons.first_number
        found = (self._skeletons.with_calls(base, calls) for base in bases if calls <= len(numbers))
        counted = [each for each in found if each is not None]
        if not counted:
            raise RefusedBridge(Reason.DEPENDS, "the number of the call")
        return counted

    def _answered_before(
        self,
        bases: Sequence[Base],
        past: PromptPast,
        opening: str,
        response: ReadOutput,
        new: Messages,
        roles: tuple[str, ...],
    ) -> Sequence[Base]:
        """Return bases that hold an answer, where the prompt does and reasoning stays for that.

        What becomes of it after bases that hold none is asked once for each kind of turn.
        """
        message = response.message
        if not message.reasoning_content:
            return bases
        key = (bool(message.content), bool(message.tool_calls), roles, bases[-1].prompt)
        later = self._later.get(key)
        if later is None:
            turn = self._skeletons.message(self._skeletons.turn(message, new))
            made = [self._skeletons.behind_answer(base) for base in bases]
            stays = any(
                self._history.keeps_later(base, behind, turn, new)
                for base, behind in zip(bases, made, strict=True)
            )
            later = self._later[key] = [each for each in made if each is not None and stays]
        return later if later and self._history.answers(past, opening) else bases

    def _placed(
        self, bases: Sequence[Base], response: ReadOutput, new: Messages, purpose: Purpose
    ) -> tuple[Continued, int]:
        """Put the turn and what is new after what the prompt may end with.

        Where that cannot be told, the turn has to stay after all of it; which is asked once for
        each kind of turn.
        """
        message = response.message
        kind = (bool(message.reasoning_content), bool(message.content), len(message.tool_calls))
        number = next(iter(self._skeletons.numbers(response.text)), None)
        turn = NewTurn(self._skeletons.turn(message, new), new, self._lead(response), number)
        key = (
            (*kind, turn.lead, number),
            purpose.roles,
            purpose.force,
            tuple(base.prompt for base in bases),
        )
        if key not in self._settled:
            for base in bases[:-1]:
                self._place(self._continued(base, base, turn), purpose)
            self._settled[key] = tuple(purpose.notes)
        purpose.notes[:] = self._settled[key]
        return self._placed_after(bases[-1], turn, purpose)

    def _placed_after(self, base: Base, turn: NewTurn, purpose: Purpose) -> tuple[Continued, int]:
        """Put the turn and what is new after a base, or after less where that is the same."""
        named = named_in(turn.turn, turn.new)
        kind: tuple[object, ...] = (base.prompt, turn.turn.presence, turn.lead, turn.number)
        kind = (*kind, named, purpose.roles, purpose.force)
        shorter = self._shorter.base(kind)
        if shorter is not None:
            found = self._attempted(shorter[0], base, turn, purpose)
            if found is not None and found[2] == shorter[1]:
                purpose.notes += found[2]
                return found[:2]
            self._shorter.forget(kind)

        def placed(other: Base) -> PlacedTurn | None:
            found = self._attempted(other, base, turn, purpose)
            if found is None:
                return None
            text, place = found[0].text, found[1]
            written = text[text.rfind(other.last) + len(other.last) + len(other.tail) :]
            return PlacedTurn(written, text[place:], found[2])

        self._shorter.learn(kind, base, named, placed)
        continued = self._continued(base, base, turn)
        return continued, self._place(continued, purpose)

    def _attempted(
        self, base: Base, whole: Base, turn: NewTurn, purpose: Purpose
    ) -> tuple[Continued, int, tuple[str, ...]] | None:
        """Put the turn after a base; also return the notes of that. None where it is refused."""
        alone = Purpose(purpose.retention, purpose.roles, purpose.force, [])
        try:
            found = self._continued(base, whole, turn)
            return found, self._place(found, alone), tuple(alone.notes)
        except (RefusedBridge, TemplateRenderError):
            return None

    def _continued(self, base: Base, whole: Base, new: NewTurn) -> Continued:
        turn = new.turn
        messages = [*base.messages, self._skeletons.message(turn), *new.new]
        text = base.renders.text(messages, generation=True)
        if not turn.calls and any(message.get("role") == "tool" for message in new.new):
            raise RefusedBridge(Reason.NO_CALL)
        last = self._skeletons.last_text(turn, new.number)
        return Continued(base, whole, messages, turn, new.new, text, last, new.lead)

    def _place(self, found: Continued, purpose: Purpose) -> int:
        """Say where in the text the turn's last text ends, if the turn stands as it was written."""
        base, text = found.base, found.text
        start = text.rfind(base.last) + len(base.last)
        first = len(base.prompt) - len(base.tail)
        own = base.before[first:]
        # Reasoning that is dropped before the turn is a matter of what the prompt really holds.
        stays = text.startswith(base.prompt[:first]) and start == first
        plain = text[:start] == base.unthought
        if not (stays or plain) and self._bare(text[:start]) != self._bare(base.prompt[:first]):
            purpose.keep(Reason.HISTORY_REWRITTEN, "what stands before the turn")
        if not text.startswith(own, start):
            purpose.keep(Reason.HISTORY_REWRITTEN, "the end of the message before the turn")
        at = text.find(found.last.text, start)
        if at < 0:
            purpose.keep(Reason.HISTORY_REWRITTEN, "the turn that the model wrote")
            return self._end_of_turn(found)
        place = at + len(found.last.text) - self._closing(found)
        thought = self._skeletons.marks.reasoning
        if found.turn.reasoning and thought not in text[start:place]:
            purpose.keep_reasoning(Reason.REASONING_DROPPED, "of the turn that the model wrote")
        elif not text.startswith(base.tail, start):
            purpose.keep_reasoning(Reason.PROMPT_REWRITTEN, repr(base.tail[len(own) :]))
        else:
            self._check_turn(found, text[start + len(base.tail) : at], place, purpose)
        return place

    def _closing(self, found: Continued) -> int:
        """Return how many characters of the turn's last text end it, as calls' own closer may."""
        stops = self._responses.stops.after_calls if found.turn.calls else ()
        return max(
            (len(stop.text) for stop in stops if found.last.text.endswith(stop.text)), default=0
        )

    def _lead(self, response: ReadOutput) -> str | None:
        """Return what stands before the content or the calls of a turn that is these alone.

        Empty for a turn of nothing; None where it is not known.
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

    def _bare(self, text: str) -> str:
        """Return a text without its reasoning and the marks of it."""
        return self._history.bare(text.replace(self._skeletons.marks.reasoning, ""))

    def _check_turn(self, found: Continued, lead: str, place: int, purpose: Purpose) -> None:
        """Raise where the turn in the history is not as the template wrote it as the last one.

        `lead` is what stands between the prompt and the turn's last text.
        """
        written = found.last.before
        if lead == found.lead:
            # An empty reasoning block that the last turn would have, and the model left out.
            return
        if written.endswith(lead) and found.base.prompt.endswith(written.removesuffix(lead)):
            return
        key = (found.turn.presence, len(found.turn.calls), lead, found.base.prompt, purpose.roles)
        if key not in self._kept_turns:
            self._kept_turns[key] = self._changed(found, found.text[:place])
        match self._kept_turns[key]:
            case Reason.HISTORY_REWRITTEN as reason:
                purpose.keep(reason, "the turn that the model wrote")
            case Reason.REASONING_DROPPED as reason:
                words = "of the turn that the model wrote"
                is_empty = not found.turn.reasoning
                purpose.keep_reasoning(reason, dropped_block(words, is_empty=is_empty))
            case _:
                pass

    def _changed(self, found: Continued, text: str) -> Reason | None:
        """Say what is otherwise where the turn is the last one; `text` is up to its end."""
        alone = found.base.renders.attempt(found.messages[: -len(found.new)])
        if alone is None or alone.startswith(text):
            return None
        if self._bare(alone).startswith(self._bare(text)):
            return Reason.REASONING_DROPPED
        return Reason.HISTORY_REWRITTEN

    def _end_of_turn(self, found: Continued) -> int:
        """Say where the end of a turn begins that the template wrote otherwise than the model."""
        turn = len(found.base.messages)
        whole = attribute_render(
            found.base.renders, found.messages, self._joints, generation=True, text=found.text
        )
        own = [each for each in whole.segments if each.message == turn]
        if not own:
            raise RefusedBridge(Reason.HISTORY_REWRITTEN, "the turn that the model wrote")
        start, end = own[0].start, own[-1].end
        texts = [stop.text for stop in self._stops]
        stops = [at for text in texts if (at := found.text.rfind(text, start, end)) >= 0]
        return max(stops, default=end)

    def _check_history(
        self,
        found: Continued,
        place: int,
        past: PromptPast,
        opening: str,
        purpose: Purpose,
    ) -> None:
        """Raise where turns before the last one would change."""
        turn = found.messages[len(found.base.messages)]
        kept = self._history.kept(
            found.whole,
            found.turn.presence,
            turn,
            found.new,
            purpose.roles,
            partial(self._rest, found, place),
        )
        if kept is EarlierTurns.ALL or self._history.begins(found.whole, past, opening):
            return
        if kept is EarlierTurns.DEPENDS:
            purpose.keep(Reason.DEPENDS)
        elif kept is EarlierTurns.CHANGED:
            purpose.keep(Reason.HISTORY_REWRITTEN, "turns before the last one")
        elif (words := self._history.dropped(kept, found.whole, past, opening)) and not (
            kept is EarlierTurns.NOT_AT_FIRST and self._history.answers(past, opening)
        ):
            purpose.keep_reasoning(Reason.REASONING_DROPPED, words)

    def _note_spelling(self, found: Continued, response: ReadOutput, purpose: Purpose) -> None:
        """Note where the template would spell the turn otherwise than the model did.

        Only where the format says so the template is rendered, and that is the judge.
        """
        own, message, turn = response.text, response.message, found.turn
        if not own or purpose.notes:
            # Each note up to here tells of what is kept otherwise.
            return
        content = (message.content or "") if turn.content else ""
        reasoning = (message.reasoning_content or "") if turn.reasoning else ""
        # It is written already with other words, which formats cut at their edges alone.
        shown, marks = found.last.before + found.last.text, self._skeletons.marks
        for mark, said in ((marks.content, content), (marks.reasoning, reasoning)):
            shown = shown.replace(mark, said) if said and said == said.strip() else shown
        prompt = found.base.prompt
        if shown.endswith(own) and prompt.endswith(shown.removesuffix(own)):
            return
        turn = replace(turn, content=content, reasoning=reasoning)
        number = next(iter(self._skeletons.numbers(own)), None)
        before, same, end = self._skeletons.written(turn, number).rpartition(own)
        ends = tuple(each.text for each in self._stops)
        # What the turn begins with may be missing, such as an empty block.
        if same and prompt.endswith(before) and (not end or end.lstrip().startswith(ends)):
            return
        base = found.base
        messages = [*base.messages, self._skeletons.message(turn), *found.new]
        same_turn = turn == found.turn
        text = found.text if same_turn else base.renders.attempt(messages, generation=True)
        if text is None:
            return
        template = text[text.rfind(base.last) + len(base.last) :].removeprefix(base.tail)
        if not template.startswith(own):
            at = common_length(template, own)
            first = max(0, at - _BEFORE)
            ours, theirs = (each[first : at + _BEHIND] for each in (own, template))
            purpose.notes.append(f"kept the model's spelling: {ours!r}, not {theirs!r}")

    def _rest(self, found: Continued, place: int, calls: int) -> str:
        """Return what follows the turn's last text where so many calls stand before the turn."""
        numbered = bool(found.turn.calls) and self._skeletons.numbered
        base = self._skeletons.with_calls(found.whole, calls) if numbered else None
        if base is None:
            return found.text[place:]
        number = self._skeletons.first_number + calls
        turn = NewTurn(found.turn, found.new, found.lead, number)
        counted = self._continued(base, base, turn)
        at = counted.text.find(counted.last.text, len(base.head))
        return counted.text[at + len(counted.last.text) - self._closing(counted) :]

    def _behind(
        self,
        rest: str,
        completion: Sequence[int],
        response: ReadOutput,
        purpose: Purpose,
    ) -> tuple[str, str]:
        """Return the stop that the ids end with, if they do, and what is to be written after them.

        `rest` is what the template writes after the turn's last text.
        """
        ended = next((each for each in self._stops if rest.lstrip().startswith(each.text)), None)
        stop, closed = "", rest
        if response.stop is None:
            written = "" if ended is None else _shared_end(response.text, ended.text)
            if written:
                return "", rest[rest.index(written) + len(written) :]
            purpose.notes.append("the output had no stop token: the turn was closed")
            return "", rest
        said = self._text.decode([completion[response.stop]])
        begins = ended is not None and said != "" and ended.text.startswith(said)
        if ended is not None:
            # Of an end of several markers a model may have written the first alone.
            taken = said if begins else ended.text
            stop, closed = said, rest[rest.index(ended.text) + len(taken) :]
        if ended is None or not (begins or ended.eos == completion[response.stop]):
            close = next(filter(rest.startswith, historic_closes(self._format)), "")
            end = ended.text if ended else close
            wanted = f"not {end!r}" if end else "which it does not write"
            purpose.keep_end(Reason.END_DIFFERS, f"{said!r}, {wanted}")
            if ended is None:
                # The end that the model wrote stands for that of the history.
                closed = rest.removeprefix(close)
            stop = ""
        extra = completion[response.stop + 1 :]
        if not extra:
            return stop, closed
        said = self._text.decode(extra, completion[: response.stop + 1])
        if not closed.startswith(said):
            raise RefusedBridge(Reason.BEHIND_STOP, repr(said[:40]))
        return "", closed[len(said) :]

    def _tail(self, found: Continued, stop: str, behind: str) -> RenderedTokens:
        """Return the tokens of what is written after the previous ids, and whose they are."""
        # The stop is there already; it stands here so that the text after it is encoded as it is
        # in the middle of a text.
        tokens = self._text.encode(stop + behind).behind(len(stop))
        stop_id = self._text.single(stop) if stop else None
        context = () if stop_id is None else (stop_id,)
        if not self._text.gives_back(tokens, behind, context):
            raise RefusedBridge(Reason.NOT_ENCODED)
        return self._owned(found, tokens, len(found.text) - len(behind), len(stop))

    def _owned(
        self, found: Continued, tokens: EncodedText, start: int, first: int
    ) -> RenderedTokens:
        """Return tokens of the text after `start` with their owners; they count from `first`."""
        text = found.text[start:]
        key = (found.turn.presence, tuple(message.get("role") for message in found.new))
        known = self._patterns.get(key, ())
        words = words_of(found.turn.calls, found.new)
        matching = (pattern.segments(words, text) for pattern in known)
        segments = next((each for each in matching if each is not None), None)
        if segments is None:
            segments = self._attributed(found, start)
            pattern = pattern_of(segments, words, text)
            if pattern is not None:
                self._patterns[key] = (pattern, *known)[:MOST_PATTERNS]
        return own_tokens(Attributed(text, segments, marked=False), tokens, first)

    def _attributed(self, found: Continued, start: int) -> tuple[Segment, ...]:
        """Attribute what stands after `start`, as messages of the new ones."""
        whole = attribute_render(
            found.base.renders, found.messages, self._joints, generation=True, text=found.text
        )
        before = len(found.messages) - len(found.new)
        return tuple(
            replace(
                segment,
                start=max(0, segment.start - start),
                end=segment.end - start,
                message=max(TEMPLATE, segment.message - before),
                sampled=False,
                loss=False,
            )
            for segment in whole.segments
            if segment.end > start
        )


def _shared_end(text: str, stop: str) -> str:
    """Return the longest beginning of a stop, up to the end of a marker, that a text ends with."""
    beginnings = accumulate(edge_units(stop))
    return next((each for each in reversed([*beginnings]) if text.endswith(each)), "")

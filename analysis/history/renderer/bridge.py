"""From one turn to the next without rendering the conversation again.

Contract: the previous prompt and what the model wrote stand at the beginning of the result, id for
id. After them comes what the template writes after such a turn: the rest of its end that the
engine swallowed after the stop token, or all of it where the turn was cut; the new messages; the
next generation prompt. Where the template would change what stands before, there is no bridge,
unless it is reasoning that the caller keeps on purpose; then the result says so in its notes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.alignment import edge_units
from autoparser.analysis.core.conversation import Message as Turn
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.format import RefusedMessageError
from autoparser.analysis.loading.tokens import Encoded, TokenText

from .asked import messages_of
from .attribution import Attributed, Segment, attribute
from .earlier_turns import EarlierTurns, History
from .pattern import MOST_PATTERNS, RenderPattern, pattern_of
from .prompt_tokens import RenderedTokens, own_tokens
from .renders import Messages
from .response import ReadOutput, Responses
from .retention import BridgeRefusal, Reason, RefusedBridge, Retention
from .shares import TEMPLATE, Joints
from .skeleton import Base, Skeletons, refused_as

__all__ = ["Bridge", "BridgeRefusal"]


@dataclass(frozen=True, slots=True)
class Continued:
    """The skeleton with the new messages after it."""

    base: Base
    messages: Messages
    turn: Turn
    new: Messages
    text: str
    last: str
    """The last text of the turn, as it is written."""
    ends: bool
    """Whether the turn's end stands right after it."""


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
        self._history = History(self._format, self._skeletons, tokens)
        self._stops = sorted(responses.stops.all, key=lambda stop: len(stop.text), reverse=True)
        # What a bridge has given comes back as the next prompt, and is known to be ids.
        self._given: tuple[int, ...] = ()
        self._patterns: dict[tuple[object, ...], tuple[RenderPattern, ...]] = {}

    def to_next_turn(
        self,
        prompt: Sequence[int],
        completion: Sequence[int],
        new: Sequence[object],
        tools: Sequence[object] | None,
    ) -> RenderedTokens | BridgeRefusal:
        """Return the next prompt, or say why there is none."""
        prompt = tuple(prompt)
        if prompt != self._given:
            self._text.check(prompt, "prev_prompt_ids")
        self._text.check(completion, "prev_completion_ids")
        if not new:
            return BridgeRefusal(Reason.NOTHING_NEW)
        messages = messages_of(new, "new_messages")
        roles = tuple(str(message.get("role")) for message in messages)
        if "assistant" in roles:
            return BridgeRefusal(Reason.ASSISTANT, f"new_messages[{roles.index('assistant')}]")
        response = self._responses.parse(completion, prompt, tools=tools)
        try:
            bridged = self._bridged(prompt, completion, messages, roles, response, tools)
        except RefusedBridge as refused:
            return refused.refusal
        except TemplateRenderError as error:
            return refused_as(error).refusal
        self._given = bridged.token_ids
        return bridged

    def _bridged(
        self,
        prompt: Sequence[int],
        completion: Sequence[int],
        new: Messages,
        roles: tuple[str, ...],
        response: ReadOutput,
        tools: Sequence[object] | None,
    ) -> RenderedTokens:
        end = self._responses.end_of(prompt)
        notes: list[str] = []
        # Where it cannot be told what the prompt ends with, the turn has to stay after all of it.
        placed = [
            (found, self._place(found, roles, notes))
            for base in self._skeletons.bases(tools, self._switches, end.tail)
            for found in (self._continued(base, response, new),)
        ]
        found, place = placed[-1]
        self._check_history(found, place, roles, prompt, end.opening, notes)
        if response.stop is None and not found.ends:
            raise RefusedBridge(Reason.END_UNKNOWN, str(found.turn.presence))
        stop, behind = self._behind(found.text[place:], completion, response, notes)
        added = self._tail(found, stop, behind)
        until = len(completion) if response.stop is None else response.stop + 1
        length = len(prompt) + len(completion)
        written = (False,) * len(prompt) + (True,) * until + (False,) * (len(completion) - until)
        sampled = written + added.sampled
        return RenderedTokens(
            (*prompt, *completion, *added.token_ids),
            (TEMPLATE,) * length + added.message_indices,
            (False,) * length + added.is_content,
            sampled,
            sampled,
            tuple(dict.fromkeys(notes)),
        )

    def _continued(self, base: Base, response: ReadOutput, new: Messages) -> Continued:
        turn = self._skeletons.turn(response.message, new)
        messages = [*base.messages, self._skeletons.message(turn), *new]
        text = base.renders.text(messages, generation=True)
        if not turn.calls and any(message.get("role") == "tool" for message in new):
            raise RefusedBridge(Reason.NO_CALL)
        try:
            last, known = self._skeletons.last_text(turn)
        except RefusedMessageError as error:
            raise RefusedBridge(Reason.REFUSED, str(error)) from error
        return Continued(base, messages, turn, new, text, last, known)

    def _place(self, found: Continued, roles: tuple[str, ...], notes: list[str]) -> int:
        """Say where in the text the turn's last text ends, if the turn stands as it was written."""
        base, text = found.base, found.text
        start = text.rfind(base.last) + len(base.last)
        first = len(base.prompt) - len(base.tail)
        own = base.before[first:]
        # Reasoning that is dropped before the turn is a matter of what the prompt really holds.
        stays = text.startswith(base.prompt[:first]) and start == first
        if not stays and self._bare(text[:start]) != self._bare(base.prompt[:first]):
            raise RefusedBridge(Reason.HISTORY_REWRITTEN, "what stands before the turn")
        if not text.startswith(own, start):
            raise RefusedBridge(Reason.HISTORY_REWRITTEN, "the end of the message before the turn")
        at = text.find(found.last, start)
        if at < 0:
            raise RefusedBridge(Reason.HISTORY_REWRITTEN, "the turn that the model wrote")
        place = at + len(found.last)
        thought = self._skeletons.marks.reasoning
        if found.turn.reasoning and thought not in text[start:place]:
            self._dropped(
                Reason.REASONING_DROPPED, "of the turn that the model wrote", roles, notes
            )
        elif not text.startswith(base.tail, start):
            self._dropped(Reason.PROMPT_REWRITTEN, repr(base.tail[len(own) :]), roles, notes)
        else:
            self._check_turn(found, text[start + len(base.tail) : at], place, roles, notes)
        return place

    def _bare(self, text: str) -> str:
        """Return a text without its reasoning and the marks of it."""
        return self._history.bare(text.replace(self._skeletons.marks.reasoning, ""))

    def _check_turn(
        self, found: Continued, lead: str, place: int, roles: tuple[str, ...], notes: list[str]
    ) -> None:
        """Raise where the turn in the history is not as the template wrote it as the last one.

        `lead` is what stands between the prompt and the turn's last text.
        """
        written = self._written(found.turn).partition(found.last)[0]
        if written.endswith(lead) and found.base.prompt.endswith(written.removesuffix(lead)):
            return
        text = found.text[:place]
        alone = found.base.renders.attempt(found.messages[: -len(found.new)])
        if alone is None or alone.startswith(text):
            return
        if not self._bare(alone).startswith(self._bare(text)):
            raise RefusedBridge(Reason.HISTORY_REWRITTEN, "the turn that the model wrote")
        self._dropped(Reason.REASONING_DROPPED, "of the turn that the model wrote", roles, notes)

    def _written(self, turn: Turn) -> str:
        try:
            return self._format.write(turn)
        except RefusedMessageError:
            return ""

    def _dropped(
        self, reason: Reason, detail: str, roles: tuple[str, ...], notes: list[str]
    ) -> None:
        if not self._retention.keeps(roles):
            raise RefusedBridge(reason, detail)
        notes.append(f"kept, although {reason.value}: {detail}")

    def _check_history(
        self,
        found: Continued,
        place: int,
        roles: tuple[str, ...],
        prompt: Sequence[int],
        opening: str,
        notes: list[str],
    ) -> None:
        """Raise where turns before the last one would change."""
        turn = found.messages[len(found.base.messages)]
        kept = self._history.kept(
            found.base, found.turn.presence, turn, found.new, roles, found.text[place:]
        )
        if kept is EarlierTurns.ALL or self._history.begins(found.base, prompt, opening):
            return
        if kept is EarlierTurns.DEPENDS:
            raise RefusedBridge(Reason.DEPENDS)
        if kept is EarlierTurns.CHANGED:
            raise RefusedBridge(Reason.HISTORY_REWRITTEN, "turns before the last one")
        if self._history.reasons(prompt, opening, blank=kept is EarlierTurns.NOT_BLOCKS):
            self._dropped(Reason.REASONING_DROPPED, "of an earlier turn", roles, notes)

    def _behind(
        self,
        rest: str,
        completion: Sequence[int],
        response: ReadOutput,
        notes: list[str],
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
            notes.append("the output had no stop token: the turn was closed")
            return "", rest
        said = self._text.decode([completion[response.stop]])
        if ended is not None:
            stop, closed = said, rest[rest.index(ended.text) + len(ended.text) :]
        if ended is None or ended.eos != completion[response.stop]:
            detail = (
                f"{said!r}, not {ended.text!r}" if ended else f"{said!r}, which it does not write"
            )
            if self._retention is not Retention.ALL:
                raise RefusedBridge(Reason.END_DIFFERS, detail)
            notes.append(f"kept, although {Reason.END_DIFFERS.value}: {detail}")
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
        return self._owned(found, tokens, len(found.text) - len(behind))

    def _owned(self, found: Continued, tokens: Encoded, start: int) -> RenderedTokens:
        text = found.text[start:]
        key = (found.turn.presence, tuple(message.get("role") for message in found.new))
        known = self._patterns.get(key, ())
        matching = (pattern.segments(found.new, text) for pattern in known)
        segments = next((each for each in matching if each is not None), None)
        if segments is None:
            segments = self._attributed(found, start)
            pattern = pattern_of(segments, found.new, text)
            if pattern is not None:
                self._patterns[key] = (pattern, *known)[:MOST_PATTERNS]
        return own_tokens(Attributed(text, segments, marked=False), tokens)

    def _attributed(self, found: Continued, start: int) -> tuple[Segment, ...]:
        """Attribute what stands after `start`, as messages of the new ones."""
        whole = attribute(
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

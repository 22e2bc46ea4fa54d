"""From one turn to the next without rendering the conversation again.

Contract: the previous prompt and what the model wrote stand at the beginning of the result, id for
id. Behind them comes what the template writes behind such a turn: the rest of its end that the
engine swallowed after the stop token, or all of it where the turn was cut; the new messages; the
next generation prompt. Where the template would change what stands before, there is no bridge,
unless it is reasoning that the caller keeps on purpose; then the result says so in its notes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.conversation import Message as Turn
from autoparser.analysis.errors import TemplateRenderError
from autoparser.analysis.format import RefusedMessageError

from .attribution import Attributed, attribute
from .history import History, Kept
from .renders import Messages, prepared
from .response import Response, Responses
from .retention import BridgeRefusal, Reason, RefusedBridge, Retention
from .shares import TEMPLATE, Joints
from .skeleton import Base, Skeletons, refused_as
from .tokens import RenderedTokens, own_tokens
from .vocabulary import Token, Vocabulary

__all__ = ["Bridge", "BridgeRefusal"]


@dataclass(frozen=True, slots=True)
class Continued:
    """The skeleton with the new messages behind it."""

    base: Base
    messages: Messages
    turn: Turn
    new: Messages
    text: str
    last: str
    """The last text of the turn, as it is written."""


class Bridge:
    """Bridges the turns of one template."""

    def __init__(
        self,
        analysis: Analysis,
        vocabulary: Vocabulary,
        responses: Responses,
        joints: Joints,
        switches: dict[str, object],
        retention: Retention,
    ) -> None:
        """Prepare; the template is rendered when the first bridge is asked for."""
        self._analysis = analysis
        self._vocabulary = vocabulary
        self._responses = responses
        self._joints = joints
        self._switches = switches
        self._retention = retention
        self._skeletons = Skeletons(analysis)
        self._history = History(analysis, self._skeletons, vocabulary)
        eos = str(analysis.template.special_tokens.get("eos_token") or "")
        stops = {*analysis.format.stop_strings, eos} - {""}
        self._stops = sorted(stops, key=len, reverse=True)

    def to_next_turn(
        self,
        prompt: Sequence[int],
        completion: Sequence[int],
        new: Sequence[object],
        tools: Sequence[object] | None,
    ) -> RenderedTokens | BridgeRefusal:
        """Give the next prompt, or say why there is none."""
        self._vocabulary.check(prompt, "prev_prompt_ids")
        self._vocabulary.check(completion, "prev_completion_ids")
        if not new:
            return BridgeRefusal(Reason.NOTHING_NEW)
        messages = prepared(new)
        roles = tuple(str(message.get("role")) for message in messages)
        if "assistant" in roles:
            return BridgeRefusal(Reason.ASSISTANT, f"new_messages[{roles.index('assistant')}]")
        response = self._responses.parse(completion, prompt, tools=tools)
        try:
            return self._bridged(prompt, completion, messages, roles, response, tools)
        except RefusedBridge as refused:
            return refused.refusal
        except TemplateRenderError as error:
            return refused_as(error).refusal

    def _bridged(
        self,
        prompt: Sequence[int],
        completion: Sequence[int],
        new: Messages,
        roles: tuple[str, ...],
        response: Response,
        tools: Sequence[object] | None,
    ) -> RenderedTokens:
        base = self._skeletons.base(tools, self._switches)
        found = self._continued(base, response, new)
        notes: list[str] = []
        place = self._place(found, roles, notes)
        self._check_history(found, roles, prompt, notes)
        stop, behind = self._behind(found.text[place:], completion, response, roles, notes)
        tail = self._tail(found, stop, behind)
        until = len(completion) if response.stop is None else response.stop + 1
        length = len(prompt) + len(completion)
        return RenderedTokens(
            (*prompt, *completion, *tail.token_ids),
            (TEMPLATE,) * length + tail.message_indices,
            (False,) * length + tail.is_content,
            (False,) * len(prompt)
            + (True,) * until
            + (False,) * (len(completion) - until)
            + tail.sampled,
            tuple(notes),
        )

    def _continued(self, base: Base, response: Response, new: Messages) -> Continued:
        turn = self._skeletons.turn(response.message, new)
        messages = [*base.messages, self._skeletons.message(turn), *new]
        text = base.renders.text(messages, generation=True)
        try:
            last, _ = self._skeletons.end(turn)
        except RefusedMessageError as error:
            raise RefusedBridge(Reason.REFUSED, str(error)) from error
        return Continued(base, messages, turn, new, text, last)

    def _place(self, found: Continued, roles: tuple[str, ...], notes: list[str]) -> int:
        """Say where in the text the turn's last text ends, if the turn stands as it was written."""
        base, text = found.base, found.text
        if not text.startswith(base.before):
            raise RefusedBridge(Reason.HISTORY_REWRITTEN, "what stands before the turn")
        at = text.find(found.last, len(base.before))
        if at < 0:
            raise RefusedBridge(Reason.HISTORY_REWRITTEN, "the turn that the model wrote")
        place = at + len(found.last)
        thought = self._skeletons.marks.reasoning
        if found.turn.reasoning and thought not in text[len(base.before) : place]:
            self._dropped(
                Reason.REASONING_DROPPED, "of the turn that the model wrote", roles, notes
            )
        elif not text.startswith(base.prompt):
            written = base.prompt[len(base.before) :]
            self._dropped(Reason.PROMPT_REWRITTEN, repr(written), roles, notes)
        else:
            self._check_turn(found, place)
        return place

    def _check_turn(self, found: Continued, place: int) -> None:
        """Raise where the turn in the history is not as the template wrote it as the last one."""
        text = found.text[:place]
        if text == found.base.before + self._written(found.turn)[: place - len(found.base.before)]:
            return
        alone = found.base.renders.attempt(found.messages[: -len(found.new)])
        if alone is not None and not alone.startswith(text):
            raise RefusedBridge(Reason.HISTORY_REWRITTEN, "the turn that the model wrote")

    def _written(self, turn: Turn) -> str:
        try:
            return self._analysis.format.write(turn)
        except RefusedMessageError:
            return ""

    def _dropped(
        self, reason: Reason, detail: str, roles: tuple[str, ...], notes: list[str]
    ) -> None:
        if not self._retention.keeps(roles):
            raise RefusedBridge(reason, detail)
        notes.append(f"kept, although {reason.value}: {detail}")

    def _check_history(
        self, found: Continued, roles: tuple[str, ...], prompt: Sequence[int], notes: list[str]
    ) -> None:
        """Raise where turns before the last one would change."""
        turn = found.messages[len(found.base.messages)]
        kept = self._history.kept(found.base, found.turn.presence, turn, found.new, roles)
        if kept is Kept.CHANGED:
            raise RefusedBridge(Reason.HISTORY_REWRITTEN, "turns before the last one")
        if kept is Kept.NOT_REASONING and self._history.reasons(prompt):
            self._dropped(Reason.REASONING_DROPPED, "of an earlier turn", roles, notes)

    def _behind(
        self,
        rest: str,
        completion: Sequence[int],
        response: Response,
        roles: tuple[str, ...],
        notes: list[str],
    ) -> tuple[str, str]:
        """Give the stop that the ids end with, if they do, and what is to be written behind them.

        `rest` is what the template writes behind the turn's last text.
        """
        stop = next((stop for stop in self._stops if rest.lstrip().startswith(stop)), "")
        closed = rest[rest.index(stop) + len(stop) :] if stop else rest
        if response.stop is None:
            if stop and response.text.endswith(stop):
                return "", closed
            notes.append("the output had no stop token: the turn was closed")
            return "", rest
        if self._vocabulary.single(stop) != completion[response.stop]:
            said = self._vocabulary.decode([completion[response.stop]])
            detail = f"{said!r}, not {stop!r}" if stop else f"{said!r}, which it does not write"
            if self._retention is not Retention.ALL:
                raise RefusedBridge(Reason.END_DIFFERS, detail)
            notes.append(f"kept, although {Reason.END_DIFFERS.value}: {detail}")
            stop = ""
        extra = completion[response.stop + 1 :]
        if not extra:
            return stop, closed
        said = self._vocabulary.decode(extra, completion[: response.stop + 1])
        if not closed.startswith(said):
            raise RefusedBridge(Reason.BEHIND_STOP, repr(said[:40]))
        return "", closed[len(said) :]

    def _tail(self, found: Continued, stop: str, behind: str) -> RenderedTokens:
        """Give the tokens of what is written behind the previous ids, and whose they are."""
        tokens = self._vocabulary.encode(stop + behind)
        if stop:
            # The stop is there already; it stands here so that the text behind it is encoded
            # as it is in the middle of a text.
            tokens = [
                token._replace(start=token.start - len(stop), end=token.end - len(stop))
                for token in tokens
                if token.end > len(stop)
            ]
            stop_id = self._vocabulary.single(stop)
        else:
            stop_id = None
        context = () if stop_id is None else (stop_id,)
        if self._vocabulary.decode([token.id for token in tokens], context) != behind:
            raise RefusedBridge(Reason.NOT_ENCODED)
        return self._owned(found, tokens, len(found.text) - len(behind))

    def _owned(self, found: Continued, tokens: Sequence[Token], start: int) -> RenderedTokens:
        whole = attribute(
            found.base.renders, found.messages, self._joints, generation=True, text=found.text
        )
        before = len(found.messages) - len(found.new)
        segments = tuple(
            replace(
                segment,
                start=segment.start - start,
                end=segment.end - start,
                message=max(TEMPLATE, segment.message - before),
                sampled=False,
            )
            for segment in whole.segments
            if segment.end > start
        )
        return own_tokens(Attributed(found.text[start:], segments, marked=False), tokens)

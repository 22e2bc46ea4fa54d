"""Check a format against its template: both must write each message of a battery byte for byte.

Every message has exactly one outcome: it is written as the template renders it, the template
refuses it, crashes on it, it could not be rendered, or the format is wrong about it, crash or not.
A crash is not an answer, so the messages that agents send fail if the template crashes on them,
even if the format predicts it. For example, of a template that lowers content,

    the format writes       <|assistant|>Here is what I found.<|end|>
    the template renders    <|assistant|>here is what i found.<|end|>

so the check fails on `content`, and names the text that changed: `'Here is what I found.' in the
assistant's message is written as 'here is what i found.'`
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import structs
from msgspec.structs import replace

from autoparser.analysis.core.conversation import Dialogue, Message, Tool, ToolResult
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.message_battery import BatteryCase, battery_messages, battery_tools
from autoparser.analysis.core.message_shape import FormDeparture, MessageShape, form_departures
from autoparser.analysis.core.text_alignment import differing_parts
from autoparser.analysis.core.turn_format import RefusedMessageError, TurnFormat
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.verdicts import (
    TEXTS_DIFFER,
    AskedForm,
    Check,
    Failure,
    FormFault,
    TemplateCrash,
)
from autoparser.analysis.templates.chat_template import REASONING_FIELDS

from .message_crashes import group_failures, is_needed
from .observer import ObservedTurn, Observer
from .prober import Prober
from .shape_negotiation import answered_conversation
from .template_turns import (
    FormOutcome,
    departures_together,
    lost_text,
    said_parts,
    without_reasoning,
)

MOST_SHOWN = 80
"""At most this many characters of a changed text are quoted in a reason."""


def self_check(format_: TurnFormat, prober: Prober) -> Check:
    """Compare every message of the battery as written by the format and by the template.

    If `prober` renders in another sandbox than transformers', the format is compared with its
    texts, and transformers' crashes on the messages are checked as well.
    """
    judge = _Judge(format_, prober)
    failures: list[Failure] = []
    crashes: list[TemplateCrash] = []
    equal = refused = not_asked = 0
    for case, differs in judge.cases():
        # In this shape the request equals an earlier one, e.g. with null and absent content.
        if not differs:
            not_asked += 1
            continue
        answer = judge.answer(case)
        failure, crash = answer.failure, answer.crash
        # A wrong format comes first: a crash next to it is part of the failure.
        if failure is not None:
            failures.append(structs.replace(failure, crash=crash))
        elif crash is not None:
            crashes.append(crash)
            failures += [judge.crash_failure(case, crash)] if crash.needed else []
        else:
            refused += answer.refused
            equal += not answer.refused
    total = len(battery_messages())
    return Check(
        total,
        equal,
        refused,
        not_asked,
        group_failures(crashes),
        tuple(failures),
        judge.usual_forms(),
    )


class _Answer(NamedTuple):
    """The outcome of one message."""

    failure: Failure | None
    """Where the format is wrong about it, e.g. about `"an argument that is an empty array"`, or
    None if it is right."""
    crash: TemplateCrash | None
    r"""The template's crash on it, e.g. in line 3 by
    `"TypeError: can only concatenate list (not \"int\") to list"`, or None if it renders or refuses
    the message."""
    refused: bool
    """Whether the template raised, on purpose or not."""


class _Judge:
    """Compares one format with one template."""

    def __init__(
        self, format_: TurnFormat, prober: Prober, tools: Sequence[Tool] = battery_tools()
    ) -> None:
        # If no reasoning field is known, send it in the usual one, as agents do: this shows that it
        # is dropped, not refused.
        field = prober.shape.reasoning_field or REASONING_FIELDS[0]
        self._prober = prober
        prober = prober.using(
            tools=tools, shape=structs.replace(prober.shape, reasoning_field=field)
        )
        self._format = format_
        self.observer = Observer(prober)
        strict = prober.as_transformers()
        self._strict = self.observer if strict is prober else Observer(strict)
        blocks = {TurnPart.REASONING: format_.reasoning, TurnPart.CALLS: format_.calls}
        self._known_parts = {part for part in TurnPart if blocks.get(part, True) is not None}

    def cases(self) -> Iterable[tuple[BatteryCase, bool]]:
        """Return the cases, each with whether it differs from all before it."""
        return zip(battery_messages(), _new_cases(self.observer.prober.shape), strict=True)

    def usual_forms(self) -> tuple[AskedForm, ...]:
        """Render each message again as users send it, if the template's form is another.

        Each departure of its form is undone alone, then all of them together.
        """
        # A template that accepts OpenAI's form has no departures, so nothing is rendered.
        departures = form_departures(self.observer.prober.shape)
        forms = {
            departure: AskedForm(departure.usual, departure.wanted, 0) for departure in departures
        }
        for asked in self._conversations() if departures else ():
            title, dialogue, generation = asked
            # A conversation refused in the template's own form says nothing about another form.
            if not self.observer.prober.probe(dialogue, generation=generation).rendered:
                continue
            outcomes: dict[FormDeparture, FormOutcome] = {}
            for departure in departures:
                if not departure.same(dialogue, tools=True):
                    outcomes[departure], forms[departure] = self._asked_as(
                        departure, forms[departure], *asked
                    )
            for departure in departures_together(outcomes):
                form = forms.get(departure, AskedForm(departure.usual, departure.wanted, 0))
                outcome, form = self._asked_as(departure, form, title, dialogue, generation)
                if outcome is not FormOutcome.RAISED:
                    forms[departure] = form
                    break
        return tuple(forms.values())

    def _asked_as(
        self,
        departure: FormDeparture,
        form: AskedForm,
        title: str,
        dialogue: Dialogue,
        generation: bool,
    ) -> tuple[FormOutcome, AskedForm]:
        """Return the outcome of a conversation in another form, and the form that counts it."""
        prober = self.observer.prober
        form = structs.replace(form, asked=form.asked + 1)
        wanted = prober.probe(dialogue, generation=generation)
        usual = prober.using(shape=departure.shape).probe(dialogue, generation=generation)
        if usual.error is not None:
            reason = form.reason or usual.error.reason
            return FormOutcome.RAISED, structs.replace(form, raised=form.raised + 1, reason=reason)
        # Markup may differ between the forms, but no user text may be lost.
        lost = lost_text(dialogue, prober.tools, usual.text, wanted.text)
        if lost is None:
            return FormOutcome.KEPT, form
        # Reasoning in a field that the template does not read is reported separately.
        bare = prober.probe(without_reasoning(dialogue), generation=generation)
        if departure.convention and usual.text == bare.text:
            return FormOutcome.UNREAD, structs.replace(form, unread=form.unread + 1)
        fault = form.fault or FormFault(title, str(lost), usual.text, wanted.text)
        spoiled = (*form.spoiled, title)
        return FormOutcome.SPOILED, structs.replace(form, spoiled=spoiled, fault=fault)

    def _conversations(self) -> Iterator[tuple[str, Dialogue, bool]]:
        """Yield users' conversations: every message of the battery, and some to be answered."""
        prober = self.observer.prober
        cases = battery_messages()
        yield "a question", (prober.user,), True
        first = next(case.message for case in cases if case.message.calls)
        results = (ToolResult(prober.sentinels.answer, call.name, call.id) for call in first.calls)
        yield "a call and its result", (prober.user, first, *results), True
        for case in cases:
            yield case.title, answered_conversation(prober, case.message), False

    def answer(self, case: BatteryCase) -> _Answer:
        """Compare the format with the template on one message.

        If a message with many parts fails, the parts that fail alone are the cause; if none of them
        does, it is the message itself.
        """
        turn = self.observer.turn(case.message)
        answer = _Answer(
            self.difference(case, turn), self.crash(case, turn), turn.probe.error is not None
        )
        if answer.failure is None and (answer.crash is not None or not answer.refused):
            return answer
        # The smallest failing message explains more than one with every part.
        alone = map(self._answer_alone, case.parts)
        failing = [(part.failure, part) for part in alone if part.failure is not None]
        if not failing:
            return answer
        failure, blamed = min(failing, key=lambda pair: pair[0].rank)
        titles = ", ".join(fault.title for fault, _ in failing)
        return blamed._replace(failure=structs.replace(failure, title=titles))

    def _answer_alone(self, part: BatteryCase) -> _Answer:
        """Check a part alone; its tool is offered only here."""
        offered = {str(tool["name"]) for tool in battery_tools()}
        others = [call.name for call in part.message.calls if call.name not in offered]
        if not others:
            return self.answer(part)
        like = battery_tools()[-1]
        tools = (*battery_tools(), *({**like, "name": name} for name in others))
        return _Judge(self._format, self._prober, tools).answer(part)

    def difference(self, case: BatteryCase, turn: ObservedTurn) -> Failure | None:
        """Return the error of the format about a case, or None if it is right."""
        written = self._written_text(case.message)
        if turn.refusal:
            if written is None:
                return None
            return Failure(case.title, case.message, written, None, turn.refusal)
        if turn.rewrites:
            around = self.observer
            whole = None if written is None else around.before + written + around.behind
            reason = "the template changes the prompt text"
            return Failure(case.title, case.message, whole, turn.probe.text, reason)
        if written == turn.text:
            return None
        if written is None:
            reason = "the template does render it"
        else:
            reason = self._describe_change(case.message, written, turn.text) or TEXTS_DIFFER
        return Failure(case.title, case.message, written, turn.text, reason)

    def _describe_change(self, message: Message, rendering: str, text: str) -> str:
        """Describe the first part of a message that the turn changes.

        The format writes that part unchanged; or it has no such part, and another text in its place
        changes the turn. Return an empty text if no part is changed.
        """
        for part in said_parts(message):
            if part.stands_in(text):
                continue
            if not part.stands_in(rendering) and part.part in self._known_parts:
                continue
            # Replace the text: the difference shows how the template rendered the original one.
            other = self.observer.turn(part.replaced)
            comparable = not (other.refusal or other.rewrites)
            now = differing_parts(text, other.text)[0].strip() if comparable else ""
            # If no format of calls was found, they may still be in the text, spelled differently.
            unseen = part.part is TurnPart.CALLS and comparable and other.text == text
            if now or unseen or part.stands_in(rendering):
                return str(replace(part.lost, now=now if len(now) <= MOST_SHOWN else ""))
        return ""

    def crash(self, case: BatteryCase, turn: ObservedTurn) -> TemplateCrash | None:
        """Return transformers' crash on a message, or None if it renders or refuses it."""
        # In most cases the render for the format is also transformers' render.
        usual = self._strict is self.observer
        error = _crash_in(turn) if usual else self._crash_on(case.message)
        if error is None:
            return None
        return TemplateCrash(
            (case.title,),
            error.line,
            error.reason,
            needed=is_needed(case.message, self._format, error, self._crash_on),
            forbidden=error.forbidden,
            sandbox_alone=error.forbidden and turn.probe.rendered,
        )

    def crash_failure(self, case: BatteryCase, crash: TemplateCrash) -> Failure:
        """Return the failure of a message whose crash the format predicts."""
        written = self._written_text(case.message)
        return Failure(case.title, case.message, written, None, crash.reason, crash, foretold=True)

    def _crash_on(self, message: Message) -> TemplateRenderError | None:
        return _crash_in(self._strict.turn(message))

    def _written_text(self, message: Message) -> str | None:
        try:
            return self._format.write(message)
        except RefusedMessageError:
            return None


@lru_cache(maxsize=64)
def _new_cases(shape: MessageShape) -> tuple[bool, ...]:
    """Return for each message of the battery whether it is new in this shape."""
    given = [repr(shape.message(case.message)) for case in battery_messages()]
    first = {text: at for at, text in reversed([*enumerate(given)])}
    return tuple(first[text] == at for at, text in enumerate(given))


def _crash_in(turn: ObservedTurn) -> TemplateRenderError | None:
    error = turn.probe.error
    return None if error is None or error.refused else error

"""The self-check: what the format writes must be what the template renders, byte for byte.

A verdict says what it rests on. Of every message of the battery one thing is true: it is written as
the template renders it, the template refuses it, it crashes on it, it could not be asked about, or
the format is wrong about it, crash or not. A crash is not an answer, so the messages that agents
send do not pass where the template crashes on them, even if the format foretells it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from autoparser.analysis.core.conversation import Dialogue, Json, Message, Tool, ToolResult
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.message_battery import BatteryCase, battery_messages, battery_tools
from autoparser.analysis.core.message_shape import FormDeparture, MessageShape, departures_of
from autoparser.analysis.core.text_alignment import differing_parts
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.turn_format import RefusedMessageError, TurnFormat
from autoparser.analysis.core.verdicts import (
    TEXTS_DIFFER,
    AskedForm,
    Check,
    Failure,
    FormFault,
    TemplateCrash,
)
from autoparser.analysis.templates.chat_template import REASONING_FIELDS

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

# Where a template crashes: which line, on which messages, and whether agents send those.
#
# What a template does not mean to do is not a refusal. A crash on a call, on text, or on both
# means that requests fail; a crash on what nobody sends, such as an empty message, means nothing.


def group_failures(crashes: Iterable[TemplateCrash]) -> tuple[TemplateCrash, ...]:
    """Make one of those that differ in their messages alone."""
    found: dict[TemplateCrash, tuple[str, ...]] = {}
    for crash in crashes:
        cause = replace(crash, titles=())
        found[cause] = (*found.get(cause, ()), *crash.titles)
    return tuple(replace(cause, titles=titles) for cause, titles in found.items())


def is_needed(
    message: Message,
    format_: TurnFormat,
    error: TemplateRenderError,
    crash_on: Callable[[Message], TemplateRenderError | None],
) -> bool:
    """Whether agents send what a template crashes on.

    They send what says or calls something, and no null among the arguments. What can be left out
    so that the template crashes alike is not to blame: a template without calls that takes no
    empty message also takes none that is but a call, and one that takes no call takes none with
    a null either.
    """

    def alike(less: Message) -> bool:
        other = None if less == message else crash_on(less)
        return other is not None and (other.line, other.reason) == (error.line, error.reason)

    less = _without_unwritten(message, format_)
    rest = less if alike(less) else message
    if not (rest.content or rest.calls):
        return False
    known = _without_nulls(rest)
    return known == rest or alike(known)


def _without_unwritten(message: Message, format_: TurnFormat) -> Message:
    written = {part for layout in format_.layouts.values() for part in layout.parts}
    if TurnPart.CALLS not in written:
        message = replace(message, calls=())
    if TurnPart.REASONING not in written:
        message = replace(message, reasoning="")
    return message


def _without_nulls(message: Message) -> Message:
    calls = [replace(call, arguments=_known(call.arguments)) for call in message.calls]
    return replace(message, calls=tuple(calls))


def _known(members: Mapping[str, Json]) -> dict[str, Json]:
    return {key: _without_null(value) for key, value in members.items() if value is not None}


def _without_null(value: Json) -> Json:
    match value:
        case list():
            return [_without_null(item) for item in value if item is not None]
        case dict():
            return _known(value)
        case _:
            return value


MOST_SHOWN = 80
"""Characters of a changed text that a reason quotes."""


def self_check(format_: TurnFormat, prober: Prober) -> Check:
    """Write every message of the battery by the format and by the template.

    Where `prober` renders in another sandbox than transformers', its texts are what the format is
    held to, and what transformers makes of the messages is asked as well.
    """
    judge = _Judge(format_, prober)
    failures: list[Failure] = []
    crashes: list[TemplateCrash] = []
    equal = refused = not_asked = 0
    for case, told in judge.asked():
        if not told:
            not_asked += 1
            continue
        answer = judge.answer(case)
        failure, crash = answer.failure, answer.crash
        if failure is not None:
            failures.append(replace(failure, crash=crash))
        elif crash is not None:
            crashes.append(crash)
            failures += [judge.crashed(case, crash)] if crash.needed else []
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
    """What came of one message."""

    failure: Failure | None
    """Where the format is wrong about it."""
    crash: TemplateCrash | None
    refused: bool


class _Judge:
    """Judges one format by one template."""

    def __init__(
        self, format_: TurnFormat, prober: Prober, tools: Sequence[Tool] = battery_tools()
    ) -> None:
        # Reasoning that no field was found for is given all the same, in the usual one: agents
        # send it, and that it is dropped, not refused, must show.
        field = prober.shape.reasoning_field or REASONING_FIELDS[0]
        self._prober = prober
        prober = prober.using(tools=tools, shape=replace(prober.shape, reasoning_field=field))
        self._format = format_
        self.observer = Observer(prober)
        strict = prober.as_transformers()
        self._strict = self.observer if strict is prober else Observer(strict)
        blocks = {TurnPart.REASONING: format_.reasoning, TurnPart.CALLS: format_.calls}
        self._known = {part for part in TurnPart if blocks.get(part, True) is not None}

    def asked(self) -> Iterable[tuple[BatteryCase, bool]]:
        """Return the cases, and of each whether it is told from all before it."""
        return zip(battery_messages(), _told(self.observer.prober.shape), strict=True)

    def usual_forms(self) -> tuple[AskedForm, ...]:
        """Ask each message again as users send it, where the template wants another form.

        Each thing in which its form departs is put back by itself, then all of them at once.
        """
        departures = departures_of(self.observer.prober.shape)
        forms = {each: AskedForm(each.usual, each.wanted, 0) for each in departures}
        for asked in self._conversations() if departures else ():
            title, dialogue, generation = asked
            if not self.observer.prober.probe(dialogue, generation=generation).rendered:
                continue
            outcomes: dict[FormDeparture, FormOutcome] = {}
            for each in departures:
                if not each.same(dialogue, tools=True):
                    outcomes[each], forms[each] = self._asked_as(each, forms[each], *asked)
            for each in departures_together(outcomes):
                form = forms.get(each, AskedForm(each.usual, each.wanted, 0))
                outcome, form = self._asked_as(each, form, title, dialogue, generation)
                if outcome is not FormOutcome.RAISED:
                    forms[each] = form
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
        """Return what becomes of a conversation in another form, and the form that counts it."""
        prober = self.observer.prober
        form = replace(form, asked=form.asked + 1)
        wanted = prober.probe(dialogue, generation=generation)
        usual = prober.using(shape=departure.shape).probe(dialogue, generation=generation)
        if usual.error is not None:
            reason = form.reason or usual.error.reason
            return FormOutcome.RAISED, replace(form, raised=form.raised + 1, reason=reason)
        lost = lost_text(dialogue, prober.tools, usual.text, wanted.text)
        if lost is None:
            return FormOutcome.KEPT, form
        bare = prober.probe(without_reasoning(dialogue), generation=generation)
        if departure.convention and usual.text == bare.text:
            return FormOutcome.UNREAD, replace(form, unread=form.unread + 1)
        fault = form.fault or FormFault(title, str(lost), usual.text, wanted.text)
        spoiled = (*form.spoiled, title)
        return FormOutcome.SPOILED, replace(form, spoiled=spoiled, fault=fault)

    def _conversations(self) -> Iterator[tuple[str, Dialogue, bool]]:
        """Return what users send: every message of the battery, and what a model has to answer."""
        prober = self.observer.prober
        cases = battery_messages()
        yield "a question", (prober.user,), True
        first = next(case.message for case in cases if case.message.calls)
        results = (ToolResult(prober.sentinels.answer, each.name, each.id) for each in first.calls)
        yield "a call and its result", (prober.user, first, *results), True
        for case in cases:
            yield case.title, answered_conversation(prober, case.message), False

    def answer(self, case: BatteryCase) -> _Answer:
        """Hold the format against the template on one message.

        Of a message that has many things at once, and does not come out right, those are to blame
        whose own messages fail; where none of them does, it is the message itself.
        """
        turn = self.observer.turn(case.message)
        answer = _Answer(
            self.difference(case, turn), self.crash(case, turn), turn.probe.error is not None
        )
        if answer.failure is None and (answer.crash is not None or not answer.refused):
            return answer
        alone = map(self._answer_alone, case.parts)
        failing = [(part.failure, part) for part in alone if part.failure is not None]
        if not failing:
            return answer
        failure, blamed = min(failing, key=lambda each: each[0].rank)
        titles = ", ".join(each.title for each, _ in failing)
        return blamed._replace(failure=replace(failure, title=titles))

    def _answer_alone(self, part: BatteryCase) -> _Answer:
        """Ask about a part, whose tool is offered only here."""
        offered = {str(tool["name"]) for tool in battery_tools()}
        others = [call.name for call in part.message.calls if call.name not in offered]
        if not others:
            return self.answer(part)
        like = battery_tools()[-1]
        tools = (*battery_tools(), *({**like, "name": name} for name in others))
        return _Judge(self._format, self._prober, tools).answer(part)

    def difference(self, case: BatteryCase, turn: ObservedTurn) -> Failure | None:
        """Say where the format is wrong; None where it is right."""
        written = self._written(case.message)
        if turn.refusal:
            if written is None:
                return None
            return Failure(case.title, case.message, written, None, turn.refusal)
        if turn.rewrites:
            around = self.observer
            whole = None if written is None else around.before + written + around.behind
            reason = "the template changes the text before the turn"
            return Failure(case.title, case.message, whole, turn.probe.text, reason)
        if written == turn.text:
            return None
        if written is None:
            reason = "the template does render it"
        else:
            reason = self._changed(case.message, written, turn.text) or TEXTS_DIFFER
        return Failure(case.title, case.message, written, turn.text, reason)

    def _changed(self, message: Message, written: str, text: str) -> str:
        """Name the first part of a message that its turn has otherwise than it was said.

        The format has that part as it was said; or it has no such part, and another text in its
        place changes the turn. Empty where no part is changed.
        """
        for part in said_parts(message):
            if part.stands_in(text):
                continue
            if not part.stands_in(written) and part.part in self._known:
                continue
            other = self.observer.turn(part.replaced)
            comparable = not (other.refusal or other.rewrites)
            now = differing_parts(text, other.text)[0].strip() if comparable else ""
            if now or part.stands_in(written):
                return str(replace(part.lost, now=now if len(now) <= MOST_SHOWN else ""))
        return ""

    def crash(self, case: BatteryCase, turn: ObservedTurn) -> TemplateCrash | None:
        """Return transformers' crash on a message; None where it renders or refuses it."""
        # What was rendered for the format is mostly rendered as transformers does.
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

    def crashed(self, case: BatteryCase, crash: TemplateCrash) -> Failure:
        """Return the failure of a message that the format is right about, crash and all."""
        written = self._written(case.message)
        return Failure(case.title, case.message, written, None, crash.reason, crash, foretold=True)

    def _crash_on(self, message: Message) -> TemplateRenderError | None:
        return _crash_in(self._strict.turn(message))

    def _written(self, message: Message) -> str | None:
        try:
            return self._format.write(message)
        except RefusedMessageError:
            return None


@lru_cache(maxsize=64)
def _told(shape: MessageShape) -> tuple[bool, ...]:
    """Return of each message of the battery whether, in this shape, none before it is the same."""
    given = [repr(shape.message(case.message)) for case in battery_messages()]
    first = {each: at for at, each in reversed([*enumerate(given)])}
    return tuple(first[each] == at for at, each in enumerate(given))


def _crash_in(turn: ObservedTurn) -> TemplateRenderError | None:
    error = turn.probe.error
    return None if error is None or error.refused else error

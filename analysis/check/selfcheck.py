"""The self-check: what the format writes must be what the template renders, byte for byte."""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.conversation import Message
from autoparser.analysis.format import RefusedMessageError, TurnFormat
from autoparser.analysis.learning.observer import Observer, Turn
from autoparser.analysis.probing import Prober

from .battery import Case, battery, battery_tools


@dataclass(frozen=True, slots=True)
class Failure:
    """A message that the format writes differently from the template."""

    title: str
    message: Message
    written: str | None
    """What the format wrote; None: it says that the template refuses the message."""
    rendered: str | None
    """What the template rendered; None: it refused the message."""
    reason: str

    @property
    def size(self) -> int:
        """How much there is to look at."""
        return len(self.written or "") + len(self.rendered or "")


@dataclass(frozen=True, slots=True)
class Check:
    """The verdict on a format."""

    passed: int
    total: int
    refused: int
    """Messages, counted as passed, that the template refuses as the format says it would."""
    crashed: int
    """Messages, counted as passed, on which it crashes as the format says it would."""
    failures: tuple[Failure, ...]

    @property
    def ok(self) -> bool:
        """Whether every message came out right."""
        return self.passed == self.total

    @property
    def smallest(self) -> Failure | None:
        """The failure that is quickest to understand."""
        return min(self.failures, key=lambda failure: failure.size, default=None)


def self_check(format_: TurnFormat, prober: Prober) -> Check:
    """Write every message of the battery by the format and by the template."""
    observer = Observer(prober.using(tools=battery_tools()))
    failures: list[Failure] = []
    refused = crashed = 0
    cases = battery()
    for case in cases:
        turn = observer.turn(case.message)
        failure = _judge(format_, observer, case, turn)
        if failure is not None:
            failures.append(failure)
        elif turn.probe.error is not None:
            refused += turn.probe.error.refused
            crashed += not turn.probe.error.refused
    passed = len(cases) - len(failures)
    return Check(passed, len(cases), refused, crashed, tuple(failures))


def _judge(format_: TurnFormat, observer: Observer, case: Case, turn: Turn) -> Failure | None:
    try:
        written: str | None = format_.write(case.message)
    except RefusedMessageError:
        written = None
    if turn.refusal:
        if written is None:
            return None
        return Failure(case.title, case.message, written, None, turn.refusal)
    if turn.rewrites:
        whole = None if written is None else observer.before + written + observer.behind
        reason = "the template changes the text before the turn"
        return Failure(case.title, case.message, whole, turn.probe.text, reason)
    if written == turn.text:
        return None
    reason = "the texts differ" if written is not None else "the template does render it"
    return Failure(case.title, case.message, written, turn.text, reason)

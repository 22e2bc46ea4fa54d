"""Many answers, judged and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from .faults import Complaint, Fault, Judgement, Rendering
from .judge import Judge


@dataclass(frozen=True, slots=True)
class DecodedAnswer:
    """What was written once."""

    name: str
    """By which it is told, such as `walk 3`."""
    text: str
    tokens: tuple[int, ...] = ()
    """Without the one that ends it."""
    ended: bool = True
    forced: int = 0
    """Tokens that were the only ones allowed."""
    broken: str = ""
    """How the grammar contradicted itself while it was written; empty: it did not."""


@dataclass(frozen=True, slots=True)
class Example:
    """The first answer with a fault."""

    name: str
    complaint: Complaint
    text: str


@dataclass(frozen=True, slots=True)
class DecodingReport:
    """What came of all answers."""

    answers: int = 0
    clean: int = 0
    tokens: int = 0
    forced: int = 0
    faults: Mapping[Fault, int] = field(default_factory=dict[Fault, int])
    """Answers by what is wrong with them; one may count more than once."""
    examples: Mapping[Fault, Example] = field(default_factory=dict[Fault, Example])
    renderings: Mapping[Rendering, int] = field(default_factory=dict[Rendering, int])

    @property
    def ok(self) -> bool:
        """Whether there was an answer, and nothing is wrong with any."""
        return 0 < self.answers == self.clean

    @property
    def share(self) -> float:
        """The clean answers among all, 0 to 1."""
        return self.clean / max(self.answers, 1)


class Decoding:
    """A report that grows with every answer."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._faults: Counter[Fault] = Counter()
        self._examples: dict[Fault, Example] = {}
        self._renderings: Counter[Rendering] = Counter()
        self._answers = self._clean = self._tokens = self._forced = 0

    def add(self, answer: DecodedAnswer) -> Judgement:
        """Judge one more answer."""
        if answer.broken:
            judgement = Judgement((Complaint(Fault.REFUSED, answer.broken),))
        else:
            judgement = self._judge.judge(answer.text, answer.tokens, ended=answer.ended)
        self._answers += 1
        self._clean += judgement.clean
        self._tokens += len(answer.tokens)
        self._forced += answer.forced
        self._faults.update({complaint.fault for complaint in judgement.complaints})
        for complaint in judgement.complaints:
            example = Example(answer.name, complaint, answer.text)
            self._examples.setdefault(complaint.fault, example)
        if judgement.rendering is not None:
            self._renderings[judgement.rendering] += 1
        return judgement

    @property
    def report(self) -> DecodingReport:
        """What came of the answers so far."""
        return DecodingReport(
            self._answers,
            self._clean,
            self._tokens,
            self._forced,
            {fault: self._faults[fault] for fault in Fault if self._faults[fault]},
            {fault: self._examples[fault] for fault in Fault if fault in self._examples},
            {each: self._renderings[each] for each in Rendering if self._renderings[each]},
        )


def judged(
    answers: Iterable[DecodedAnswer], judge: Judge, progress: Callable[[], object] = lambda: None
) -> DecodingReport:
    """Judge answers as they come; `progress` is called after each of them."""
    decoding = Decoding(judge)
    for answer in answers:
        decoding.add(answer)
        progress()
    return decoding.report

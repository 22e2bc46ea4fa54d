"""Many answers, judged and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from .answer_faults import Complaint, Fault, Judgement, Rendering
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
    served: bool = False
    """Whether a server wrote it: then `tokens` are bytes, and not the tokens of its model."""
    usage: int | None = None
    """How many tokens the server says that it wrote; None where it does not say."""

    @property
    def length(self) -> int | None:
        """How many tokens the model wrote, or None if that is not known."""
        return self.usage if self.served else len(self.tokens)


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """One answer, and what was found out about it."""

    answer: DecodedAnswer
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class AnswerExample:
    """One answer with a fault, or with what the template does not write so."""

    name: str
    detail: str
    text: str


@dataclass(frozen=True, slots=True)
class DecodingReport:
    """What came of all answers."""

    each: tuple[JudgedAnswer, ...] = ()
    unknown_formats: tuple[str, ...] = ()
    """Formats of strings in the schemas that nothing here could assert."""

    @property
    def ok(self) -> bool:
        """Whether the template was asked about some answer, and nothing is wrong with any."""
        asked = any(rendering is not Rendering.UNWRITTEN for rendering in self.renderings)
        return asked and not self.wrong

    @property
    def answers(self) -> int:
        """How many there are."""
        return len(self.each)

    @property
    def clean(self) -> int:
        """Those with which nothing is wrong, and which the template writes so."""
        return sum(one.judgement.clean for one in self.each)

    @property
    def wrong(self) -> int:
        """Those with a fault."""
        return sum(bool(one.judgement.complaints) for one in self.each)

    @property
    def not_asked(self) -> int:
        """Those of which the template does not say how they are written after the prompt."""
        return sum(one.judgement.not_asked for one in self.each)

    @property
    def reformed(self) -> int:
        """Those without a fault that the template writes otherwise, as it may."""
        return self.answers - self.clean - self.wrong - self.not_asked

    @property
    def share(self) -> float:
        """The clean answers among all, 0 to 1."""
        return self.clean / max(self.answers, 1)

    @property
    def served(self) -> bool:
        """Whether a server wrote the answers."""
        return any(one.answer.served for one in self.each)

    @property
    def tokens(self) -> int | None:
        """Of all answers, or None where a server does not say how many it wrote."""
        lengths = [one.answer.length for one in self.each]
        known = [each for each in lengths if each is not None]
        return sum(known) if len(known) == len(lengths) else None

    @property
    def forced(self) -> int:
        """Tokens that were the only ones allowed."""
        return sum(one.answer.forced for one in self.each)

    @property
    def calling(self) -> int:
        """Answers that hold calls."""
        return sum(one.judgement.calls > 0 for one in self.each)

    @property
    def calls(self) -> int:
        """Calls in all answers."""
        return sum(one.judgement.calls for one in self.each)

    @property
    def faults(self) -> Mapping[Fault, int]:
        """Answers by what is wrong with them; one may count more than once."""
        found = Counter(fault for one in self.each for fault in one.judgement.faults)
        return {fault: found[fault] for fault in Fault if found[fault]}

    @property
    def examples(self) -> Mapping[Fault, AnswerExample]:
        """The first answer with each fault."""
        found: dict[Fault, AnswerExample] = {}
        for one in self.each:
            for complaint in one.judgement.complaints:
                example = AnswerExample(one.answer.name, complaint.detail, one.answer.text)
                found.setdefault(complaint.fault, example)
        return {fault: found[fault] for fault in Fault if fault in found}

    @property
    def renderings(self) -> Mapping[Rendering, int]:
        """What the template makes of the answers without an earlier fault."""
        found = Counter(one.judgement.rendering for one in self.each)
        return {each: found[each] for each in Rendering if found[each]}

    @property
    def differences(self) -> Mapping[Rendering, AnswerExample]:
        """Of the answers that are neither clean nor wrong, the shortest of each kind."""
        found: dict[Rendering, AnswerExample] = {}
        for one in sorted(self.each, key=lambda one: len(one.answer.text)):
            rendering, difference = one.judgement.rendering, one.judgement.difference
            if rendering is not None and not (one.judgement.clean or one.judgement.complaints):
                example = AnswerExample(one.answer.name, difference, one.answer.text)
                found.setdefault(rendering, example)
        return {each: found[each] for each in Rendering if each in found}


def judged(
    answers: Iterable[DecodedAnswer], judge: Judge, progress: Callable[[], object] = lambda: None
) -> DecodingReport:
    """Judge answers as they come; `progress` is called after each of them."""
    each: list[JudgedAnswer] = []
    for answer in answers:
        if answer.broken:
            judgement = Judgement((Complaint(Fault.REFUSED, answer.broken),))
        else:
            judgement = judge.judge(answer.text, answer.tokens, ended=answer.ended)
        each.append(JudgedAnswer(answer, judgement))
        progress()
    return DecodingReport(tuple(each), judge.unknown_formats)

"""A template's analysis with what examples show that its renders do not.

Contract: the examples are the judge. The self-check of what was learnt counts examples that the
format writes as they are, and each example that it does not write, or does not read back as its
message, is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.alignment import prefix_length
from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.evidence_kind import EvidenceKind
from autoparser.analysis.core.format import Part, RefusedMessageError, TurnFormat
from autoparser.analysis.core.verdicts import Check, Failure
from autoparser.analysis.inference.examples import (
    Example,
    ShownFormat,
    is_turn,
    learn_examples,
    turn_text,
)
from autoparser.analysis.reading.parsing import OutputParser, message_of
from autoparser.analysis.taught_analysis import checked, taught_analysis, tools_called

__all__ = ["ExampleVerdict", "TaughtFormat", "learn"]


@dataclass(frozen=True, slots=True)
class ExampleVerdict:
    """What became of one example."""

    example: Example
    read: bool
    """The learnt format reads it as the message that was given."""
    written: str | None
    """What the format writes of the message; None: nothing, it never saw such parts."""
    expected: str
    """The whole turn of the example, what the prompt has written of it, too."""
    prompted: int
    """So many characters of it the prompt has written."""

    @property
    def exact(self) -> bool:
        """Whether the format writes it as it is, but for whitespace at its very end."""
        output = self.example.output
        return self.written is not None and is_turn(
            self.written, self.expected, self.prompted, output
        )

    @property
    def odd(self) -> bool:
        """Whether it means something else in this format: cut, malformed, or of another one."""
        return not self.read

    @property
    def cut(self) -> bool:
        """Whether it is all right as far as it goes."""
        return self.departs >= self.prompted + len(self.example.output)

    @property
    def departs(self) -> int:
        """Where the example departs from what the format writes."""
        return prefix_length(self.written or "", self.expected)


@dataclass(frozen=True, slots=True)
class TaughtFormat:
    """What was learnt from a template and examples."""

    analysis: Analysis
    """With the learnt format; its phases are the template's."""
    examples: tuple[ExampleVerdict, ...]
    guesses: tuple[str, ...]
    """What no example shows, in words."""

    @property
    def odd(self) -> tuple[ExampleVerdict, ...]:
        """The examples that are not read as what they mean."""
        return tuple(each for each in self.examples if each.odd)

    @property
    def ok(self) -> bool:
        """Whether every example is read."""
        return not self.odd


def learn(
    analysis: Analysis, examples: Sequence[Example], kind: EvidenceKind = EvidenceKind.EXAMPLE
) -> TaughtFormat:
    """Learn from examples what the template's renders do not show.

    What examples show of calls and reasoning counts more than renders; the header, the prompts and
    the ends are the template's. `kind` is what says what the outputs mean. Raises ExampleError
    where no example holds what it means.
    """
    base = analysis.format
    found = learn_examples(examples, base)
    shown = {part for each in examples for part in Part if _has(each.message, part)}
    taught = taught_analysis(analysis, found.format, frozenset(shown), kind)
    verdicts = tuple(_verdict(each, taught.format, base, taught) for each in examples)
    return TaughtFormat(checked(taught, _check(verdicts)), verdicts, _worded(found))


def _has(message: Message, part: Part) -> bool:
    parts = {
        Part.REASONING: message.reasoning,
        Part.CONTENT: message.content,
        Part.CALLS: message.calls,
    }
    return bool(parts[part])


def _worded(found: ShownFormat) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found.guesses))


def _verdict(
    example: Example, format_: TurnFormat, base: TurnFormat, taught: Analysis
) -> ExampleVerdict:
    expected, prompted = turn_text(example, base)
    try:
        written = format_.write(example.message)
    except (RefusedMessageError, KeyError):
        written = None
    parser = taught.parser(tools_called(example.message), prompt=example.prompt or None)
    return ExampleVerdict(example, _reads(parser, example), written, expected, prompted)


def _reads(parser: OutputParser, example: Example) -> bool:
    try:
        read = message_of(parser.parse(example.output))
    except ValueError:
        return False
    return _said(read) == _said(example.message)


def _said(message: Message) -> tuple[object, ...]:
    """Return what has to be equal; ids may be made up, and whitespace at edges is nobody's."""
    calls = [(call.name, repr(dict(call.arguments))) for call in message.calls]
    return message.content.strip(), message.reasoning.strip(), calls


def _check(verdicts: Sequence[ExampleVerdict]) -> Check:
    """Count the examples as the self-check counts the messages of the battery."""
    failures = tuple(
        Failure(
            each.example.place,
            each.example.message,
            each.written,
            each.expected,
            "the example is read as another message" if each.odd else "it is written otherwise",
        )
        for each in verdicts
        if not each.exact
    )
    equal = len(verdicts) - len(failures)
    return Check(len(verdicts), equal, 0, 0, (), failures)

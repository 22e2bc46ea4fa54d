"""A template's analysis with what examples show that its renders do not.

Contract: the examples are the judge. The self-check of what was learnt counts examples that the
format writes as they are, and each example that it does not write, or does not read back as its
message, is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.alignment import prefix_length
from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.core.evidence_kind import EvidenceKind
from autoparser.analysis.core.format import Formats, Part, RefusedMessageError, TurnFormat
from autoparser.analysis.core.schema import type_of
from autoparser.analysis.core.verdicts import Check, Failure
from autoparser.analysis.describing.view import view_of
from autoparser.analysis.inference.examples import Example, ShownFormat, learn_examples, turn_text
from autoparser.analysis.reading.parsing import OutputParser, message_of

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
        return self.written is not None and self.written.rstrip() == self.expected.rstrip()

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


def learn(analysis: Analysis, examples: Sequence[Example]) -> TaughtFormat:
    """Learn from examples what the template's renders do not show.

    What examples show of calls and reasoning counts more than renders; the header, the prompts and
    the ends are the template's. Raises ExampleError where no example holds what it means.
    """
    base = analysis.format
    found = learn_examples(examples, base)
    shown = {part for each in examples for part in Part if _has(each.message, part)}
    kinds = {part: EvidenceKind.EXAMPLE for part in Part if part in shown - base.shown}
    format_ = replace(found.format, not_rendered={**base.not_rendered, **kinds})
    each = tuple(format_ if old is base else _taught(old, format_) for old in analysis.formats)
    fullest = each[analysis.formats.each.index(analysis.formats.fullest)]
    formats = Formats(
        each, analysis.formats.base, fullest=fullest, untried=analysis.formats.untried
    )
    nonnull = analysis.view.flags.requires_nonnull_content
    taught = replace(
        analysis, formats=formats, view=view_of(formats, requires_nonnull_content=nonnull)
    )
    verdicts = tuple(_verdict(each, format_, base, taught) for each in examples)
    checks = (_check(verdicts), *analysis.checks[1:])
    return TaughtFormat(replace(taught, checks=checks), verdicts, _worded(found))


def _has(message: Message, part: Part) -> bool:
    parts = {
        Part.REASONING: message.reasoning,
        Part.CONTENT: message.content,
        Part.CALLS: message.calls,
    }
    return bool(parts[part])


def _worded(found: ShownFormat) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found.guesses))


def _taught(old: TurnFormat, format_: TurnFormat) -> TurnFormat:
    """Let another setting's turns have the calls that the default's were learnt to have."""
    if old.header != format_.header or old.calls is not None:
        return old
    called = {presence: layout for presence, layout in format_.layouts.items() if presence.calls}
    return replace(
        old,
        layouts={**old.layouts, **called},
        calls=format_.calls,
        not_rendered=format_.not_rendered,
    )


def _verdict(
    example: Example, format_: TurnFormat, base: TurnFormat, taught: Analysis
) -> ExampleVerdict:
    expected, prompted = turn_text(example, base)
    try:
        written = format_.write(example.message)
    except (RefusedMessageError, KeyError):
        written = None
    parser = taught.parser(_offered(example), prompt=example.prompt or None)
    return ExampleVerdict(example, _reads(parser, example), written, expected, prompted)


def _offered(example: Example) -> list[Json] | None:
    """Offer what an example calls: where no marker opens a call, its name does."""
    calls = {call.name: call for call in example.message.calls}
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "parameters": {
                    "type": "object",
                    "properties": {
                        key: {"type": str(type_of(value))} for key, value in call.arguments.items()
                    },
                },
            },
        }
        for name, call in calls.items()
    ] or None


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

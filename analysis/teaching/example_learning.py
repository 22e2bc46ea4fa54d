"""Extend a template's analysis by labeled examples of what its renders do not show.

Contract: the examples are the judge, and the template's own format is the baseline. The learned
format is used only if it reads more examples than the template's own analysis, and if the turns
that the template writes are read as before. Each example that is not read as its message is named.

If the template drops calls, and one example shows `<call>look{"city": "Oslo"}</call>` for a call of
`look`, the learned format writes calls of other tools:

    taught = learn(analysis, examples)  # uses learned, reads 1 of 1 examples
    taught.analysis.format.write(Message(calls=(ToolCall("note", {"text": "x"}),)))
    # '<|asst|><call>note{"text": "x"}</call><|eot|>'
    taught.guesses[0]
    # 'no example has two calls in one turn: how they are separated'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.verdicts import Check, EvidenceKind, Failure
from autoparser.analysis.learning.example_alignment import present_parts
from autoparser.analysis.learning.example_conclusion import (
    is_turn,
    learn_examples,
    turn_text,
    written_turn,
)
from autoparser.analysis.learning.example_layouts import with_worded_calls
from autoparser.analysis.learning.examples import Example, ExampleError, without_calls
from autoparser.analysis.parsing.output_parser import OutputParser

from .taught_analysis import (
    UsedFormat,
    reads_as,
    spoiled_render,
    taught_analysis,
    tools_called,
    widened_analysis,
    with_checked_format,
)


@dataclass(frozen=True, slots=True)
class ExampleVerdict:
    """The result of one example."""

    example: Example
    """The output and the message that it means, e.g. ``[do look(city='Bergen', days=1)]`` and one
    call of ``look``."""
    read: bool
    """Whether the format in use reads it as the given message; not if it is cut, as ``[do
    look(city='Ber``."""
    written: str | None
    """The message as the format writes it, e.g. ``<|asst|>[do look(city='Bergen',
    days=1)]<|eot|>``, or None if it never saw such parts."""
    expected: str
    """The whole turn of the example, including the part that the prompt has written, e.g.
    ``"<|asst|>Hi<|eot|>"``."""
    prompted: int
    """The number of its characters that the prompt has written, e.g. 8 for ``<|asst|>``."""

    @property
    def exact(self) -> bool:
        """Whether the format writes it exactly, except for whitespace at its end."""
        return is_turn(self.written, self.expected, self.prompted, self.example.output)

    @property
    def odd(self) -> bool:
        """Whether it is read otherwise by this format: cut, malformed, or of another one."""
        return not self.read

    @property
    def cut(self) -> bool:
        """Whether it is right up to its end."""
        return self.departs >= self.prompted + len(self.example.output)

    @property
    def departs(self) -> int:
        """The offset where the example departs from the format's text."""
        return prefix_length(self.written or "", self.expected)


@dataclass(frozen=True, slots=True, repr=False)
class TaughtFormat:
    """The result of `learn`: the verdict on each example, and the format in use."""

    analysis: Analysis
    """The analysis with the format in use, e.g. ``<Analysis of model.jinja: self-check 3/3, 1
    format>``; its phases are the template's."""
    examples: tuple[ExampleVerdict, ...]
    """The result of each example by the format in use, e.g. 2 of 3 that are read."""
    guesses: tuple[str, ...]
    """The conclusions that no example shows, in words, e.g. ``no example has two calls in one turn:
    how they are separated``."""
    used: UsedFormat = UsedFormat.LEARNED
    """Which format is used, e.g. ``UsedFormat.LEARNED``: the template's own, the learned one, or
    both side by side."""
    reason: str = ""
    """Why this one is used, e.g. ``it reads 2 of 3 examples, the template's own format alone 1``.
    """
    misread: tuple[str, ...] = ()
    """The locations of the examples that the learned format, used or not, does not read, e.g.
    ``("examples[1]",)``."""

    def __repr__(self) -> str:
        """Return which format is used, and the examples that are read, in one line."""
        return f"<{type(self).__name__}: uses {self.used.value}, reads {self.score}>"

    @property
    def odd(self) -> tuple[ExampleVerdict, ...]:
        """The examples that parse to a different message."""
        return tuple(example for example in self.examples if example.odd)

    @property
    def places(self) -> tuple[str, ...]:
        """The locations of these examples."""
        return tuple(verdict.example.place for verdict in self.odd)

    @property
    def read(self) -> int:
        """The number of examples that parse to their messages."""
        return len(self.examples) - len(self.odd)

    @property
    def score(self) -> str:
        """The number of examples parsed, and of all, e.g. `"2 of 3 examples"`."""
        return f"{self.read} of {len(self.examples)} examples"

    @property
    def ok(self) -> bool:
        """Whether every example parses to its message."""
        return not self.odd


def learn(
    analysis: Analysis, examples: Sequence[Example], kind: EvidenceKind = EvidenceKind.EXAMPLE
) -> TaughtFormat:
    """Learn the parts of the format that the template does not render, from labeled examples.

        learned = learn(analysis, [Example("[do look(city='Oslo')]", Message(calls=(call,)))])
        learned.ok, learned.score  # (True, '1 of 1 examples')

    The template's own format stays in use unless the learned one, alone or in addition, parses more
    of the examples, or writes the calls of all, and parses the template's own turns as before.
    Header, prompts and ends are always the template's. `kind` is the source of the labels. Raises
    ExampleError if nothing can be learned and the template's own format parses no example.
    """
    verdicts = _verdicts(analysis, examples, analysis.format)
    own = TaughtFormat(analysis, verdicts, (), UsedFormat.TEMPLATE)
    # A format that reads all examples is not learned again; they may still confirm parts of it
    # that no render shows.
    if own.ok:
        return _format_writing_calls(own, kind) or replace(
            _confirm_parts(own, kind), reason=f"it reads {own.score}"
        )
    try:
        learned = _learn_format(analysis, examples, kind)
    except ExampleError:
        if not own.read:
            raise
        words = f"it reads {own.score}, and the examples do not determine another format"
        return replace(_confirm_parts(own, kind), reason=words)
    # Of two that read equally many examples, the one that keeps the template's format wins.
    candidates = sorted(
        (*_widened_formats(own, kind), learned), key=lambda candidate: -candidate.read
    )
    refusals = [_refusal(candidate, own) for candidate in candidates]
    for candidate, refusal in zip(candidates, refusals, strict=True):
        if not refusal:
            words = f"it reads {candidate.score}, the template's own format alone {own.read}"
            return replace(candidate, reason=words, misread=candidate.places)
    words = f"it reads {own.score}, and {refusals[0]}"
    return replace(_confirm_parts(own, kind), reason=words, misread=candidates[0].places)


def _learn_format(
    analysis: Analysis, examples: Sequence[Example], kind: EvidenceKind
) -> TaughtFormat:
    """Replace the template's format of the parts that the examples hold."""
    base = analysis.format
    found = learn_examples(examples, base)
    shown = {part for example in examples for part in present_parts(example.message.presence)}
    taught = taught_analysis(analysis, found.format, frozenset(shown), kind)
    verdicts = _verdicts(taught, examples, base)
    taught = with_checked_format(taught, _check(verdicts))
    return TaughtFormat(taught, verdicts, found.guesses)


def _widened_formats(own: TaughtFormat, kind: EvidenceKind) -> Iterator[TaughtFormat]:
    """Yield candidates that read calls both as the template and as the other examples do."""
    base = own.analysis.format
    # Examples that the template's own format reads would only teach that format again, unless it
    # writes them otherwise; and the parser takes a second format for calls alone.
    odd = own.odd or tuple(verdict for verdict in own.examples if not verdict.exact)
    missed = [verdict.example for verdict in odd if verdict.example.message.calls]
    if not missed or not _writes_calls(base):
        return
    try:
        found = learn_examples(missed, without_calls(base))
    except ExampleError:
        return
    widened = widened_analysis(own.analysis, found.format, kind)
    verdicts = _verdicts(widened, [example.example for example in own.examples], base)
    yield TaughtFormat(widened, verdicts, found.guesses, UsedFormat.BOTH)


def _format_writing_calls(own: TaughtFormat, kind: EvidenceKind) -> TaughtFormat | None:
    """Return a format that also writes the calls of examples which the template's only reads.

    A grammar has the calls that a format writes: without theirs, it would refuse the examples. A
    model that also writes them as the template does needs no other format, and one call may be odd.
    """
    called = [verdict for verdict in own.examples if verdict.example.message.calls]
    if len(called) < 2 or any(verdict.exact for verdict in called):  # noqa: PLR2004 - one and more
        return None
    for candidate in _widened_formats(own, kind):
        written = sum(verdict.exact for verdict in candidate.examples)
        spoiled = spoiled_render(own.analysis, candidate.analysis)
        if candidate.ok and written == len(own.examples) and not spoiled:
            exact = sum(verdict.exact for verdict in own.examples)
            words = f"it writes {written} of {written} examples, the template's own format {exact}"
            return replace(candidate, reason=words)
    return None


def _writes_calls(format_: TurnFormat) -> bool:
    """Whether renders show how the template writes calls."""
    return format_.calls is not None and TurnPart.CALLS not in format_.unconfirmed


def _refusal(candidate: TaughtFormat, own: TaughtFormat) -> str:
    """Return why a candidate is not used, in words, or an empty text."""
    what = "the learned format" + " beside it" * (candidate.used is UsedFormat.BOTH)
    if candidate.read <= own.read:
        return f"{what} reads {candidate.read}"
    # A template that writes calls is right about them until an example contradicts it; one without
    # calls reads unknown markup as content, so an odd example costs little.
    lost = [place for place in candidate.places if place not in own.places]
    if lost and _writes_calls(own.analysis.format):
        return f"{what} misreads {lost[0]}, which is read without it"
    spoiled = spoiled_render(own.analysis, candidate.analysis)
    return f"{what} misparses the template's own turns: {spoiled}" if spoiled else ""


def _confirm_parts(own: TaughtFormat, kind: EvidenceKind) -> TaughtFormat:
    """Let examples that are read confirm a format that only the prompt's words spell out."""
    base = own.analysis.format
    held = {
        part
        for example in own.examples
        if example.read
        for part in present_parts(example.example.message.presence)
    }
    confirmed = base.unconfirmed & held
    if not confirmed:
        return own
    format_ = with_worded_calls(base) if TurnPart.CALLS in confirmed else base
    taught = taught_analysis(own.analysis, format_, confirmed, kind)
    verdicts = _verdicts(taught, [example.example for example in own.examples], base)
    # Words show a call but not its place in a turn, so a layout made from them may misread an
    # example that was read before.
    if sum(verdict.read for verdict in verdicts) < own.read:
        return own
    return replace(own, analysis=with_checked_format(taught, _check(verdicts)), examples=verdicts)


def _verdicts(
    analysis: Analysis, examples: Sequence[Example], base: TurnFormat
) -> tuple[ExampleVerdict, ...]:
    """Judge every example; `base` is the template's own format, whose prompts they follow."""
    tools = tools_called([example.message for example in examples])
    # A parser belongs to one prompt, because the prompt may have written the start of the turn.
    parsers = {
        prompt: analysis.parser(tools, prompt=prompt or None)
        for prompt in {example.prompt for example in examples}
    }
    return tuple(
        _example_verdict(example, analysis, base, parsers[example.prompt]) for example in examples
    )


def _example_verdict(
    example: Example, analysis: Analysis, base: TurnFormat, parser: OutputParser
) -> ExampleVerdict:
    # If the parser reads two formats, either may have written the example.
    formats = [analysis.format, *(() if analysis.also is None else (analysis.also.default.format,))]
    expected, prompted = turn_text(example, base)
    read = reads_as(parser, example.output, example.message)
    verdicts = [
        ExampleVerdict(example, read, written_turn(candidate, example.message), expected, prompted)
        for candidate in formats
    ]
    # Of two formats that read the example, the one that writes it wins.
    return max(verdicts, key=lambda verdict: (verdict.exact, verdict.departs))


def _check(verdicts: Sequence[ExampleVerdict]) -> Check:
    """Count the examples as the self-check counts the messages of the battery."""
    failures = tuple(
        Failure(
            verdict.example.place,
            verdict.example.message,
            verdict.written,
            verdict.expected,
            "it parses to a different message" if verdict.odd else "it renders differently",
        )
        for verdict in verdicts
        if not verdict.exact
    )
    equal = len(verdicts) - len(failures)
    return Check(len(verdicts), equal, 0, 0, (), failures)

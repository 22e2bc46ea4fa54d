"""Learn a format from a template and unlabeled outputs: raw texts, and the tools offered.

`learn_outputs` extends a template's analysis; an `OutputTrial` learns the calls alone. Each
proposal of what the outputs may mean is turned into a format, which then reads all outputs; the
format is concluded again from that reading.

Contract: the outputs are the judge. A format is ranked by how many of them it reads completely,
calls included, as messages that are valid by the tools' schemas and that it writes back unchanged;
every other output is named.

For a template without calls, and the tools `look` and `note`:

    outputs = ['<call>look{"city": "Oslo"}</call>', '<call>note{"text": "rain"}</call>']
    learn_outputs(analysis, outputs, tools)
    # <InferredFormat: uses learned, since it reads 2 of 2 outputs, the template's own format
    #  alone 0>

If the second is cut (`<call>look{"city": "Rome"`), its problem is `it is read with a fault:
repaired`, and the format is learned from the first.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from msgspec import structs

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Message, Tool, ToolCall
from autoparser.analysis.core.documents import place_in
from autoparser.analysis.core.format_choice import Formats
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.verdicts import Check, EvidenceKind, Failure
from autoparser.analysis.learning.example_conclusion import (
    has_usual_escape,
    is_turn,
    learn_examples,
    turn_text,
    written_turn,
)
from autoparser.analysis.learning.example_layouts import with_worded_calls
from autoparser.analysis.learning.examples import Example, ExampleError, without_calls
from autoparser.analysis.learning.output_calls import (
    begins_call,
    ends_call,
    ends_in_name,
    ends_in_opening,
    holds_call,
    is_misread,
    marked_word,
    restored_calls,
)
from autoparser.analysis.learning.output_proposals import (
    Proposal,
    ReadTurn,
    group_by_notation,
    propose_meanings,
)
from autoparser.analysis.learning.outputs import LoggedOutput, OfferedTools, OutputError
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import Status, message_from
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_request import read_request

from .taught_analysis import (
    UsedFormat,
    spoiled_render,
    taught_analysis,
    widened_analysis,
    with_checked_format,
)


@dataclass(frozen=True, slots=True)
class LoggedReading:
    """The reading of one output by a format."""

    output: LoggedOutput
    """The output, with its prompt and its location, e.g. ``[do look(city='Oslo', days=3)]<|eot|>``
    in ``line 1``."""
    message: Message | None
    """The message that was read, e.g. one call of ``look``, or None if its arguments are not
    JSON."""
    written: str | None
    """The message as the format writes it, e.g. ``"<|asst|><call>look{}</call><|eot|>"``, or None
    if it never saw such parts."""
    expected: str
    """The whole turn, including the part that the prompt has written, e.g. ``<|asst|>[do
    look(city='Oslo', days=3)]<|eot|>``."""
    problem: str = ""
    """Why it does not count, e.g. ``its message is written otherwise``; empty if read completely
    and written back unchanged."""

    @property
    def departs(self) -> int:
        """The offset in the turn where the output differs from the format's text."""
        return prefix_length(self.written or "", self.expected)


def fitting_messages(readings: Iterable[LoggedReading]) -> list[Message]:
    """Return the messages of the outputs that are read completely and written back unchanged."""
    fitting = (reading.message for reading in readings if not reading.problem)
    return [message for message in fitting if message is not None]


@dataclass(frozen=True, slots=True)
class ReadFormat:
    """A format, and its readings of all outputs."""

    format: TurnFormat
    """The format, e.g. one that writes calls as ``<call>look{}</call>``."""
    readings: tuple[LoggedReading, ...]
    """The reading of every output, in the order given, e.g. the one of ``line 1``."""
    guesses: tuple[str, ...] = ()
    """The conclusions that no output shows, e.g. ``no output has two calls in one turn: how they
    are separated``."""

    @property
    def complete(self) -> bool:
        """Whether it reads every output."""
        return not any(reading.problem for reading in self.readings)

    @property
    def rank(self) -> tuple[int, int, int, bool]:
        """Count outputs read with calls, all outputs read, and, negated, their non-markup text.

        Of equal ones, the usual escape of strings wins: no output need have a character that shows.
        """
        read = fitting_messages(self.readings)
        called = sum(bool(message.calls) for message in read)
        # Count calls first, since a format that takes calls for content reads every output. Of two
        # that read the same calls, the one that leaves less free text wins.
        return called, len(read), -sum(map(_free, read)), has_usual_escape(self.format)


@dataclass(frozen=True, slots=True, repr=False)
class InferredFormat:
    """The result of `learn_outputs`: the reading of each output, and the format in use."""

    analysis: Analysis
    """The analysis with the learned format, e.g. ``<Analysis of model.jinja: self-check 9/10, 1
    format>``; its phases are the template's."""
    readings: tuple[LoggedReading, ...]
    """The reading of every output, in the order given, e.g. 10, of which 9 have no problem."""
    guesses: tuple[str, ...]
    """The conclusions that no output shows, in words, e.g. ``calls without arguments``."""
    own: int = 0
    """The number of outputs that are read as the template itself writes them, e.g. 2."""
    used: UsedFormat = UsedFormat.LEARNED
    """Which format is used, e.g. ``UsedFormat.LEARNED``: the template's own, the learned one, or
    both side by side."""
    refusal: str = ""
    """Why the learned format is not used, in words, e.g. ``only one output shows another
    notation``; empty if it is, or nothing was learned."""

    def __repr__(self) -> str:
        """Return which format is used, and why, in one line."""
        return f"<{type(self).__name__}: uses {self.used.value}, since {self.reason}>"

    @property
    def reason(self) -> str:
        """Why this format is used, in words."""
        read = len(self.readings) - len(self.odd)
        words = f"it reads {read} of {len(self.readings)} outputs"
        if self.used is UsedFormat.TEMPLATE:
            return f"{words}, and {self.refusal}" if self.refusal else words
        return f"{words}, the template's own format alone {self.own}"

    @property
    def misread(self) -> tuple[str, ...]:
        """The locations of the outputs that do not fit."""
        return tuple(reading.output.place for reading in self.odd)

    @property
    def odd(self) -> tuple[LoggedReading, ...]:
        """The outputs that do not fit."""
        return tuple(reading for reading in self.readings if reading.problem)

    @property
    def calls(self) -> int:
        """The number of calls in the outputs that fit."""
        return sum(len(message.calls) for message in fitting_messages(self.readings))

    @property
    def ok(self) -> bool:
        """Whether every output fits."""
        return not self.odd


def learn_outputs(
    analysis: Analysis,
    outputs: Sequence[LoggedOutput | str],
    tools: Sequence[Tool],
    tokens: Sequence[str] = (),
) -> InferredFormat:
    """Learn the notation of calls from unlabeled outputs, by the tools' names in them.

        learn_outputs(analysis, [LoggedOutput(text) for text in log], tools).ok

    A plain string is an output after the template's default prompt. If the template renders calls
    itself, the parser reads both notations and grammars allow both. `tokens` are the added tokens
    of the model's tokenizer, which suggest markers if the outputs leave them open.
    Raises OutputError if no output shows a call, or if neither a learned format nor the template's
    own parses any.
    """
    logged = [
        LoggedOutput(output, place=place_in("outputs", at)) if isinstance(output, str) else output
        for at, output in enumerate(outputs)
    ]
    base = analysis.format
    trial = OutputTrial(logged, base, OfferedTools(tools), tokens)
    # The template's own format first: outputs that it reads need no other.
    own = trial.read_by(base).readings
    rest = [reading.output for reading in own if reading.problem]
    kept = InferredFormat(analysis, own, (), len(own) - len(rest), UsedFormat.TEMPLATE)
    # If no render shows calls, the learned ones replace the template's; otherwise keep both.
    if base.calls is None or TurnPart.CALLS in base.unconfirmed:
        found = trial.confirm_calls()
        taught = taught_analysis(
            analysis, found.format, found.format.shown_parts, EvidenceKind.OUTPUT
        )
        learned = replace(
            kept,
            analysis=with_checked_format(taught, _check(found.readings)),
            readings=found.readings,
            guesses=found.guesses,
            used=UsedFormat.LEARNED,
        )
        return learned if len(learned.odd) < len(rest) else _keep_fallback(kept, learned, "")
    if not rest:
        return kept
    try:
        found = replace(trial, outputs=rest, base=without_calls(base)).conclude_format()
    except OutputError:
        if not kept.calls:
            raise
        return replace(kept, refusal="no format parses the others")
    widened = widened_analysis(analysis, found.format, EvidenceKind.OUTPUT)
    # Parsed with both formats, an output may give another message than with the learned one alone.
    read = iter(found.readings)
    beside = [
        _read_beside(next(read) if reading.problem else reading, widened, tools) for reading in own
    ]
    learned = replace(
        kept,
        analysis=widened,
        readings=tuple(beside),
        guesses=found.guesses,
        used=UsedFormat.BOTH,
    )
    spoiled = spoiled_render(analysis, widened)
    if spoiled or len(learned.odd) >= len(rest):
        return _keep_fallback(kept, learned, spoiled)
    if len(rest) - len(learned.odd) < _FEWEST_BESIDE and kept.calls:
        # The model usually writes calls as its template does, so this one is probably garbled.
        return replace(kept, refusal="only one output shows another notation")
    return learned


_FEWEST_BESIDE = 2
"""At least this many outputs show another notation of calls if others have the template's: one
garbled output beside good ones would otherwise be a notation of its own."""


def _keep_fallback(
    fallback: InferredFormat, learned: InferredFormat, spoiled: str
) -> InferredFormat:
    """Return the template's own format, with the reason to keep it."""
    refusal = f"with the learned format it is {len(learned.readings) - len(learned.odd)}"
    if spoiled:
        refusal = f"the learned format misparses the template's own turns: {spoiled}"
    return replace(fallback, refusal=refusal)


def _read_beside(reading: LoggedReading, widened: Analysis, tools: Sequence[Tool]) -> LoggedReading:
    """Read an output with the parser that reads both ways as well."""
    if reading.problem:
        return reading
    output = reading.output
    # Invented ids would make equal messages differ.
    parser = widened.parser(tools, prompt=output.prompt or None, call_ids=lambda _name, _at: "")
    try:
        same = message_from(parser.parse(output.text), output.text) == reading.message
    except ValueError:
        same = False
    return reading if same else replace(reading, problem="the template's own format parses more")


def _check(readings: Sequence[LoggedReading]) -> Check:
    """Count the outputs as the self-check counts the messages of the battery."""
    failures = tuple(
        Failure(
            reading.output.place,
            reading.message or Message(),
            reading.written,
            reading.expected,
            reading.problem,
        )
        for reading in readings
        if reading.problem
    )
    return Check(len(readings), len(readings) - len(failures), 0, 0, (), failures)


def _free(message: Message) -> int:
    calls = sum(len(call.id) + len(json.dumps(dict(call.arguments))) for call in message.calls)
    return len(message.content) + len(message.reasoning) + calls


@dataclass(frozen=True, slots=True)
class OutputTrial:
    """Outputs to learn from, with their tools, tokens and format."""

    outputs: Sequence[LoggedOutput]
    """The outputs to read, all of which judge a format, e.g. 10."""
    base: TurnFormat
    """The template's format, e.g. ``<TurnFormat: '<|asst|>' content until '<|eot|>'>``, whose
    header, openings and ends the outputs share."""
    offered: OfferedTools
    """The tools whose names and schemas locate calls in the outputs, e.g. ``look`` and ``note``."""
    tokens: Sequence[str]
    """The added tokens of the model's tokenizer, e.g. ``("<|call|>",)``."""

    def confirm_calls(self) -> ReadFormat:
        """Learn without the template's calls; calls in its prose count if outputs confirm them."""
        # Calls in the prompt's prose may differ from the model's, so also learn without them.
        silent = replace(self, base=without_calls(self.base))
        suggested: ReadFormat | None = None
        if self.base.calls is not None:
            suggested = silent.read_by(with_worded_calls(self.base))
            # A format that reads no call confirms nothing, even if it reads every output.
            if suggested.complete and suggested.rank[0]:
                return suggested
        try:
            found = silent.conclude_format()
        except OutputError:
            if suggested is None or not suggested.rank[0]:
                raise
            return suggested
        if suggested is not None and suggested.rank > found.rank:
            return suggested
        return found

    def conclude_format(self) -> ReadFormat:
        """Turn every proposal into a format; return the one that reads most.

        Raises OutputError if no output holds a possible call, or no format reads any.
        """
        begun = (
            _reader(self.base, self.offered)
            if TurnPart.REASONING in self.base.shown_parts
            else None
        )
        read: ReadTurn | None = None if begun is None else partial(_read_before_calls, begun)
        best: ReadFormat | None = None
        sighted = False
        # Outputs of several formats blur each other, so each kind is also tried alone.
        for kind in (self.outputs, *group_by_notation(self.outputs, self.offered)):
            for meaning in propose_meanings(kind, self.base, self.offered, read, self.tokens):
                sighted = True
                found = self._under(meaning)
                if found is not None and (best is None or found.rank > best.rank):
                    best = found
                if best is not None and best.complete and has_usual_escape(best.format):
                    return best
        if not sighted:
            raise OutputError(
                "no output contains the name of a tool with arguments that fit its schema",
                hint="pass the tools that these outputs were sampled with",
            )
        if best is None or not best.rank[0]:
            raise OutputError(
                "no format parses the calls of an output and reproduces it",
                hint="add more outputs, or pass labeled ones with --examples",
            )
        return best

    def _under(self, proposal: Proposal) -> ReadFormat | None:
        """Conclude a format from proposed meanings, then again from its own readings."""
        best: ReadFormat | None = None
        examples: Sequence[Example] = proposal.examples
        for _ in range(_ROUNDS):
            try:
                shown = learn_examples(_most_telling(examples), self.base, [proposal.guess])
            except ExampleError:
                break
            found = self.read_by(shown.format)
            found = replace(found, guesses=shown.guesses)
            if best is not None and found.rank < best.rank:
                break
            # A format concluded from parsed outputs is more reliable than one from guesses.
            known, best = best, found
            examples = [
                Example(
                    reading.output.text,
                    reading.message,
                    reading.output.prompt,
                    reading.output.place,
                )
                for reading in found.readings
                if not reading.problem and reading.message is not None
            ]
            if not examples or (known is not None and known.rank == found.rank):
                break
        return best

    def read_by(self, format_: TurnFormat) -> ReadFormat:
        """Read every output by a format, and write it back."""
        judges: dict[str, _OutputJudge] = {}
        readings: list[LoggedReading] = []
        for output in self.outputs:
            expected, start = turn_text(Example(output.text, Message(), output.prompt), self.base)
            # Outputs of one server share a few prompts, and a parser takes longer than an output.
            if output.prompt not in judges:
                reader = _reader(format_, self.offered, output.prompt)
                prompted = expected[:start]
                heads = dict(_heads(format_, prompted, self.offered))
                judges[output.prompt] = _OutputJudge(format_, self.offered, reader, heads, prompted)
            readings.append(judges[output.prompt].reading(output, expected, start))
        return ReadFormat(format_, tuple(readings))


_ROUNDS = 3
"""At most this many times a format is concluded from a proposal and its own readings."""
_MOST = 24
"""At most this many outputs, the most informative, are learned from; all are read."""


def _most_telling(examples: Sequence[Example]) -> list[Example]:
    """Choose the outputs that show features the others lack."""
    if len(examples) <= _MOST:
        return sorted(examples, key=lambda example: len(example.output))
    features = [set(_features(example)) for example in examples]
    rest = sorted(range(len(examples)), key=lambda at: len(examples[at].output))
    chosen: list[Example] = []
    counted = Counter[str]()
    while len(chosen) < _MOST:
        # The rarest feature decides; ties go to the shortest output, since `rest` is in that order.
        best = min(rest, key=lambda at: min(counted[feature] for feature in features[at]))
        rest.remove(best)
        chosen.append(examples[best])
        counted.update(features[best])
    return chosen


def _features(example: Example) -> Iterator[str]:
    message = example.message
    yield str(message.presence)
    # Counts beyond these show nothing new: separators come with the second, repetition with the
    # third.
    yield f"{min(len(message.calls), 3)} calls"
    for call in message.calls:
        yield f"{min(len(call.arguments), 2)} arguments"
        yield from (f"{type(value).__name__} {value is None}" for value in call.arguments.values())


def _reader(format_: TurnFormat, offered: OfferedTools, prompt: str = "") -> OutputParser:
    formats = Formats.of(format_)
    request = read_request(
        offered.tools, prompt=prompt or None, begun_turn=None if prompt else formats.default
    )
    return OutputParser(build_expression(formats, request))


def _read_before_calls(reader: OutputParser, text: str) -> Message:
    """Read the text before calls; a call by the template's format counts as content."""
    try:
        read = message_from(reader.parse(text, complete=False))
    except ValueError:
        return Message(text)
    return structs.replace(read, calls=())


def _heads(format_: TurnFormat, prompted: str, offered: OfferedTools) -> Iterator[tuple[str, str]]:
    """Yield the prefix of outputs with one call, by tool: ``("look", "<call>")``."""
    for name in offered.names:
        written = written_turn(format_, Message(calls=(ToolCall(name, {}),))) or ""
        head, found, _ = written.removeprefix(prompted).partition(name)
        if found and written.startswith(prompted):
            yield name, head


@dataclass(frozen=True, slots=True)
class _OutputJudge:
    """Judges a format's readings of outputs after one prompt."""

    format: TurnFormat
    """The format that writes messages back, e.g. ``<TurnFormat: '<|asst|>' reasoning, content,
    calls until '<|eot|>'>``."""
    offered: OfferedTools
    """The tools, by whose schemas calls are valid, e.g. ``look`` and ``note``."""
    reader: OutputParser
    """The parser of that format after the prompt, e.g. ``<OutputParser of 'look', 'note'>``."""
    heads: Mapping[str, str]
    """The prefix of an output with a call, by tool, e.g. ``{"look": "<call>"}``."""
    prompted: str
    """The part of the turn that the prompt has written, e.g. ``"<|asst|>"``."""

    def reading(self, output: LoggedOutput, expected: str, start: int) -> LoggedReading:
        """Read an output and write it back."""
        parsed = self.reader.parse(output.text)
        try:
            message = message_from(parsed, output.text)
        except ValueError:
            return LoggedReading(output, None, None, expected, "a call's arguments cannot be read")
        written = written_turn(self.format, message)
        problem = self._problem_of_calls(message)
        fault = "" if parsed.status.regular else f"parsed with status {parsed.status}"
        if parsed.status is Status.OTHER_FORMAT:
            # Quoting the text of the unread call is more specific than the parser's status.
            problem = problem or self._problem_of_texts(message, output.text) or fault
        problem = problem or fault or self._problem_of_texts(message, output.text)
        if not problem and not is_turn(written, expected, start, output.text):
            problem = "its message renders differently"
        return LoggedReading(output, message, written, expected, problem)

    def _problem_of_calls(self, message: Message) -> str:
        for call in message.calls:
            if not self.offered.fits(call.name, dict(call.arguments)):
                return f"the arguments of {call.name} do not fit its schema"
        if any(is_misread(call.name, call.arguments, self.offered) for call in message.calls):
            return "one argument contains another one"
        return ""

    def _problem_of_texts(self, message: Message, text: str) -> str:
        """Describe the part of a call that is left in content or reasoning, if any."""
        texts, calls = (message.content, message.reasoning), self.format.calls
        held = sum(len(self.offered.names_in(text)) for text in texts)
        # Without a call, a name in the output belongs to content or reasoning; if it is in neither,
        # the format has a tool's name in its markup.
        if not message.calls and held < len(self.offered.names_in(text)):
            return "the name of a tool is parsed as markup"
        if any(holds_call(text, self.offered) for text in texts):
            return "it contains a call in another notation"
        word = next((word for text in texts if (word := marked_word(text, self.offered))), "")
        if word:
            return f"its text has {word} next to markup"
        if calls is None:
            return ""
        if begins_call(message.content, calls):
            return "it contains the start of a call that cannot be parsed"
        openings = [f"{self.prompted}{head}" for head in self.heads.values()]
        if message.calls and ends_in_opening(message.content or message.reasoning, openings):
            return "its text contains the opening marker of a call"
        if ends_call(message.content, calls):
            return "it contains the closing marker of a call that was never opened"
        if any(ends_in_name(text, self.heads) for text in texts):
            return "it ends inside the name of a tool"
        name = next((name for text in texts if (name := self._garbled_call(text))), "")
        return f"a call of {name} is malformed" if name else ""

    def _garbled_call(self, text: str) -> str:
        """Return the tool whose call is read once its name is restored, or an empty text."""
        for restored in restored_calls(text, self.heads):
            read = self.reader.parse(restored.text, complete=False)
            try:
                call = next(iter(message_from(read).calls), None)
            except ValueError:
                continue
            fits = call is not None and self.offered.fits(call.name, dict(call.arguments))
            if call is not None and fits and not read.content and (restored.sure or call.arguments):
                return call.name
        return ""

r"""Judge answers to a request: accepted, ended, read cleanly, valid, and rendered the same.

DecodingTrial (request) -> walks -> DecodedAnswer -> AnswerJudge -> JudgedAnswer -> DecodingReport

`AnswerJudge` checks one answer by the grammar, the parser, the schemas and the template's own
rendering, in this order. `judge_answers` judges and counts many; `DecodingTrial` holds a request
with its grammar, parser and tokenizer, and writes random walks.

The tokenizer is a model's own, whose missing markers `marker_fit` finds, or `made_tokenizer` makes
one for the format. `closing_texts` are those by which walks find their way out of free text.

For example, if a format writes a call as `<tool_call>\n{"name": "find", …`, and `</think>` closes
its reasoning:

    closing_texts(grammar.rules(tokenizer.opaque))
    ('<tool_call>\n{"name": "', '</think>', '"', ']', '}')
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from random import Random
from unicodedata import category

from autoparser.analysis.core.call_format import CallFormat
from autoparser.analysis.core.call_notation import MemberOrder
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.format_choice import PromptFormat
from autoparser.analysis.core.schema_validation import (
    Validate,
    schema_validator,
)
from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.grammar.grammar_rules import (
    NOTHING,
    ChoiceNode,
    FreeTextNode,
    GrammarRules,
    LiteralNode,
    Node,
    PatternNode,
    RuleReference,
    SequenceNode,
    inner_nodes,
)
from autoparser.analysis.grammar.request_grammar import Grammar
from autoparser.analysis.grammar.turn_rules import text_without_end
from autoparser.analysis.learning.template_turns import TemplateTurns
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import ParsedCall, ParsedMessage, Status
from autoparser.analysis.parsing.text_tape import SpanKind
from autoparser.analysis.sources.token_bytes import byte_tokenizer
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of

from .constraints import ConstraintError, RefusedTokenError
from .grammar_backend import GrammarBackend
from .mask_sampling import JSON_CLOSERS, RandomSampler, masked_walk
from .matcher_grammar import GrammarObject, ReasoningOpening
from .message_rendering import AnswerRewriter, MessageRendering, NoTurns, TurnWriter, dropped_parts


class AnswerFault(StrEnum):
    """Ways in which a constrained answer can be invalid."""

    REFUSED = "rejected by the grammar"
    NOT_ENDED = "unfinished"
    NOT_READ = "not parsed as a whole message"
    JUNK = "stray markup"
    REQUEST = "violates the request"
    ARGUMENTS = "arguments violate their schema"
    CONTENT = "content violates json_schema"
    RENDERING = "renders differently"


@dataclass(frozen=True, slots=True)
class AnswerComplaint:
    """One fault of one answer."""

    fault: AnswerFault
    """The kind of fault, e.g. `AnswerFault.REFUSED`."""
    detail: str
    """The details, in words, e.g. `"'<tool_call>' after ''"`; may quote the answer."""


@dataclass(frozen=True, slots=True)
class AnswerJudgment:
    """The judgment on one answer."""

    complaints: tuple[AnswerComplaint, ...]
    """The faults that were found, e.g. one of `AnswerFault.REFUSED`; empty if nothing is wrong."""
    rendering: MessageRendering | None = None
    """How the template renders it, e.g. `MessageRendering.SAME`, or None if an earlier fault leaves
    nothing to render."""
    difference: str = ""
    """The part that the template writes otherwise, e.g.
    `"the template does not write '^' in the content: …"`; empty if it writes the same text."""
    calls: int = 0
    """The number of calls that were read, e.g. 2."""

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong, and the template writes exactly this text as its turn.

        A block that the prompt alone opens and closes is not part of the answer.
        """
        return not self.complaints and self.rendering in (
            MessageRendering.SAME,
            MessageRendering.CLOSED,
        )

    @property
    def not_asked(self) -> bool:
        """Whether the template does not show how this is written after the prompt."""
        return self.rendering is not None and not self.complaints and not self.rendering.was_asked

    @property
    def faults(self) -> frozenset[AnswerFault]:
        """The kinds of faults."""
        return frozenset(complaint.fault for complaint in self.complaints)


class AnswerJudge:
    """Judges the answers to one request."""

    def __init__(
        self,
        format_: TurnFormat,
        grammar: Grammar,
        parser: OutputParser,
        compiled: GrammarObject,
        turns: TurnWriter,
    ) -> None:
        """Judge by the grammar and the parser of one request, and by the template's turns.

        `format_` is the format that the request's prompt belongs to, `compiled` the grammar's state
        before the first token, `turns` the template's turns after the prompt.
        """
        self._grammar = grammar
        self._parser = parser
        self._compiled = compiled
        self._unknown_formats: set[str] = set()
        self._rewriter = AnswerRewriter(turns, format_, parser, grammar.tools)

    @property
    def unknown_formats(self) -> tuple[str, ...]:
        """The string formats found so far that nothing here could assert."""
        return tuple(sorted(self._unknown_formats))

    def judge(self, text: str, tokens: Sequence[int], *, ended: bool = True) -> AnswerJudgment:
        """Judge an answer; `tokens` are its text's, without the one that ends it.

        An answer that was cut only has to be accepted by the grammar so far.
        """
        # Grammars leave out the end of the turn, for which the end token stands.
        bare = text_without_end(self._grammar.turn.ends, text)
        # First, since a text outside the grammar says nothing about the parser and the template.
        refused = self._refusal(self._tokens_until(bare, tokens), ended=ended)
        if refused:
            return AnswerJudgment((AnswerComplaint(AnswerFault.REFUSED, refused),))
        if not ended:
            shown = f"no end after {len(tokens)} tokens"
            return AnswerJudgment((AnswerComplaint(AnswerFault.NOT_ENDED, shown),))
        parsed = self._parser.parse(text)
        complaints, calls = tuple(self._complaints(parsed, text)), len(parsed.tool_calls)
        if complaints:
            return AnswerJudgment(complaints, calls=calls)
        found = self._rewriter.compare(text, parsed)
        if found.rendering is MessageRendering.SAME and (dropped := dropped_parts(text, parsed)):
            # The text was rendered with these parts, but the message that a caller gets lacks them.
            words = f"the parser drops the {dropped}, which is only whitespace"
            return AnswerJudgment((), MessageRendering.WHITESPACE, words, calls)
        # Other renderings are not faults; the report counts them separately.
        if found.rendering is MessageRendering.OTHER:
            complaints = (AnswerComplaint(AnswerFault.RENDERING, found.difference),)
        return AnswerJudgment(complaints, found.rendering, found.difference, calls)

    def _tokens_until(self, text: str, tokens: Sequence[int]) -> Sequence[int]:
        """Return the tokens up to the end of a text: no grammar holds the end of a turn."""
        decode = self._compiled.tokenizer.decode
        # Go back from the last token, since only a few tokens at the end are left out.
        counts = range(len(tokens), 0, -1)
        return tokens[: next((n for n in counts if len(decode(tokens[:n])) <= len(text)), 0)]

    def _refusal(self, tokens: Sequence[int], *, ended: bool) -> str:
        state = self._compiled.clone()
        for at, token in enumerate(tokens):
            if not state.try_accept(token):
                before = state.tokenizer.decode(tokens[max(0, at - 10) : at])
                return f"{state.tokenizer.decode([token])!r} after {before!r}"
        if ended and not state.is_accepting():
            return f"it cannot end after {state.tokenizer.decode(tokens[-10:])!r}"
        return ""

    def _complaints(self, parsed: ParsedMessage, text: str) -> Iterator[AnswerComplaint]:
        if not parsed.status.regular:
            yield AnswerComplaint(AnswerFault.NOT_READ, f"the message's status is {parsed.status}")
        for span in parsed.spans:
            junk = text[span.start : span.end]
            # Whitespace after the end belongs to the template.
            if span.kind is SpanKind.JUNK and not junk.isspace():
                yield AnswerComplaint(AnswerFault.JUNK, repr(junk))
        for call in parsed.tool_calls:
            yield from self._call(call)
        yield from self._request_faults(parsed)
        # With tools, the model may call one in place of the answer in JSON.
        if self._grammar.json_schema is not None and not parsed.tool_calls:
            content, invalid = _read_json(parsed.content or "")
            if invalid := invalid or self._content_check(content):
                yield AnswerComplaint(AnswerFault.CONTENT, invalid)

    def _call(self, call: ParsedCall) -> Iterator[AnswerComplaint]:
        if call.name not in self._grammar.tools:
            yield AnswerComplaint(
                AnswerFault.REQUEST, f"{call.name!r} is not a tool that may be called"
            )
        # A repaired call is a fault here: the grammar should have allowed only whole ones.
        elif call.status is not Status.OK:
            yield AnswerComplaint(AnswerFault.NOT_READ, f"a call's status is {call.status}")
        else:
            arguments, invalid = _read_json(call.arguments)
            if not invalid and not isinstance(arguments, dict):
                invalid = f"{call.arguments!r} is not an object"
            invalid = invalid or self._argument_checks[call.name](arguments)
            if invalid:
                yield AnswerComplaint(AnswerFault.ARGUMENTS, f"{call.name}: {invalid}")

    def _request_faults(self, parsed: ParsedMessage) -> Iterator[AnswerComplaint]:
        count = len(parsed.tool_calls)
        if self._grammar.required and not count:
            yield AnswerComplaint(AnswerFault.REQUEST, "a call is required, but there is none")
        if not self._grammar.parallel and count > 1:
            yield AnswerComplaint(
                AnswerFault.REQUEST, f"one call is allowed, but there are {count}"
            )

    @cached_property
    def _argument_checks(self) -> dict[str, Validate]:
        return {
            name: schema_validator(schema, unknown_formats=self._unknown_formats)
            for name, schema in self._grammar.tools.items()
        }

    @cached_property
    def _content_check(self) -> Validate:
        return schema_validator(self._grammar.json_schema, unknown_formats=self._unknown_formats)


def _read_json(text: str) -> tuple[Json, str]:
    """Read a JSON value; return the fault of the text, or an empty string."""
    try:
        return json.loads(text), ""
    except (ValueError, RecursionError) as error:
        return None, f"{text!r} is not valid JSON: {error}"


# Many answers, judged and counted.


@dataclass(frozen=True, slots=True)
class DecodedAnswer:
    """One answer."""

    name: str
    """A label such as `walk 3`."""
    text: str
    r"""The answer, e.g. "<tool_call>\n{…}\n</tool_call>"."""
    tokens: tuple[int, ...] = ()
    """The tokens, without the one that ends the answer, e.g. `(28, 86, 157)`."""
    ended: bool = True
    """Whether it ended by itself; False if the limit of tokens cut it."""
    forced: int = 0
    """Number of tokens that were the only ones allowed, e.g. 96."""
    broken: str = ""
    """How the grammar contradicted itself while the answer was written, e.g. "no token at all";
    empty if it did not."""
    served: bool = False
    """Whether a server wrote it: then `tokens` are bytes, and not the tokens of its model."""
    usage: int | None = None
    """Number of tokens that the server reports, e.g. 9, or None if it reports none."""

    @property
    def length(self) -> int | None:
        """How many tokens the model wrote, or None if that is not known."""
        return self.usage if self.served else len(self.tokens)


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """One answer with its judgment."""

    answer: DecodedAnswer
    """The answer as it was written, e.g. with the name "walk 0"."""
    judgment: AnswerJudgment
    """Its faults, and how the template renders it, e.g. `MessageRendering.SAME`."""


@dataclass(frozen=True, slots=True)
class AnswerExample:
    """One answer with a fault, or with a part that the template writes otherwise."""

    name: str
    """The answer's label, e.g. "walk 3"."""
    detail: str
    """The fault or the difference, in words, e.g. "no end after 5 tokens"."""
    text: str
    """The whole answer, e.g. `"It is 2^10"`."""


@dataclass(frozen=True, slots=True)
class DecodingReport:
    """The judgments on all answers, counted."""

    judged_answers: tuple[JudgedAnswer, ...] = ()
    """The answers in the order in which they were written, e.g. "walk 0" first."""
    unknown_formats: tuple[str, ...] = ()
    """Formats of strings in the schemas that nothing here could assert, e.g.
    `("country-code",)`."""

    @property
    def ok(self) -> bool:
        """Whether the template was asked about some answer, and nothing is wrong with any."""
        asked = any(rendering is not MessageRendering.UNWRITTEN for rendering in self.renderings)
        return asked and not self.wrong

    @property
    def answers(self) -> int:
        """How many there are."""
        return len(self.judged_answers)

    @property
    def clean(self) -> int:
        """Number of answers without a fault that the template writes the same."""
        return sum(judged.judgment.clean for judged in self.judged_answers)

    @property
    def wrong(self) -> int:
        """Number of answers with a fault."""
        return sum(bool(judged.judgment.complaints) for judged in self.judged_answers)

    @property
    def not_asked(self) -> int:
        """Number of answers for which the template does not show how it writes them."""
        return sum(judged.judgment.not_asked for judged in self.judged_answers)

    @property
    def reformed(self) -> int:
        """Number of answers without a fault that the template writes otherwise, as it may."""
        return self.answers - self.clean - self.wrong - self.not_asked

    @property
    def share(self) -> float:
        """The clean answers among all, 0 to 1."""
        return self.clean / max(self.answers, 1)

    @property
    def served(self) -> bool:
        """Whether a server wrote the answers."""
        return any(judged.answer.served for judged in self.judged_answers)

    @property
    def tokens(self) -> int | None:
        """Number of tokens of all answers, or None if a server does not report its own."""
        lengths = [judged.answer.length for judged in self.judged_answers]
        known = [length for length in lengths if length is not None]
        return sum(known) if len(known) == len(lengths) else None

    @property
    def forced(self) -> int:
        """Number of tokens that were the only ones allowed."""
        return sum(judged.answer.forced for judged in self.judged_answers)

    @property
    def calling(self) -> int:
        """Number of answers that hold calls."""
        return sum(judged.judgment.calls > 0 for judged in self.judged_answers)

    @property
    def calls(self) -> int:
        """Number of calls in all answers."""
        return sum(judged.judgment.calls for judged in self.judged_answers)

    @property
    def faults(self) -> Mapping[AnswerFault, int]:
        """Number of answers by fault; an answer may count more than once."""
        found = Counter(fault for judged in self.judged_answers for fault in judged.judgment.faults)
        return {fault: found[fault] for fault in AnswerFault if found[fault]}

    @property
    def examples(self) -> Mapping[AnswerFault, AnswerExample]:
        """The first answer with each fault."""
        found: dict[AnswerFault, AnswerExample] = {}
        for judged in self.judged_answers:
            for complaint in judged.judgment.complaints:
                example = AnswerExample(judged.answer.name, complaint.detail, judged.answer.text)
                found.setdefault(complaint.fault, example)
        return {fault: found[fault] for fault in AnswerFault if fault in found}

    @property
    def renderings(self) -> Mapping[MessageRendering, int]:
        """Number of answers without an earlier fault by how the template renders them."""
        found = Counter(judged.judgment.rendering for judged in self.judged_answers)
        return {kind: found[kind] for kind in MessageRendering if found[kind]}

    @property
    def differences(self) -> Mapping[MessageRendering, AnswerExample]:
        """The shortest answer of each kind that is neither clean nor wrong."""
        found: dict[MessageRendering, AnswerExample] = {}
        # The shortest shows the difference with the least around it.
        for judged in sorted(self.judged_answers, key=lambda judged: len(judged.answer.text)):
            rendering, difference = judged.judgment.rendering, judged.judgment.difference
            if rendering is not None and not (judged.judgment.clean or judged.judgment.complaints):
                example = AnswerExample(judged.answer.name, difference, judged.answer.text)
                found.setdefault(rendering, example)
        return {kind: found[kind] for kind in MessageRendering if kind in found}


def judge_answers(
    answers: Iterable[DecodedAnswer],
    judge: AnswerJudge,
    progress: Callable[[], object] = lambda: None,
) -> DecodingReport:
    """Judge answers as they come; `progress` is called after each of them."""
    judged: list[JudgedAnswer] = []
    for answer in answers:
        if answer.broken:
            judgment = AnswerJudgment((AnswerComplaint(AnswerFault.REFUSED, answer.broken),))
        else:
            judgment = judge.judge(answer.text, answer.tokens, ended=answer.ended)
        judged.append(JudgedAnswer(answer, judgment))
        progress()
    return DecodingReport(tuple(judged), judge.unknown_formats)


# A request with everything needed to write and judge answers to it.


HASTE = (0.05, 0.2, 0.5)
"""Probabilities that a walk closes an open part: some walks are long, most are short."""


@dataclass(frozen=True)
class DecodingTrial:
    """A request with its grammar, its parser, and the tokenizer of the model."""

    begun_turn: PromptFormat
    r"""The format that the request's prompt belongs to, e.g. with the opening
    `"<|im_start|>assistant\n"`."""
    grammar: Grammar
    """The grammar of the request, e.g. `<Grammar of 'note', 'look'>`."""
    parser: OutputParser
    """The parser of the same request, e.g. `<OutputParser of 'look', 'note'>`."""
    tokenizer: ModelTokenizer
    """The tokenizer whose tokens are masked, e.g. with 277 for `<|im_start|>`."""
    turns: TemplateTurns | NoTurns
    r"""The template's turns after the request's prompt, e.g.
    `"<|im_start|>assistant\nHello.<|im_end|>\n"`; or why it cannot be asked."""
    prompt: str | None = None
    """The prompt that was given, or its tail, or None for the one that `turns` renders."""
    free_reasoning: bool = False
    """Whether the grammar holds only after the reasoning is closed, e.g. by `</think>`, as in
    engines that wait for it; an answer does not end before that."""

    @cached_property
    def compiled(self) -> GrammarObject:
        """The grammar before the first token; clone it.

        Raises GrammarError and SchemaError for what cannot be written, and for free reasoning
        that the prompt does not open; ConstraintError for what llguidance refuses.
        """
        with GrammarBackend(self.tokenizer, workers=1) as backend:
            if not self.free_reasoning:
                return backend.grammar(self.grammar)
            rest, close = self.grammar.after_reasoning()
            # Engines wait for the end of reasoning only if the prompt has opened it.
            opening = ReasoningOpening.OPEN
            return backend.reasoning_grammar(rest, end=close, opening=opening, may_end=False)

    @cached_property
    def judge(self) -> AnswerJudge:
        """The judge of the answers; raises as `compiled` does."""
        return AnswerJudge(
            self.begun_turn.format, self.grammar, self.parser, self.compiled, self._writer
        )

    @property
    def _writer(self) -> TurnWriter:
        if self.prompt is None or not self.parser.turn.prefill:
            return self.turns
        return NoTurns("the prompt has begun the message, but the template renders only whole ones")

    @property
    def model_prompt(self) -> str:
        """The prompt that a model or a server is given.

        Raises AutoparserError if none was given and the template refuses to render one.
        """
        if self.prompt is not None:
            return self.prompt
        if isinstance(self.turns, NoTurns):
            raise AutoparserError(
                f"cannot render a prompt: {self.turns.reason}",
                hint="pass one with --prompt FILE",
            )
        error = self.turns.prompted.error
        if error is not None:
            raise AutoparserError(
                f"cannot render a prompt: {error}", hint="pass one with --prompt FILE"
            ) from error
        return self.turns.prompt

    @cached_property
    def fit(self) -> MarkerFit:
        """The format's markers that are not tokens of this tokenizer."""
        return marker_fit(self.grammar, self.tokenizer)

    def walks(self, count: int, *, seed: int, limit: int) -> Iterator[DecodedAnswer]:
        """Walk through the grammar at random; the seeds count up from `seed`.

        `limit` is in tokens. Raises as `compiled` does.
        """
        compiled, tokenizer = self.compiled, self.tokenizer
        calls = self.grammar.turn.strict.calls
        closers = closing_texts(self.grammar.rules(tokenizer.opaque), calls)
        if self.free_reasoning:
            # Without it, a walk would hardly ever leave its reasoning.
            closers = (self.grammar.after_reasoning()[1], *closers)
        for number in range(seed, seed + count):
            # Seeded by the number of the walk, so that any walk can be repeated alone.
            haste = Random(number).choice(HASTE)
            sampler = RandomSampler(tokenizer, number, ending=haste, closing=haste, closers=closers)
            name = f"walk {number}"
            try:
                walk = masked_walk(compiled.clone(), tokenizer, sampler, limit)
            except (ConstraintError, RefusedTokenError) as error:
                yield DecodedAnswer(name, "", broken=str(error))
            else:
                yield DecodedAnswer(name, walk.text, walk.tokens, walk.ended, walk.forced)


ANSWER_END = "\N{SYMBOL FOR END OF TRANSMISSION}"
"""The token that ends an answer in a vocabulary made here; no template writes it."""


def made_tokenizer(
    grammar: Grammar, *, markers: bool = True, stops: bool = False
) -> ModelTokenizer:
    """Make a tokenizer of one token per byte, and one for each of the format's markers.

    Without `markers`, they are text. With `stops`, those that end turns end an answer, as with a
    model's own tokenizer.
    """
    known = _markers(grammar) if markers else ()
    ends = [text for text in grammar.stop_strings if text in known] if stops else []
    # Only the end is a control token; markers are part of the text.
    added = [(ANSWER_END, True), *((text, False) for text in known)]
    return tokenizer_of(byte_tokenizer(added), eos=[ANSWER_END, *ends])


@dataclass(frozen=True, slots=True)
class MarkerFit:
    """How a tokenizer represents the markers of a format."""

    plain: tuple[str, ...] = ()
    """Markers without a token of their own, e.g. `("</think>", "<tool_call>")`: text like any
    other."""
    frame: tuple[str, ...] = ()
    """The markers that begin or end a turn, e.g. `<|im_end|>`, which the model's own tokenizer has
    as tokens."""


def marker_fit(grammar: Grammar, tokenizer: ModelTokenizer) -> MarkerFit:
    """Find the format's markers in a vocabulary.

    A longer marker may be composed of a token and text; that is as good.
    """
    known = [token.text for token in tokenizer.added if token.text.strip()]
    frame = _frame(grammar)
    plain = tuple(
        marker
        for marker in _markers(grammar)
        if _is_whole(marker) and not any(text in marker for text in known)
    )
    return MarkerFit(plain, tuple(marker for marker in plain if marker in frame))


def _frame(grammar: Grammar) -> tuple[str, ...]:
    """Return the markers that begin and end a turn."""
    ends = (marker for text in grammar.stop_strings for marker in TemplateLiteral.of(text).markers)
    return tuple(dict.fromkeys((*grammar.turn.header.markers, *ends)))


def _markers(grammar: Grammar) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*grammar.preserved_tokens, *_frame(grammar))))


def _is_whole(marker: str) -> bool:
    """Return whether a marker is closed and has no variable part: it could be a token."""
    # Closing brackets and quotes; to Unicode, `>` is a mathematical sign (Sm).
    closed = category(marker[-1:] or " ") in ("Pe", "Pf", "Sm")
    return closed and "=" not in marker and '"' not in marker


def closing_texts(rules: GrammarRules, calls: CallFormat | None = None) -> tuple[str, ...]:
    """Collect the texts of a grammar by which a walk finds its way out of free text.

    If `calls` sort arguments, made-up names may stand before a required one, without end:
    a walk finds its way to the close by the names that a schema declares.
    """
    closes: dict[str, None] = {}
    for node in (rules.root, *rules.rules_by_name.values()):
        closes.update(dict.fromkeys(filter(None, _node_texts(node))))
    if calls is not None and calls.arguments.members.order is not MemberOrder.GIVEN:
        for node in rules.rules_by_name.values():
            closes.update(dict.fromkeys(_names_beside(node, rules.rules_by_name)))
    return (*closes, *JSON_CLOSERS)


def _names_beside(node: Node, rules_by_name: Mapping[str, Node]) -> Iterator[str]:
    """Return the texts that may stand where a name may be made up."""
    firsts = list(_firsts(node, rules_by_name))
    if any(isinstance(first, PatternNode) and first.but_not for first in firsts):
        yield from (first.text for first in firsts if isinstance(first, LiteralNode))


def _firsts(node: Node, rules_by_name: Mapping[str, Node]) -> Iterator[Node]:
    """Return the first nodes of alternatives, with the first nodes of their rules."""
    left = [node]
    entered: set[str] = set()
    for option in left:
        match option:
            case ChoiceNode(options):
                left += options
            case RuleReference(name):
                # A rule may begin with itself.
                left += [] if name in entered else [rules_by_name[name]]
                entered.add(name)
            case SequenceNode(items):
                for item in items:
                    left.append(item)
                    if not _may_be_empty(item, rules_by_name):
                        break
            case _:
                yield option


def _may_be_empty(node: Node, rules_by_name: Mapping[str, Node]) -> bool:
    rule = rules_by_name[node.name] if isinstance(node, RuleReference) else node
    return isinstance(rule, ChoiceNode) and NOTHING in rule.options


def _node_texts(node: Node) -> Iterator[str]:
    match node:
        case SequenceNode(items):
            for before, behind in pairwise(items):
                if isinstance(before, PatternNode) and isinstance(behind, LiteralNode):
                    yield behind.text
        case FreeTextNode(exits):
            yield from (exit_.close for exit_ in exits if exit_.prose is not None)
        case PatternNode(close=close):
            yield close
        case _:
            pass
    for inner in inner_nodes(node):
        yield from _node_texts(inner)

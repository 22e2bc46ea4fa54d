"""Make grammar objects: one compilation per constraint, a copy of it per request.

A compilation runs in a thread pool; the first request for a constraint starts it, the others wait
for the same one, and its result replaces it in the cache. A failure is cached as well:
a constraint and a tokenizer alone decide it, so a second try could not end otherwise. The cache
lives as long as the backend and holds the most recently used constraints.

For example, two requests with equal constraints need one compilation:

    >>> from autoparser.analysis.sources.token_bytes import byte_tokenizer
    >>> from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
    >>> tokenizer = tokenizer_of(byte_tokenizer([("<end>", True)]), eos=["<end>"])
    >>> with GrammarBackend(tokenizer) as backend:
    ...     grammars = [backend.grammar(Constraint.regex("yes|no")) for _ in range(2)]
    >>> backend.statistics.misses, backend.statistics.hits
    (1, 1)
    >>> grammars[0].try_accept(tokenizer.encode("y")[0])
    True
    >>> grammars[0].taken, grammars[1].taken
    (1, 0)
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from time import perf_counter

from llguidance import LLMatcher, LLParserLimits

from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.grammar.request_grammar import Grammar
from autoparser.analysis.parsing.turn_nodes import TurnStart, TurnTree
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from autoparser.analysis.templates.worker_pool import ClosedAtExit

from .constraints import Constraint, ConstraintError, ConstraintKind, lark_grammar
from .matcher_grammar import (
    GrammarStatistics,
    MatcherGrammar,
    ReasoningGate,
    ReasoningOpening,
    StatisticsCounter,
    one_message,
)
from .tag_reading import structural_grammar

_Compiled = MatcherGrammar | ConstraintError
_GateKey = tuple[Constraint, str, str, ReasoningOpening, bool]


class GrammarBackend(ClosedAtExit):
    """Compiles constraints for one tokenizer through llguidance, and caches them."""

    def __init__(
        self,
        tokenizer: ModelTokenizer,
        *,
        workers: int = 4,
        capacity: int = 256,
        slices: Sequence[str] = (),
    ) -> None:
        """``capacity`` counts cached constraints, ``workers`` compiling threads.

        ``slices`` are those of the format (``Grammar.slices``); empty means llguidance's own.
        """
        self.tokenizer = tokenizer
        # Compile here, so that errors appear before the first request.
        self._ll = tokenizer.ll_with(slices)
        self._capacity = capacity
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix="grammar")
        self._lock = Lock()
        self._cache: OrderedDict[Constraint, _Compiled | Future[_Compiled]] = OrderedDict()
        self._gates: OrderedDict[_GateKey, ReasoningGate] = OrderedDict()
        self._statistics = StatisticsCounter()
        # Verbose messages would print the whole state, including the text written so far.
        self._limits = LLParserLimits(verbose_errors=False)

    def __repr__(self) -> str:
        """Return the size of the vocabulary and the number of cached constraints, in one line."""
        sizes = f"{self.tokenizer.vocab_size} tokens, {len(self._cache)} constraints cached"
        return f"<{type(self).__name__}: {sizes}>"

    def close(self) -> None:
        """Stop compiling; grammar objects in use remain valid."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    def grammar(self, constraint: Constraint | Grammar) -> MatcherGrammar:
        """Return a grammar object of its own for a request; wait while it is being compiled.

        ``constraint`` may be the result of ``Analysis.grammar``. Raises ``ConstraintError`` if it
        cannot be compiled, and for such a grammar as its ``lark`` does.
        """
        found = self._find(self._constraint(constraint))
        return _copy(found.result() if isinstance(found, Future) else found)

    def reasoning_grammar(
        self,
        constraint: Constraint | Grammar,
        *,
        end: str,
        start: str = "",
        opening: ReasoningOpening,
        may_end: bool = True,
    ) -> ReasoningGate:
        """Return a grammar object that waits for the end of the reasoning (see ``ReasoningGate``).

        Facts that a gate finds of a constraint and a marker are cached for the next request.
        """
        constraint = self._constraint(constraint)
        grammar = self.grammar(constraint)
        key = (constraint, end, start, opening, may_end)
        with self._lock:
            gate = self._gates.get(key)
            if gate is None:
                gate = ReasoningGate(
                    grammar, end=end, start=start, opening=opening, may_end=may_end
                )
                self._gates[key] = gate
                while len(self._gates) > self._capacity:
                    self._gates.popitem(last=False)
            return gate.clone()

    def submit(self, constraint: Constraint | Grammar) -> Future[MatcherGrammar]:
        """Request a grammar object without waiting; the future holds it, or the error."""
        promised: Future[MatcherGrammar] = Future()
        found = self._find(self._constraint(constraint))
        if isinstance(found, Future):
            found.add_done_callback(lambda future: _fulfil(promised, future.result))
        else:
            _fulfil(promised, lambda: found)
        return promised

    @property
    def statistics(self) -> GrammarStatistics:
        """The compilations, cache hits and masks so far, by all requests together."""
        return self._statistics.now()

    def _constraint(self, request: Constraint | Grammar) -> Constraint:
        if isinstance(request, Constraint):
            return request
        return Constraint.of_request(request, self.tokenizer)

    def _find(self, constraint: Constraint) -> _Compiled | Future[_Compiled]:
        with self._lock:
            found = self._cache.get(constraint)
            self._statistics.count(hits=int(found is not None), misses=int(found is None))
            if found is not None:
                self._cache.move_to_end(constraint)
                return found
            future = self._executor.submit(self._compile, constraint)
            self._cache[constraint] = future
            while len(self._cache) > self._capacity:
                self._cache.popitem(last=False)
        # Outside of the lock: a compilation that is already done calls back at once.
        future.add_done_callback(lambda finished: self._keep(constraint, finished))
        return future

    def _keep(self, constraint: Constraint, future: Future[_Compiled]) -> None:
        """Replace a future by its finished compilation."""
        with self._lock:
            # More recent constraints have displaced it, or a newer compilation has replaced it.
            if self._cache.get(constraint) is not future:
                return
            if future.cancelled() or future.exception() is not None:
                # This is a fault of the program, which must not be cached.
                del self._cache[constraint]
            else:
                self._cache[constraint] = future.result()

    def _compile(self, constraint: Constraint) -> _Compiled:
        started = perf_counter()
        compiled: _Compiled
        try:
            compiled = self._compile_matcher(constraint)
        except ConstraintError as error:
            compiled = error
        failed = isinstance(compiled, ConstraintError)
        seconds = perf_counter() - started
        self._statistics.count(constraint.kind, compile_seconds=seconds, failures=int(failed))
        return compiled

    def _compile_matcher(self, constraint: Constraint) -> MatcherGrammar:
        grammar = self._guidance(constraint)
        # Validating first would cost a second compilation; a finished matcher reports the same.
        matcher = LLMatcher(self._ll, grammar, log_level=0, limits=self._limits)
        if matcher.is_error():
            raise ConstraintError(
                f"llguidance rejected the grammar: {one_message(matcher.get_error())}",
                place=constraint.kind.value,
            )
        return MatcherGrammar(matcher, self.tokenizer, self._statistics)

    def _guidance(self, constraint: Constraint) -> str:
        """Write a constraint as llguidance's grammar."""
        text = constraint.text
        match constraint.kind:
            case ConstraintKind.JSON_SCHEMA:
                return LLMatcher.grammar_from_json_schema(text)
            case ConstraintKind.REGEX:
                return LLMatcher.grammar_from_regex(text)
            case ConstraintKind.EBNF:
                return LLMatcher.grammar_from_lark(lark_grammar(text, self.tokenizer.opaque))
            case ConstraintKind.STRUCTURAL_TAG:
                tag = json.loads(text)
                return structural_grammar(tag["tag"], tag["whitespace"], self.tokenizer)


def _fulfil(promised: Future[MatcherGrammar], compiled: Callable[[], _Compiled]) -> None:
    try:
        promised.set_result(_copy(compiled()))
    except BaseException as error:  # noqa: BLE001 - whoever waits has to hear of it
        promised.set_exception(error)


def _copy(compiled: _Compiled) -> MatcherGrammar:
    if isinstance(compiled, ConstraintError):
        # Create a new error each time, since a raised error carries its traceback.
        raise ConstraintError(
            compiled.message, file=compiled.file, place=compiled.place, hint=compiled.hint
        )
    return compiled.clone()


# The reasoning gate of a turn: the markers of reasoning, and how the prompt leaves it.


def gate_reasoning(
    format_: TurnFormat, turn: TurnTree, constraint: Constraint | Grammar, backend: GrammarBackend
) -> ReasoningGate:
    """Make the gate of a turn of a format: the constraint holds from where content begins.

    All text between the two ends the reasoning: not only `<|end|>`, if a header comes
    before the content, but `<|end|><|start|>assistant<|channel|>final<|message|>`. If the turn
    has no reasoning, or the prompt has closed it, the constraint holds at once. Raises
    ``ConstraintError`` if no text ends the reasoning, and as ``backend.grammar`` does.
    """
    reasoning = turn.reasoning
    if reasoning is None or turn.start is TurnStart.CONTENT:
        return backend.reasoning_grammar(constraint, end="", opening=ReasoningOpening.CLOSED)
    opened = turn.start is TurnStart.REASONING or reasoning.leads
    # The part that the prompt leaves to the model: whitespace, or the whole header.
    before = reasoning.open.before if turn.unwritten else ""
    if turn.start is TurnStart.TURN:
        before = turn.header.core + turn.header.after
    return backend.reasoning_grammar(
        constraint,
        end=_between(format_) or reasoning.close.core,
        start=before + reasoning.open.core,
        opening=ReasoningOpening.OPEN if opened else ReasoningOpening.ABSENT,
    )


def _between(format_: TurnFormat) -> str:
    """Return the text between reasoning and content, without the whitespace around it."""
    layout = format_.layouts.get(Presence(reasoning=True, content=True))
    if layout is None or layout.parts[:2] != (TurnPart.REASONING, TurnPart.CONTENT):
        return ""
    return layout.literals[1].strip()

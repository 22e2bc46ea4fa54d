"""Check the reasoning gate: free until reasoning ends, for every tokenization."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings, strategies as st

from autoparser import Analysis
from autoparser.analysis.core.errors import TokenizerError
from autoparser.analysis.decoding.answer_judge import ANSWER_END
from autoparser.analysis.decoding.constraints import Constraint, ConstraintError
from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from autoparser.analysis.decoding.matcher_grammar import ReasoningGate, ReasoningOpening
from autoparser.analysis.sources.token_bytes import byte_tokenizer as bytes_and
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.parsing.loop import analysis_of, fixture_names
from tests.lanes import sampled

from .tokenizers_here import allowed, byte_tokenizer, is_answer, spelled, takes

JSON = Constraint.json_schema({"type": "object"}, whitespace="compact")
SPACED = Constraint.ebnf('start: /[ \\n]*/ "{}"')
END, START = "</think>", "<think>"
MOST_CUTS = 60


def gate(
    backend: GrammarBackend,
    constraint: Constraint = JSON,
    opening: ReasoningOpening = ReasoningOpening.OPEN,
) -> ReasoningGate:
    return backend.reasoning_grammar(constraint, end=END, start=START, opening=opening)


def cuts(text: str, tokenizer: ModelTokenizer) -> list[list[int]]:
    """Return rows of the vocabulary's tokens that spell ``text``: all, or some of thousands.

    Rows beside each other differ in a token or two, so those that are kept are spread evenly.
    """
    known: dict[bytes, list[int]] = {}
    for token, piece in enumerate(tokenizer.token_bytes):
        if piece and token not in tokenizer.eos_ids:
            known.setdefault(piece, []).append(token)
    data = text.encode()
    rows: list[list[list[int]]] = [[] for _ in range(len(data) + 1)]
    rows[len(data)] = [[]]
    for place in range(len(data) - 1, -1, -1):
        for size in range(1, min(max(map(len, known)), len(data) - place) + 1):
            for token in known.get(data[place : place + size], []):
                rows[place] += [[token, *rest] for rest in rows[place + size]]
    return rows[0][:: len(rows[0]) // MOST_CUTS + 1]


@pytest.mark.parametrize("opening", [ReasoningOpening.OPEN, ReasoningOpening.ABSENT])
@pytest.mark.parametrize(
    ("constraint", "text", "good"),
    sampled(
        [
            (JSON, "think{}", None),
            (JSON, "a</think>{}", True),
            (JSON, '</think>{"}', False),
            (JSON, "<</think>{}", True),
            (JSON, "</thin</think>{}", True),
            (JSON, "{}</think>{}", True),
            (JSON, "</think>\n{}", False),
            (SPACED, "a</think>\n\n{}", True),
            (SPACED, "</think>a{}", False),
        ],
        2,
    ),
)
@pytest.mark.parametrize("markers", ["bytes_backend", "plain_backend"])
def test_every_tokenization_of_a_text_gives_the_same_answer(
    constraint: Constraint,
    text: str,
    good: bool | None,
    markers: str,
    opening: ReasoningOpening,
    request: pytest.FixtureRequest,
) -> None:
    """An answer that ends in its thinking may end there (None); no cut changes a verdict."""
    backend: GrammarBackend = request.getfixturevalue(markers)
    tokenizer = backend.tokenizer
    ways = cuts(text if opening is ReasoningOpening.OPEN else START + text, tokenizer)
    assert len(ways) > 5
    guarded = gate(backend, constraint, opening)
    for tokens in ways:
        assert is_answer(guarded, tokenizer, tokens) is (good is not False), tokens
        if good is None:
            assert takes(guarded, tokens)
            assert guarded.is_thinking
            guarded.reset()


def test_answer_may_share_a_prefix_with_the_reasoning_marker(plain_backend: GrammarBackend) -> None:
    """``<thin>`` is an answer of this grammar, ``<think>`` is the thinking."""
    tokenizer = plain_backend.tokenizer
    grammar = Constraint.ebnf('start: "<" /[a-z]+/ ">"')
    guarded = gate(plain_backend, grammar, ReasoningOpening.ABSENT)
    for text in ("<thin>", "<thinking>", "<think></think><a>", "<think>a</think><think>"):
        for tokens in cuts(text, tokenizer):
            assert is_answer(guarded, tokenizer, tokens), (text, tokens)
    for tokens in cuts("<think>", tokenizer):
        assert takes(guarded, tokens)
        assert guarded.is_thinking
        guarded.reset()


def test_refused_token_keeps_the_begun_answer() -> None:
    """``ink>x</think>!`` would open the thinking, end it, and go on as no answer may."""
    tokenizer = tokenizer_of(byte_tokenizer("ink>x</think>!"), eos="<|end|>")
    with GrammarBackend(tokenizer) as backend:
        guarded = gate(backend, Constraint.ebnf('start: "<" /[a-z]+/ ">"'), ReasoningOpening.ABSENT)
        begun = spelled("<th", tokenizer)
        assert takes(guarded, begun)
        before = allowed(guarded)
        (wrong,) = (token.id for token in tokenizer.added if token.text.startswith("ink"))
        assert not guarded.try_accept(wrong)
        assert allowed(guarded) == before
        assert takes(guarded, [*spelled("e>", tokenizer), tokenizer.eos_id])


@pytest.mark.parametrize("opening", list(ReasoningOpening))
@settings(deadline=None, max_examples=10)
@given(data=st.data())
def test_rollback_across_the_gate_restores_masks(
    opening: ReasoningOpening,
    data: st.DataObject,
    bytes_backend: GrammarBackend,
    plain_backend: GrammarBackend,
) -> None:
    """Move forward and back across the borders; masks must equal those of a gate that did not."""
    backend = data.draw(st.sampled_from([bytes_backend, plain_backend]))
    guarded = gate(backend, SPACED, opening)
    texts = ["<think>a</think>\n\n{}", "a</think> {}", "</</think>{}", "\n{}", "<thin"]
    text = data.draw(st.sampled_from(texts))
    tokens = data.draw(
        st.sampled_from([backend.tokenizer.encode(text), spelled(text, backend.tokenizer)])
    )
    masks = [allowed(guarded)]
    for token in tokens:
        if not guarded.try_accept(token):
            break
        masks.append(allowed(guarded))
    taken = len(masks) - 1
    for _ in range(3):
        back = data.draw(st.integers(0, taken))
        copy = guarded.clone()
        guarded.rollback(back)
        assert allowed(guarded) == masks[taken - back]
        for token in tokens[taken - back : taken]:
            guarded.accept_token(token)
        assert allowed(guarded) == masks[taken]
        copy.rollback(taken)
        assert allowed(copy) == masks[0]
    guarded.reset()
    assert allowed(guarded) == masks[0]


def test_one_token_may_contain_the_marker_and_answer_text() -> None:
    """A token that holds the whole marker and more of the answer."""
    tokenizer = tokenizer_of(byte_tokenizer("a</t>{", "b</t>x"), eos="<|end|>")
    with GrammarBackend(tokenizer) as backend:
        guarded = backend.reasoning_grammar(JSON, end="</t>", opening=ReasoningOpening.OPEN)
        ids = {token.text: token.id for token in tokenizer.added}
        assert ids["a</t>{"] in allowed(guarded)
        assert ids["b</t>x"] not in allowed(guarded)
        assert takes(guarded, [ids["a</t>{"], *tokenizer.encode("}")])
        assert guarded.is_terminated()


def test_eos_is_allowed_during_reasoning(bytes_backend: GrammarBackend) -> None:
    tokenizer = bytes_backend.tokenizer
    guarded = gate(bytes_backend)
    assert takes(guarded, [*tokenizer.encode("a"), tokenizer.eos_id])
    assert (guarded.is_terminated(), guarded.is_accepting()) == (True, True)
    assert allowed(guarded) == [tokenizer.eos_id]
    assert not guarded.try_accept(tokenizer.eos_id)
    guarded.rollback(1)
    assert not guarded.is_terminated()
    assert not guarded.try_accept(tokenizer.vocab_size)


def test_missing_reasoning_marker_is_an_error(bytes_backend: GrammarBackend) -> None:
    grammar = bytes_backend.grammar(JSON)
    with pytest.raises(ConstraintError, match="no end marker for reasoning"):
        ReasoningGate(grammar, end="", opening=ReasoningOpening.OPEN)
    with pytest.raises(ConstraintError, match="no start marker for reasoning"):
        ReasoningGate(grammar, end=END, opening=ReasoningOpening.ABSENT)
    assert ReasoningGate(grammar, end="", opening=ReasoningOpening.CLOSED).tokenizer.vocab_size


NUMBER = Constraint.json_schema({"type": "integer"})


def faults(analysis: Analysis, backend: GrammarBackend) -> Iterator[str]:
    """Feed the template's turns after its prompts, constrained to their content from there on."""
    for continuation in analysis.continuations:
        message, text = continuation.message, continuation.text
        if text is None or message.calls or not message.content or not message.reasoning:
            continue
        shown, content = text.find(message.reasoning), text.rfind(message.content)
        if shown < 0 or content < 0:
            continue
        held = Constraint.regex(rf"\s*{re.escape(message.content)}(?s:.*)")
        guarded = analysis.reasoning_gate(held, tokenizer=backend, prompt=continuation.opening.text)
        encode = backend.tokenizer.encode
        inside = text[: shown + len(message.reasoning)]
        if not all(map(guarded.try_accept, encode(inside))) or not guarded.is_thinking:
            yield f"not open: {continuation.opening.text}{inside}"
        elif not all(map(guarded.try_accept, encode(text[len(inside) :]))) or guarded.is_thinking:
            yield f"not bound: {text}"


@pytest.fixture(scope="module")
def byte_backend() -> Iterator[GrammarBackend]:
    """One token a byte, so that none lies across the end of the thinking."""
    with GrammarBackend(tokenizer_of(bytes_and([(ANSWER_END, True)]), eos=ANSWER_END)) as made:
        yield made


QUICK = ("a1-function-parameter", "j1-json-in-tags")
OTHERS = sorted({*fixture_names()} - {*QUICK})


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
)
def test_constraint_begins_where_the_templates_content_begins(
    name: str, byte_backend: GrammarBackend
) -> None:
    assert list(faults(analysis_of(name), byte_backend)) == []


def test_prompt_decides_whether_reasoning_is_open(plain_backend: GrammarBackend) -> None:
    analysis, tokenizer = analysis_of("j1-json-in-tags"), plain_backend.tokenizer
    header = "<|im_start|>assistant\n"
    for prompt, taken, refused in (
        (None, ["7", "<think>Hm</think>7"], ["Hm</think>7", "<think>Hm</think>H"]),
        (header, ["7", "<think>Hm</think>7"], ["Hm</think>7"]),
        (f"{header}<think>\n", ["Hm</think>7", "7</think>7"], ["Hm</think>H"]),
        (f"{header}<think>\n\n</think>\n\n", ["7"], ["<think>Hm</think>7", "Hm</think>7"]),
    ):
        guarded = analysis.reasoning_gate(NUMBER, tokenizer=plain_backend, prompt=prompt)
        for text in taken:
            assert is_answer(guarded, tokenizer, tokenizer.encode(text)), (prompt, text)
        for text in refused:
            assert not is_answer(guarded, tokenizer, tokenizer.encode(text)), (prompt, text)
    bound = analysis_of("reasoning-none").reasoning_gate(NUMBER, tokenizer=plain_backend)
    assert not takes(bound, tokenizer.encode("a"))
    assert takes(bound, tokenizer.encode("7"))


def test_turn_ends_are_eos_if_the_tokenizer_has_none() -> None:
    analysis = analysis_of("j1-json-in-tags")
    made = bytes_and([("<think>", False), ("</think>", False), ("<|im_end|>", True)])
    with analysis.backend(made) as backend:
        tokenizer = backend.tokenizer
        assert tokenizer.decode(tokenizer.eos_ids) == "<|im_end|>"
        grammar = backend.grammar(analysis.grammar(json_schema={"type": "integer"}))
        assert is_answer(grammar, tokenizer, tokenizer.encode("<think>\nHm\n</think>\n\n7"))
        assert not is_answer(grammar, tokenizer, tokenizer.encode("<think>\nHm\n</think>\n\na"))
        backend.grammar(analysis.grammar(json_schema={"type": "integer"}))
        assert (backend.statistics.misses, backend.statistics.hits) == (1, 1)
    guarded = analysis.reasoning_gate(NUMBER, tokenizer=tokenizer, prompt="<think>\n")
    assert guarded.is_thinking
    with pytest.raises(TokenizerError, match="has no end-of-sequence token"):
        analysis_of("reasoning-none").backend(bytes_and([]))

"""The reasoning gate: free until the thinking ends, in every way of cutting the text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from autoparser.analysis.decoding.constraints import Constraint, ConstraintError, RefusedTokenError
from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from autoparser.analysis.decoding.reasoning_gate import ReasoningGate, ReasoningOpening
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of

from .states import allowed, is_answer, spelled, takes
from .tokenizers_here import byte_tokenizer

pytestmark = pytest.mark.slow

JSON = Constraint.json_schema({"type": "object"}, whitespace="compact")
SPACED = Constraint.ebnf('start: /[ \\n]*/ "{}"')
END, START = "</think>", "<think>"
MOST_CUTS = 400


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
    [
        (JSON, "think{}", None),
        (JSON, "a</think>{}", True),
        (JSON, "</think>{}", True),
        (JSON, "<</think>{}", True),
        (JSON, "</thin</think>{}", True),
        (JSON, "{}</think>{}", True),
        (JSON, '</think>{"}', False),
        (JSON, "</think>\n{}", False),
        (SPACED, "a</think>\n\n{}", True),
        (SPACED, "</think>{}", True),
        (SPACED, "</think>a{}", False),
    ],
)
@pytest.mark.parametrize("markers", ["tokens", "text"])
def test_every_cut_of_a_text_is_read_alike(
    constraint: Constraint,
    text: str,
    good: bool | None,
    markers: str,
    opening: ReasoningOpening,
    bytes_backend: GrammarBackend,
    plain_backend: GrammarBackend,
) -> None:
    """An answer that ends in its thinking may end there (None); no cut changes a verdict."""
    backend = bytes_backend if markers == "tokens" else plain_backend
    tokenizer = backend.tokenizer
    whole = text if opening is ReasoningOpening.OPEN else START + text
    ways = cuts(whole, tokenizer)
    assert len(ways) > 5
    guarded = gate(backend, constraint, opening)
    for tokens in ways:
        assert is_answer(guarded, tokenizer, tokens) is (good is not False), tokens
        if good is None:
            assert takes(guarded, tokens)
            assert guarded.is_thinking
            guarded.reset()


@pytest.mark.parametrize("markers", ["tokens", "text"])
def test_an_answer_without_thinking_is_bound_from_its_first_token(
    markers: str, bytes_backend: GrammarBackend, plain_backend: GrammarBackend
) -> None:
    backend = bytes_backend if markers == "tokens" else plain_backend
    for opening in (ReasoningOpening.ABSENT, ReasoningOpening.CLOSED):
        guarded = gate(backend, JSON, opening)
        for tokens in cuts('{"a":1}', backend.tokenizer):
            assert is_answer(guarded, backend.tokenizer, tokens)
        for tokens in cuts("a</think>{}", backend.tokenizer):
            assert not takes(guarded, tokens)
            guarded.reset()


def test_an_answer_may_begin_as_the_thinking_does(plain_backend: GrammarBackend) -> None:
    """``<thin>`` is an answer of this grammar, ``<think>`` is the thinking."""
    tokenizer = plain_backend.tokenizer
    grammar = Constraint.ebnf('start: "<" /[a-z]+/ ">"')
    guarded = plain_backend.reasoning_grammar(
        grammar, end="</think>", start="<think>", opening=ReasoningOpening.ABSENT
    )
    for text in ("<thin>", "<thinking>", "<think></think><a>", "<think>a</think><think>"):
        for tokens in cuts(text, tokenizer):
            assert is_answer(guarded, tokenizer, tokens), (text, tokens)
    for tokens in cuts("<think>", tokenizer):
        assert takes(guarded, tokens)
        assert guarded.is_thinking
        guarded.reset()


@pytest.mark.parametrize("opening", list(ReasoningOpening))
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_taking_back_gives_the_state_before(
    opening: ReasoningOpening,
    data: st.DataObject,
    bytes_backend: GrammarBackend,
    plain_backend: GrammarBackend,
) -> None:
    """Forth and back over the borders; masks are those of a gate that never went there."""
    backend = data.draw(st.sampled_from([bytes_backend, plain_backend]))
    guarded = gate(backend, SPACED, opening)
    text = data.draw(
        st.sampled_from(["<think>a</think>\n\n{}", "a</think> {}", "</</think>{}", "\n{}", "<thin"])
    )
    tokens = data.draw(
        st.sampled_from([backend.tokenizer.encode(text), spelled(text, backend.tokenizer)])
    )
    masks = [allowed(guarded)]
    taken = 0
    for token in tokens:
        if not guarded.try_accept(token):
            break
        taken += 1
        masks.append(allowed(guarded))
    for _ in range(4):
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


def test_real_tokens_that_end_the_thinking(qwen_backend: GrammarBackend) -> None:
    tokenizer = qwen_backend.tokenizer
    guarded = gate(qwen_backend)
    assert len(allowed(guarded)) == tokenizer.vocab_size
    assert takes(guarded, tokenizer.encode("Let me think.\n"))
    assert guarded.is_thinking
    assert takes(guarded, tokenizer.encode("</think>"))
    assert [tokenizer.decode([token]) for token in guarded.forced_tokens()] == []
    assert all(tokenizer.decode([token]).startswith("{") for token in allowed(guarded))
    assert takes(guarded, tokenizer.encode("{}"))
    assert guarded.is_terminated()


def test_a_marker_of_several_tokens(qwen_backend: GrammarBackend) -> None:
    """Kimi's ◁/think▷ is text to Qwen; a token that goes on after it is read to its end."""
    tokenizer = qwen_backend.tokenizer
    end = "◁/think▷"
    assert len(tokenizer.encode(end)) > 1
    guarded = qwen_backend.reasoning_grammar(SPACED, end=end, opening=ReasoningOpening.OPEN)
    for text in (f"hm {end}\n\n{{}}", f"{end} {{}}", f"◁/thin{end}{{}}"):
        assert is_answer(guarded, tokenizer, tokenizer.encode(text))
        assert is_answer(guarded, tokenizer, spelled(text, tokenizer))
    assert not is_answer(guarded, tokenizer, tokenizer.encode(f"{end}a"))


def test_a_token_that_ends_the_thinking_and_goes_on(plain_backend: GrammarBackend) -> None:
    """``>\\n\\n`` ends it; it is allowed where the constraint takes the newlines."""
    tokenizer = plain_backend.tokenizer
    (both,) = [token for token, text in enumerate(tokenizer.token_bytes) if text == b">\n\n"]
    before = tokenizer.encode("a</think")
    strict, spaced = gate(plain_backend), gate(plain_backend, SPACED)
    for guarded in (strict, spaced):
        assert both in allowed(guarded)
        assert takes(guarded, before)
    assert both in allowed(spaced)
    assert both not in allowed(strict)
    with pytest.raises(RefusedTokenError):
        strict.accept_token(both)
    assert takes(strict, tokenizer.encode(">{}"))


def test_a_marker_within_one_token() -> None:
    """A token that holds the whole marker and more of the answer."""
    tokenizer = tokenizer_of(byte_tokenizer("a</t>{", "b</t>x"), eos="<|end|>")
    with GrammarBackend(tokenizer) as backend:
        guarded = backend.reasoning_grammar(JSON, end="</t>", opening=ReasoningOpening.OPEN)
        ids = {token.text: token.id for token in tokenizer.added}
        assert ids["a</t>{"] in allowed(guarded)
        assert ids["b</t>x"] not in allowed(guarded)
        assert takes(guarded, [ids["a</t>{"], *tokenizer.encode("}")])
        assert guarded.is_terminated()


def test_the_answer_may_end_while_it_thinks(bytes_backend: GrammarBackend) -> None:
    tokenizer = bytes_backend.tokenizer
    guarded = gate(bytes_backend)
    assert takes(guarded, [*tokenizer.encode("a"), tokenizer.eos_id])
    assert guarded.is_terminated()
    assert guarded.is_accepting()
    assert allowed(guarded) == [tokenizer.eos_id]
    assert not guarded.try_accept(tokenizer.eos_id)
    guarded.rollback(1)
    assert not guarded.is_terminated()
    assert not guarded.try_accept(tokenizer.vocab_size)


def test_markers_that_are_missing(bytes_backend: GrammarBackend) -> None:
    grammar = bytes_backend.grammar(JSON)
    with pytest.raises(ConstraintError, match="no text that ends it"):
        ReasoningGate(grammar, end="", opening=ReasoningOpening.OPEN)
    with pytest.raises(ConstraintError, match="no text that opens it"):
        ReasoningGate(grammar, end=END, opening=ReasoningOpening.ABSENT)
    assert ReasoningGate(grammar, end="", opening=ReasoningOpening.CLOSED).tokenizer.vocab_size

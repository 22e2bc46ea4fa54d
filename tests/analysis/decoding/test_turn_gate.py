"""The reasoning gate and the backend that an analysis makes, judged by renders of its template."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from autoparser import Analysis, Constraint, GrammarBackend, ReasoningGate
from autoparser.analysis.core.errors import TokenizerError
from autoparser.analysis.sources.token_bytes import byte_tokenizer
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.parsing.loop import analysis_of, fixture_names

from .states import is_answer, takes

END = "\N{SYMBOL FOR END OF TRANSMISSION}"
NUMBER = Constraint.json_schema({"type": "integer"})


@pytest.fixture(scope="module")
def backend() -> Iterator[GrammarBackend]:
    ends = tokenizer_of(byte_tokenizer([(END, True)]), eos=END)
    with GrammarBackend(ends) as made:
        yield made


def faults(analysis: Analysis, backend: GrammarBackend) -> Iterator[str]:
    """Feed what the template writes after its prompts, held to its content from there on."""
    for each in analysis.continuations:
        message, text = each.message, each.text
        if text is None or message.calls or not message.content or not message.reasoning:
            continue
        shown, content = text.find(message.reasoning), text.rfind(message.content)
        if shown < 0 or content < 0:
            continue
        held = Constraint.regex(rf"\s*{re.escape(message.content)}(?s:.*)")
        gate = analysis.reasoning_gate(held, tokenizer=backend, prompt=each.opening.text)
        encode = backend.tokenizer.encode
        inside = text[: shown + len(message.reasoning)]
        if not all(map(gate.try_accept, encode(inside))) or not gate.is_thinking:
            yield f"not open: {each.opening.text}{inside}"
        elif not all(map(gate.try_accept, encode(text[len(inside) :]))) or gate.is_thinking:
            yield f"not bound: {text}"


@pytest.mark.parametrize("name", fixture_names())
def test_the_constraint_begins_where_the_templates_content_does(
    name: str, backend: GrammarBackend
) -> None:
    assert list(faults(analysis_of(name), backend)) == []


def test_the_prompt_says_whether_reasoning_is_open(backend: GrammarBackend) -> None:
    analysis = analysis_of("j1-json-in-tags")
    tokenizer = backend.tokenizer
    header = "<|im_start|>assistant\n"
    for prompt, taken, refused in (
        (None, ["7", "<think>Hm</think>7"], ["Hm</think>7", "<think>Hm</think>H"]),
        (header, ["7", "<think>Hm</think>7"], ["Hm</think>7"]),
        (f"{header}<think>\n", ["Hm</think>7", "7</think>7"], ["Hm</think>H"]),
        (f"{header}<think>\n\n</think>\n\n", ["7"], ["<think>Hm</think>7", "Hm</think>7"]),
    ):
        gate = analysis.reasoning_gate(NUMBER, tokenizer=backend, prompt=prompt)
        assert isinstance(gate, ReasoningGate)
        for text in taken:
            assert is_answer(gate, tokenizer, tokenizer.encode(text)), (prompt, text)
        for text in refused:
            assert not is_answer(gate, tokenizer, tokenizer.encode(text)), (prompt, text)


def test_a_template_without_reasoning_is_bound_at_once(backend: GrammarBackend) -> None:
    gate = analysis_of("reasoning-none").reasoning_gate(NUMBER, tokenizer=backend)
    assert not takes(gate, backend.tokenizer.encode("a"))
    assert takes(gate, backend.tokenizer.encode("7"))


def test_the_ends_of_turns_end_answers_where_the_tokenizer_names_none() -> None:
    analysis = analysis_of("j1-json-in-tags")
    made = byte_tokenizer([("<think>", False), ("</think>", False), ("<|im_end|>", True)])
    with analysis.backend(made) as backend:
        tokenizer = backend.tokenizer
        assert tokenizer.decode(tokenizer.eos_ids) == "<|im_end|>"
        grammar = backend.grammar(analysis.grammar(json_schema={"type": "integer"}))
        assert is_answer(grammar, tokenizer, tokenizer.encode("<think>\nHm\n</think>\n\n7"))
        assert not is_answer(grammar, tokenizer, tokenizer.encode("<think>\nHm\n</think>\n\na"))
        backend.grammar(analysis.grammar(json_schema={"type": "integer"}))
        assert (backend.statistics.misses, backend.statistics.hits) == (1, 1)
    gate = analysis.reasoning_gate(NUMBER, tokenizer=tokenizer, prompt="<think>\n")
    assert gate.is_thinking
    with pytest.raises(TokenizerError, match="does not say which token ends an answer"):
        analysis_of("reasoning-none").backend(byte_tokenizer([]))

"""Share one backend per tokenizer, since loading is slow; stop servers with their test."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial

import pytest

from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from tests.analysis.decoding.running import Start, servers

from .tokenizers_here import deepseek, qwen, small, unigram


def _backend_of(tokenizer: Callable[[], ModelTokenizer]) -> Callable[[], Iterator[GrammarBackend]]:
    """Return a fixture of a backend; pytest knows it by the name that it is assigned to."""

    @pytest.fixture(scope="session")
    def backend() -> Iterator[GrammarBackend]:
        with GrammarBackend(tokenizer()) as made:
            yield made

    return backend


bytes_backend = _backend_of(partial(small, "<think>", "</think>", "<tool_call>", "</tool_call>"))
"""The small tokenizer, with tags as added tokens."""
plain_backend = _backend_of(small)
"""The small tokenizer, in which every tag is plain text."""
qwen_backend = _backend_of(qwen)
deepseek_backend = _backend_of(deepseek)
unigram_backend = _backend_of(unigram)
"""A vocabulary in the manner of SentencePiece."""


@pytest.fixture
def start() -> Generator[Start]:
    """Start a server with a given behavior, as a given engine."""
    yield from servers()

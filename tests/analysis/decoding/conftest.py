"""One backend for each tokenizer, shared by the tests: loading is what costs. Servers end with the
test that started them."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest

from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from tests.analysis.decoding.running import Start, servers

from .tokenizers_here import deepseek, qwen, small, unigram


@pytest.fixture(scope="session")
def bytes_backend() -> Iterator[GrammarBackend]:
    """The small tokenizer, with tags as added tokens."""
    with GrammarBackend(small("<think>", "</think>", "<tool_call>", "</tool_call>")) as backend:
        yield backend


@pytest.fixture(scope="session")
def plain_backend() -> Iterator[GrammarBackend]:
    """The small tokenizer, in which every tag is plain text."""
    with GrammarBackend(small()) as backend:
        yield backend


@pytest.fixture(scope="session")
def qwen_backend() -> Iterator[GrammarBackend]:
    with GrammarBackend(qwen()) as backend:
        yield backend


@pytest.fixture(scope="session")
def deepseek_backend() -> Iterator[GrammarBackend]:
    with GrammarBackend(deepseek()) as backend:
        yield backend


@pytest.fixture(scope="session")
def unigram_backend() -> Iterator[GrammarBackend]:
    """A vocabulary in the manner of SentencePiece."""
    with GrammarBackend(unigram()) as backend:
        yield backend


@pytest.fixture
def start() -> Generator[Start]:
    """Start a server with a given behavior, as a given engine."""
    yield from servers()

"""The table of the essay on parsing and rendering again, with what was measured on it.

Each row is played twice: on a fixture of the same behaviour, and on the real template where the
corpus has it, with a real vocabulary, or one that stands in for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pytest
from tokenizers import Tokenizer

from autoparser import Analysis, analyze
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.history.scenarios import Next
from autoparser.analysis.history.trip_causes import Cause
from tests.corpus.corpus_templates import PACKAGE, corpus_paths, read_template

from .played import fixture, verdict
from .vocabularies import deepseek, qwen, stand_in

pytestmark = pytest.mark.slow
"""Real vocabularies take seconds to load."""


def glm() -> Tokenizer:
    """Qwen's vocabulary with GLM's special tokens."""
    return stand_in(
        "[START]", "[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>",
        "<|observation|>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>",
    )  # fmt: skip


def kimi() -> Tokenizer:
    """Qwen's vocabulary with Kimi's special tokens, and those of the fixture."""
    return stand_in(
        "<|im_user|>", "<|im_assistant|>", "<|im_system|>", "<|im_middle|>",
        "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>", "<|tool_call_end|>",
        "<|sys|>", "<|usr|>", "<|asst|>", "<|mid|>", "<|eot|>", "<|calls_begin|>",
        "<|calls_end|>", "<|call_begin|>", "<|call_argument_begin|>", "<|call_end|>",
    )  # fmt: skip


def harmony() -> Tokenizer:
    """Qwen's vocabulary with the special tokens of GPT-OSS."""
    return stand_in(
        "<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|call|>", "<|return|>"
    )  # fmt: skip


class Essay(NamedTuple):
    """A row of the table."""

    fixture: str
    real: str
    tokenizer: Callable[[], Tokenizer]
    scenario: str
    next: Next
    setting: dict[str, Json]
    cause: Cause | None
    """None: it holds, at string and at token level."""


QWEN = ("history-last-query", "Qwen-Qwen3.6-35B-A3B", qwen)
GLM = ("history-content-stripped", "zai-org-GLM-5.1", glm)
KIMI = ("history-tool-cycle", "moonshotai-Kimi-K2.6", kimi)
DEEPSEEK = ("history-kept-with-tools", "deepseek-ai-DeepSeek-V4", deepseek)
GPT = ("t2-recipient-header", "openai-gpt-oss-120b", harmony)

ROWS = {
    "qwen: tool call + reasoning": Essay(*QWEN, "tool call + reasoning", Next.TOOL, {}, None),
    "qwen: several parameters": Essay(*QWEN, "many parameters", Next.TOOL, {}, None),
    "qwen: reasoning dropped": Essay(
        *QWEN, "reasoning + answer", Next.USER, {}, Cause.REASONING_DROPPED
    ),
    "qwen: reasoning preserved": Essay(
        *QWEN, "reasoning + answer", Next.USER, {"preserve_thinking": True}, None
    ),
    "glm: tool call + reasoning": Essay(*GLM, "tool call + reasoning", Next.TOOL, {}, None),
    "glm: the same, a newline after the reasoning": Essay(
        *GLM, "newline after reasoning, call", Next.TOOL, {}, Cause.CONTENT_STRIPPED
    ),
    "glm: reasoning dropped": Essay(
        *GLM, "reasoning + answer", Next.USER, {}, Cause.REASONING_DROPPED
    ),
    "glm: reasoning kept by the switch": Essay(
        *GLM, "reasoning + answer", Next.USER, {"clear_thinking": False}, None
    ),
    "kimi: tool call + reasoning": Essay(*KIMI, "tool call + reasoning", Next.TOOL, {}, None),
    "kimi: arguments as string": Essay(*KIMI, "arguments as string", Next.TOOL, {}, None),
    "kimi: reasoning in an open tool cycle": Essay(
        *KIMI, "call in a tool loop", Next.TOOL, {}, None
    ),
    "kimi: reasoning dropped once the cycle is over": Essay(
        *KIMI, "tool call + reasoning", Next.LATER, {}, Cause.REASONING_DROPPED
    ),
    "deepseek: tool call + reasoning": Essay(
        *DEEPSEEK, "tool call + reasoning", Next.TOOL, {}, None
    ),
    "deepseek: forced drop_thinking": Essay(
        *DEEPSEEK,
        "tool call + reasoning",
        Next.LATER,
        {"thinking": True, "drop_thinking": True},
        None,
    ),
    "gpt-oss: tool call, string arguments": Essay(
        *GPT, "arguments as string", Next.TOOL, {}, Cause.ENCODED_TWICE
    ),
    "gpt-oss: tool call, dict arguments": Essay(*GPT, "arguments as object", Next.TOOL, {}, None),
    "gpt-oss: the same, compact JSON": Essay(
        *GPT, "compact JSON", Next.TOOL, {}, Cause.JSON_SPACING
    ),
}


@cache
def real(name: str) -> Analysis:
    path = next(path for path in corpus_paths() if path.stem == name)
    return analyze(read_template(path))


def check(analysis: Analysis, row: Essay) -> None:
    found = verdict(
        analysis, row.scenario, row.next, tokenizer=row.tokenizer(), setting=row.setting
    )
    assert found.cause is row.cause, found
    assert found.tokens is not None
    assert found.tokens.holds is (row.cause is None), found
    if row.cause is None:
        assert found.tokens.reused == found.tokens.sampled > 0
    else:
        assert found.tokens.reused < found.tokens.sampled


@pytest.mark.parametrize("title", ROWS)
def test_a_fixture_of_the_same_behaviour(title: str) -> None:
    check(fixture(ROWS[title].fixture), ROWS[title])


@pytest.mark.parametrize("title", ROWS)
def test_the_real_template(title: str) -> None:
    pytest.importorskip(PACKAGE, reason=f"the corpus is the package {PACKAGE}")
    check(real(ROWS[title].real), ROWS[title])


def test_a_switch_that_only_tools_overrule() -> None:
    found = verdict(
        fixture("history-kept-with-tools"),
        "no tools",
        Next.USER,
        setting={"drop_thinking": True},
    )
    assert found.cause is Cause.REASONING_DROPPED

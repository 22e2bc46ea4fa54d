"""The engine holds no marker and no model's name: whatever it knows, renders told it.

Every string constant in analysis/ is looked at, docstrings excepted; the pieces of an f-string
count, and so do the parts of an implicit concatenation, which Python joins.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ANALYSIS = Path(__file__).parents[2] / "analysis"

MODELS_AND_VENDORS = (
    "alibaba",
    "anthropic",
    "apertus",
    "apriel",
    "arcee",
    "baichuan",
    "bielik",
    "chatglm",
    "claude",
    "cohere",
    "command-r",
    "deepseek",
    "devstral",
    "ernie",
    "exaone",
    "falcon",
    "functionary",
    "gemini",
    "gemma",
    "glm",
    "gorilla",
    "gpt",
    "granite",
    "grok",
    "harmony",
    "hermes",
    "hunyuan",
    "internlm",
    "jamba",
    "kimi",
    "lfm2",
    "ling",
    "llama",
    "magistral",
    "minicpm",
    "minimax",
    "ministral",
    "mistral",
    "mixtral",
    "moonshot",
    "nemotron",
    "olmo",
    "openai",
    "phi",
    "qwen",
    "qwq",
    "seed-oss",
    "smollm",
    "solar",
    "starcoder",
    "step3",
    "toolace",
    "vicuna",
    "watt-tool",
    "xlam",
    "yi",
    "zephyr",
)
SUSPICIONS = (
    # Closed or not: an f-string cuts a tag in two. A regular expression's group is not a tag.
    ("a tag", re.compile(r"(?<!\?P)</?\w|(?<!\?P)<[^<>\n]*[^<>\s=!|]+[^<>\n]*>")),
    ("a word in square brackets", re.compile(r"\[/?[A-Z][A-Z0-9_ ]*\]")),
    ("a special token's delimiter", re.compile(r"<\||\|>|<｜|｜>")),
    ("the word of many reasoning markers", re.compile(r"think", re.IGNORECASE)),
    (
        "a model's or a vendor's name",
        # A part of a longer word, such as "sampling", is not a name.
        re.compile(
            rf"(?<![a-z])(?:{'|'.join(map(re.escape, MODELS_AND_VENDORS))})(?![a-z])",
            re.IGNORECASE,
        ),
    ),
)

READ_THERE = "a file of an engine, named as the place where its habits were read"

IMPORTED = "a module of an engine, imported in that engine's own Python"

HOSTILE = "a text of the self-check's battery that a format has to carry through unharmed"

SERVED = "a program that is asked, by the name that its package or its project has"

BLANK = "what a blank model's file must say, or may call its first and last token"

LAST_EVENT = "what ends a stream of events, by the protocol that clients and servers share"
ALLOWED: dict[tuple[str, str], str] = {
    (
        "decoding/answer_writers.py",
        "llama-server",
    ): "the name of an engine that a person gives: it decides in which field a grammar is sent",
    (
        "sources/tokenizer_files.py",
        "gpt2",
    ): "what a GGUF header calls every byte-level vocabulary; it decides how a tokenizer is read",
    (
        "sources/tokenizer_files.py",
        "gpt-2",
    ): "what a GGUF header calls the rule that the tokenizers library has built in",
    ("core/message_battery.py", "<b>bold</b> & <br/> [x] {y} %} "): HOSTILE,
    ("core/message_battery.py", "<c>"): HOSTILE,
    ("core/message_battery.py", "Report <1>"): HOSTILE,
    ("core/message_battery.py", "Use <b> & [x], {y} or "): HOSTILE,
    (
        "history/prompt_tokens.py",
        "thinking_retention",
    ): "the name of an argument of the bridge, in the error that refuses its value",
    **{
        ("history/scenarios.py", place): READ_THERE
        for place in (
            "entrypoints/openai/chat_completion/protocol.py",
            "tool_parsers/hermes_tool_parser.py",
            "srt/entrypoints/openai/protocol.py",
            "srt/entrypoints/openai/serving_chat.py",
            "srt/function_call/qwen25_detector.py",
        )
    },
    **{
        ("engines/engine_worker/python_readers.py", module): IMPORTED
        for module in (
            "sglang.srt.entrypoints.openai.protocol",
            "sglang.srt.entrypoints.openai.serving_chat",
            "vllm.entrypoints.openai.chat_completion.protocol",
        )
    },
    (
        "core/request_files.py",
        "thinking",
    ): "a message field that callers give; without one of these a message says nothing",
    (
        "export/export_limits.py",
        "thinking",
    ): "the field in which engines that read an export take reasoning",
    **{("lint/other_jinjas.py", name): SERVED for name in ("llama.cpp", "llama_worker.py")},
    ("engines/engine_worker/llama_reader.py", "llama.cpp"): SERVED,
    ("lint/jinja_workers/llama_worker.py", "engine_worker.llama_reader"): SERVED,
    ("engines/engine_worker/llama_reader.py", "[DONE]"): LAST_EVENT,
    **{("lint/other_jinjas.py", token): BLANK for token in ("<s>", "</s>")},
    **{
        ("engines/engine_worker/llama_reader.py", said): BLANK
        for said in (
            "<0x",
            "<unk>",
            "llama",
            "llama.attention.head_count",
            "llama.attention.layer_norm_rms_epsilon",
            "llama.block_count",
            "llama.context_length",
            "llama.embedding_length",
            "llama.feed_forward_length",
        )
    },
    **{
        (
            "engines/sglang_server.py",
            name,
        ): "what SGLang itself looks at in a request before it begins a grammar"
        for name in ("enable_thinking", "thinking")
    },
    ("engines/completion_backend.py", "[DONE]"): LAST_EVENT,
    ("engines/chat_preparer.py", "data: [DONE]\n\n"): LAST_EVENT,
    (
        "templates/chat_template.py",
        "thinking",
    ): "a message field that transformers fills; the test suite of template/ compares with it",
}
"""Module and constant, and why it may stand there. Constants not in use fail a test below."""


class Offender(NamedTuple):
    """A constant that looks like knowledge of a template."""

    module: str
    line: int
    constant: str
    suspicion: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.constant!r} looks like {self.suspicion}"


def constants(tree: ast.Module) -> Iterator[ast.Constant]:
    """Return the string constants of a module that are not docstrings."""
    texts = {
        id(statement.value)
        for node in ast.walk(tree)
        for statement in ast.iter_child_nodes(node)
        # A bare text as a statement: a docstring, or the explanation below a field.
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in texts:
            continue
        if isinstance(node.value, str | bytes):
            yield node


def offenders(source: str, module: str = "module.py") -> list[Offender]:
    """Find the suspicious constants of one module."""
    found: list[Offender] = []
    for node in constants(ast.parse(source)):
        value = node.value
        assert isinstance(value, str | bytes)
        text = value if isinstance(value, str) else value.decode("latin-1")
        found += [
            Offender(module, node.lineno, text, suspicion)
            for suspicion, pattern in SUSPICIONS
            if pattern.search(text)
        ]
    return found


@cache
def all_offenders() -> list[Offender]:
    found: list[Offender] = []
    for path in sorted(ANALYSIS.rglob("*.py")):
        module = path.relative_to(ANALYSIS).as_posix()
        found += offenders(path.read_text(encoding="utf-8"), module)
    return found


def test_the_engine_holds_no_marker_and_no_name() -> None:
    found = [each for each in all_offenders() if (each.module, each.constant) not in ALLOWED]
    assert not found, "\n".join(["", *map(str, found)])


def test_every_exception_is_still_needed() -> None:
    there = {(each.module, each.constant) for each in all_offenders()}
    assert set(ALLOWED) <= there


def test_the_modules_are_found() -> None:
    assert len(list(ANALYSIS.rglob("*.py"))) > 50


@pytest.mark.parametrize(
    ("source", "suspicion"),
    [
        ("x = '<tool_call>'", "a tag"),
        ("x = '</answer>'", "a tag"),
        ("x = 'before <fx:call name=\"' f'{y}\">'", "a tag"),
        ("x = '[INST]'", "a word in square brackets"),
        ("x = '[/TOOL_CALLS]'", "a word in square brackets"),
        ("x = '[AVAILABLE TOOLS]'", "a word in square brackets"),
        ("x = '<|'", "a special token's delimiter"),
        ("x = 'im_end|>'", "a special token's delimiter"),
        ("x = '<｜end'", "a special token's delimiter"),
        ("x = 'enable_thinking'", "the word of many reasoning markers"),
        ("x = b'think'", "the word of many reasoning markers"),
        ("x = {'a': ['reTHINK']}", "the word of many reasoning markers"),
        ("x = f'{y} thinks {z}'", "the word of many reasoning markers"),
        ("def f(x='qwen3'): pass", "a model's or a vendor's name"),
        ("match x:\n    case 'DeepSeek-R1': pass", "a model's or a vendor's name"),
        ("x = name.startswith('gpt_oss')", "a model's or a vendor's name"),
    ],
)
def test_a_planted_constant_is_found(source: str, suspicion: str) -> None:
    assert suspicion in [each.suspicion for each in offenders(source)]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("'''Reads <tag>.'''", "a module's docstring"),
        ("class A:\n    x: int\n    '''As <think> has it.'''", "a field's explanation"),
        ("def f():\n    '''Of a <tag>.'''", "a function's docstring"),
        ("x = a < b > c", "no constant"),
        ("x = 'sampling'", "a name inside a word"),
        ("x = '<'", "one bracket"),
        ("x = 'a -> b'", "one bracket"),
        ("x = '(?P<value>.*)'", "a group in a regular expression"),
        ("x = '[0-9]'", "no word"),
        ("x = '[A-Z]'", "a range of letters"),
    ],
)
def test_what_is_no_marker_is_left_alone(source: str, reason: str) -> None:
    assert not offenders(source), reason

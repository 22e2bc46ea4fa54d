"""The engines that are known here, with one record for each.

    ServerEngine("llama-server").record.package  ->  "xllamacpp"

A record has all names of an engine, and how its server is recognized, started and constrained.
To support another engine, add a record here, and

- for `probe`, a class of its server in `engines/probe_engines.py`, listed in its `PROBES`;
- for `engines`, a reader by its parsers in `engines/engine_worker/`;
- for a plugin, its module, and how it is checked in `engines/environment_worker.py`.

`decode --server`, `serve` and the options of all commands need nothing but the record.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    # The command line imports this at each start, and conversations need more than names do.
    from .conversation import Json


class ParserFlags(NamedTuple):
    """The flags that choose an engine's parsers by name when its server is started."""

    reasoning: str = "--reasoning-parser"
    """The flag that chooses the reasoning parser, such as `"--reasoning-parser"`."""
    tools: str = "--tool-call-parser"
    """The flag that chooses the parser of tool calls, such as `"--tool-call-parser"`."""

    def command(self, *, reasoning: str | None, tools: str | None) -> str:
        """Return the flags for these parsers, e.g. `"--reasoning-parser qwen3"`, none for None."""
        chosen = ((self.reasoning, reasoning), (self.tools, tools))
        return " ".join(f"{flag} {name}" for flag, name in chosen if name is not None)


class EngineRecord(NamedTuple):
    """Everything that commands need to know of an engine."""

    title: str
    """Its name in running text, e.g. `"llama.cpp"`."""
    package: str
    """The module that has its parsers, e.g. `"xllamacpp"`."""
    owner: str
    """`owned_by` in its server's list of models, e.g. `"llamacpp"`."""
    grammar_form: Literal["ebnf", "gbnf"]
    """The form of grammars that it compiles; xgrammar's is `"ebnf"`."""
    grammar_field: tuple[str, ...]
    """The path of a grammar in a request, e.g. `("structured_outputs", "grammar")`."""
    marker_fields: Mapping[str, Json] = MappingProxyType({})
    """Fields of a request that keep markers in the answer, e.g. `{"skip_special_tokens": False}`.

    Without them a server removes special tokens, and a parser sees text without markup.
    """
    preserved_field: str = ""
    """The field that lists markers to keep, e.g. `"preserved_tokens"`; empty if it has none."""
    marker_ids: bool = False
    """Whether its grammars refer to markers by token id, as GBNF's `<[151657]>` does."""
    own_completion: bool = False
    """Whether it is asked at `/completion`, with fields of its own, not at `/v1/completions`.

    llama-server reports ids, token counts and cached tokens only there.
    """
    completion_fields: Mapping[str, Json] = MappingProxyType({})
    """Fields of a request for text that ask for ids and counts, e.g. `{"return_tokens": True}`."""
    template_flag: str = "--chat-template"
    """The flag that names a file with the template, e.g. `"--chat-template-file"`."""
    jinja_flag: str = ""
    """The flag without which it does not render the template, e.g. `"--jinja"`; empty if none."""
    content_flag: str = ""
    """The flag with which it gives the template content as text, not as parts, e.g.
    `"--chat-template-content-format string"`; empty if none."""
    parser_flags: ParserFlags | None = ParserFlags()
    """The flags that choose its parsers, or None if it derives a parser from the template, as
    `"llama.cpp"` does."""
    parser_endpoints: bool = False
    """Whether its server can parse a text with any of its parsers, as SGLang's can, so that a probe
    can rank them. The parsers of other engines are ranked in the Python in which the engine
    is installed."""


class ServerEngine(StrEnum):
    """An engine; the value is its name in options and in reports, e.g. `"llama-server"`."""

    VLLM = "vllm"
    SGLANG = "sglang"
    LLAMA_SERVER = "llama-server"

    @property
    def record(self) -> EngineRecord:
        """Everything that commands need to know of the engine."""
        return _RECORDS[self]


_RECORDS: Mapping[ServerEngine, EngineRecord] = {
    ServerEngine.VLLM: EngineRecord(
        title="vLLM",
        package="vllm",
        owner="vllm",
        grammar_form="ebnf",
        grammar_field=("structured_outputs", "grammar"),
        marker_fields={
            # The prompt is rendered already, including its first token.
            "add_special_tokens": False,
            "skip_special_tokens": False,
            "spaces_between_special_tokens": False,
        },
        completion_fields={"stream_options": {"include_usage": True}, "return_token_ids": True},
        content_flag="--chat-template-content-format string",
    ),
    ServerEngine.SGLANG: EngineRecord(
        title="SGLang",
        package="sglang",
        owner="sglang",
        grammar_form="ebnf",
        grammar_field=("ebnf",),
        marker_fields={"skip_special_tokens": False},
        completion_fields={"stream_options": {"include_usage": True}},
        parser_endpoints=True,
    ),
    ServerEngine.LLAMA_SERVER: EngineRecord(
        title="llama.cpp",
        package="xllamacpp",
        owner="llamacpp",
        grammar_form="gbnf",
        grammar_field=("grammar",),
        preserved_field="preserved_tokens",
        marker_ids=True,
        own_completion=True,
        completion_fields={"return_tokens": True, "cache_prompt": True},
        template_flag="--chat-template-file",
        jinja_flag="--jinja",
        parser_flags=None,
    ),
}

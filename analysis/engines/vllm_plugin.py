"""vLLM's plugin: the entry point `vllm.general_plugins` calls `register` in each of its processes.

This module alone imports vLLM, and not before it is called.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

from .vllm_parsers import ReasoningHalf, ToolHalf, VllmMessages, WholeParser

NAME = "autoparser"
"""What `--tool-call-parser` and `--reasoning-parser` are given."""


def register() -> None:
    """Register both parsers, and the whole one where both names, or the only one, are ours.

    vLLM has no registry of whole parsers: its manager composes one of the pair, and what it has
    composed is put behind `WholeParser`. A vLLM without that manager has the pair.
    """
    protocol: Any = import_module("vllm.entrypoints.generate.base.protocol")
    messages = VllmMessages(
        delta=protocol.DeltaMessage,
        delta_call=protocol.DeltaToolCall,
        delta_function=protocol.DeltaFunctionCall,
        call=protocol.ToolCall,
        function=protocol.FunctionCall,
        extracted=protocol.ExtractedToolCallInformation,
        constraint=_attribute("vllm.sampling_params", "StructuredOutputsParams"),
    )
    tools, thoughts = (
        _attribute("vllm.tool_parsers", "ToolParserManager"),
        _attribute("vllm.reasoning", "ReasoningParserManager"),
    )
    tool_base = _attribute("vllm.tool_parsers.abstract_tool_parser", "ToolParser")
    thought_base = _attribute("vllm.reasoning.abs_reasoning_parsers", "ReasoningParser")
    given = {"messages": messages}
    tools.register_module(NAME, module=type("AutoparserToolParser", (ToolHalf, tool_base), given))
    thoughts.register_module(
        NAME, module=type("AutoparserReasoningParser", (ReasoningHalf, thought_base), given)
    )
    _compose_whole(messages)
    log_as_server()


def log_as_server() -> None:
    """Make lines of the server's log of what this package logs.

    vLLM gives a handler to its own logger alone, and the root of a running server (0.32) takes
    errors only, so that a warning of another package shows nowhere.
    """
    log = logging.getLogger("autoparser")
    if not any(isinstance(each, _ServerLog) for each in log.handlers):
        log.addHandler(_ServerLog())
        log.setLevel(logging.WARNING)
        log.propagate = False


class _ServerLog(logging.Handler):
    """Hands records to vLLM's logger, whatever its handlers are by then."""

    def emit(self, record: logging.LogRecord) -> None:
        """Let vLLM's handlers write it."""
        logging.getLogger("vllm").handle(record)


def _attribute(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def _compose_whole(messages: VllmMessages) -> None:
    """Let vLLM's manager put the whole parser in front of a pair of ours."""
    try:
        manager = _attribute("vllm.parser.parser_manager", "ParserManager")
    except (ImportError, AttributeError):
        return
    composed: Any = getattr(manager, "_compose_parser", None)
    if composed is None or getattr(composed, "autoparser", False):
        return

    def compose(cls: type, *args: Any, **options: Any) -> Any:
        pair = composed.__func__(cls, *args, **options)
        names = {options.get("tool_parser_name"), options.get("reasoning_parser_name")}
        if pair is None or names - {None, ""} != {NAME}:
            return pair
        return type("AutoparserParser", (WholeParser, pair), {"messages": messages})

    compose.autoparser = True  # type: ignore[attr-defined] # registered twice, it wraps once
    manager._compose_parser = classmethod(compose)  # noqa: SLF001 - there is no public way

"""What an environment has of engines and plugins, as one line of JSON: run by its own Python.

Contract: it is passed as a text to another Python, which may have none of this package's packages,
so that it imports the standard library alone, and an engine only with `--import`. What engines
print goes to standard error.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module, metadata
from typing import Any

PACKAGE = "autoparser-chat"
NAME = "autoparser"
GROUPS = {"vllm": "vllm.general_plugins", "sglang": "sglang.srt.plugins"}
ALLOWED = {"vllm": "VLLM_PLUGINS", "sglang": "SGLANG_PLUGINS"}
"""Variables that name the plugins that alone are loaded."""
LIBRARIES = ("llguidance", "xgrammar", "transformers")


_VLLM_TOOLS = "vllm.tool_parsers.abstract_tool_parser:ToolParser"
_VLLM_THOUGHTS = "vllm.reasoning.abs_reasoning_parsers:ReasoningParser"
_VLLM_MESSAGES = "vllm.entrypoints.generate.base.protocol"
_VLLM_WHOLE = "vllm.parser.abstract_parser:Parser"
_TEXTS = "previous_text current_text delta_text"
_IDS = "previous_token_ids current_token_ids delta_token_ids"
_SGLANG_TOOLS = "sglang.srt.function_call.base_format_detector:BaseFormatDetector"
_SGLANG_THOUGHTS = "sglang.srt.parser.reasoning_parser"
_SGLANG_THINKER = f"{_SGLANG_THOUGHTS}:BaseReasoningFormatDetector"
_SGLANG_CHAT = "sglang.srt.entrypoints.openai.serving_chat:OpenAIServingChat"
HOOKS: Mapping[str, Mapping[str, str]] = {
    "vllm": {
        "vllm.plugins:load_general_plugins": "",
        "vllm.tool_parsers:ToolParserManager.register_module": "name module",
        "vllm.tool_parsers:ToolParserManager.get_tool_parser": "name",
        "vllm.reasoning:ReasoningParserManager.register_module": "name module",
        "vllm.reasoning:ReasoningParserManager.get_reasoning_parser": "name",
        f"{_VLLM_TOOLS}.__init__": "tokenizer tools",
        f"{_VLLM_TOOLS}.adjust_request": "request",
        f"{_VLLM_TOOLS}.extract_tool_calls": "model_output request",
        f"{_VLLM_TOOLS}.extract_tool_calls_streaming": f"{_TEXTS} {_IDS} request",
        f"{_VLLM_TOOLS}.supports_required_and_named": "",
        f"{_VLLM_TOOLS}.engine_based_streaming": "",
        f"{_VLLM_THOUGHTS}.__init__": "tokenizer",
        f"{_VLLM_THOUGHTS}.adjust_request": "request",
        f"{_VLLM_THOUGHTS}.adjust_initial_state_from_prompt": "prompt_token_ids",
        f"{_VLLM_THOUGHTS}.is_reasoning_end": "input_ids",
        f"{_VLLM_THOUGHTS}.is_reasoning_end_streaming": "input_ids delta_ids",
        f"{_VLLM_THOUGHTS}.extract_content_ids": "input_ids",
        f"{_VLLM_THOUGHTS}.count_reasoning_tokens": "token_ids",
        f"{_VLLM_THOUGHTS}.extract_reasoning": "model_output request",
        f"{_VLLM_THOUGHTS}.extract_reasoning_streaming": f"{_TEXTS} {_IDS}",
        f"{_VLLM_THOUGHTS}.has_engine_confirmed_reasoning_end": "",
        # There is no public way to the whole answer; docs/engines/vllm-proposal.md asks for one.
        "vllm.parser.parser_manager:ParserManager._compose_parser": (
            "tool_parser_name reasoning_parser_name"
        ),
        f"{_VLLM_WHOLE}.adjust_request": "request",
        f"{_VLLM_WHOLE}.is_reasoning_end": "input_ids",
        f"{_VLLM_WHOLE}.set_prompt_token_ids": "prompt_token_ids",
        f"{_VLLM_WHOLE}.parse": "model_output request enable_auto_tools model_output_token_ids",
        f"{_VLLM_WHOLE}.parse_delta": (
            "delta_text delta_token_ids request prompt_token_ids finished"
        ),
        f"{_VLLM_MESSAGES}:DeltaMessage": "content reasoning tool_calls",
        f"{_VLLM_MESSAGES}:DeltaToolCall": "id type index function",
        f"{_VLLM_MESSAGES}:DeltaFunctionCall": "name arguments",
        f"{_VLLM_MESSAGES}:ToolCall": "id function",
        f"{_VLLM_MESSAGES}:FunctionCall": "id name arguments",
        f"{_VLLM_MESSAGES}:ExtractedToolCallInformation": "tools_called tool_calls content",
        "vllm.sampling_params:StructuredOutputsParams": "structural_tag",
    },
    "sglang": {
        "sglang.srt.plugins:load_plugins": "",
        "sglang.srt.function_call.core_types:StreamingParseResult": "normal_text calls",
        "sglang.srt.function_call.core_types:ToolCallItem": "tool_index name parameters",
        "sglang.srt.function_call.function_call_parser:FunctionCallParser.ToolCallParserEnum": "",
        f"{_SGLANG_TOOLS}.detect_and_parse": "text tools",
        f"{_SGLANG_TOOLS}.parse_streaming_increment": "new_text tools",
        f"{_SGLANG_TOOLS}.finish": "tools",
        f"{_SGLANG_TOOLS}.has_tool_call": "text",
        f"{_SGLANG_TOOLS}.structure_info": "",
        f"{_SGLANG_TOOLS}.supports_structural_tag": "",
        f"{_SGLANG_TOOLS}.parses_required_natively": "",
        f"{_SGLANG_TOOLS}.get_structural_tag": (
            "tools tool_choice thinking_mode parallel_tool_calls"
        ),
        f"{_SGLANG_THOUGHTS}:ReasoningParser.DetectorMap": "",
        f"{_SGLANG_THOUGHTS}:StreamingParseResult": "normal_text reasoning_text",
        f"{_SGLANG_THINKER}.__init__": "think_start_token think_end_token reasoning_default",
        f"{_SGLANG_THINKER}.detect_and_parse": "text",
        f"{_SGLANG_THINKER}.parse_streaming_increment": "new_text",
        f"{_SGLANG_THINKER}.finish": "",
        "sglang.srt.plugins.hook_registry:HookRegistry.register": "target hook hook_type",
        f"{_SGLANG_CHAT}._get_reasoning_from_request": "request",
        f"{_SGLANG_CHAT}._process_messages": "request",
        f"{_SGLANG_CHAT}._effective_tools": "request",
        f"{_SGLANG_CHAT}._convert_to_internal_request": "request",
        f"{_SGLANG_THOUGHTS}:ReasoningParser.__init__": "model_type force_reasoning request",
        "xgrammar:StructuralTag.model_validate": "",
    },
}
"""What the plugins use of each engine or put in its place: the parameters that it takes, by its
place. A release of the engine that moves one is seen here first."""

_UNTOLD = "its detectors are told of no request and infer whether the prompt opens reasoning"
WITHOUT: Mapping[str, str] = {
    "vllm.parser.parser_manager:ParserManager._compose_parser": (
        "both names work, each for its half: none sees whether an answer was cut"
    ),
    "sglang.srt.plugins.hook_registry:HookRegistry.register": _UNTOLD,
    f"{_SGLANG_CHAT}._get_reasoning_from_request": _UNTOLD,
    f"{_SGLANG_CHAT}._process_messages": (
        "requests without tools have to send skip_special_tokens=false"
    ),
    f"{_SGLANG_CHAT}._effective_tools": _UNTOLD,
    f"{_SGLANG_CHAT}._convert_to_internal_request": _UNTOLD,
    f"{_SGLANG_THOUGHTS}:ReasoningParser.__init__": _UNTOLD,
}
"""The hooks that a plugin can do without, and the effect of a missing one."""


def moved_hooks(engine: str) -> dict[str, str | None]:
    """Return the hooks that an installed engine does not have as the plugin expects them.

    The value is what the engine is like without the hook, or None where nothing works then. It has
    to be asked before the engine's plugins are loaded, since ours are in the place of some.
    """
    moved: dict[str, str | None] = {}
    for place, parameters in HOOKS[engine].items():
        lacking = _lacking(place, parameters.split())
        if lacking:
            moved[f"{place} ({lacking})"] = WITHOUT.get(place)
    return moved


def _lacking(place: str, parameters: list[str]) -> str:
    module, _, path = place.partition(":")
    try:
        found: Any = import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError):
        return "not there"
    if not parameters:
        return ""
    try:
        taken = inspect.signature(found).parameters
    except (TypeError, ValueError):
        return "not callable"
    if any(each.kind is each.VAR_KEYWORD for each in taken.values()):
        return ""
    absent = [name for name in parameters if name not in taken]
    return f"no parameter {', '.join(absent)}" if absent else ""


def version_of(name: str) -> str | None:
    """Return the installed version."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def needs_of(name: str) -> list[str]:
    """Return what a distribution requires, without the extras."""
    try:
        return [each for each in metadata.requires(name) or [] if "extra ==" not in each]
    except metadata.PackageNotFoundError:
        return []


def points_of(group: str) -> list[dict[str, str]]:
    """Return the entry points of this package's name, with their distributions."""
    found = metadata.entry_points(group=group, name=NAME)
    return [
        {"value": each.value, "package": each.dist.name if each.dist is not None else ""}
        for each in found
    ]


def registered_in_vllm() -> dict[str, bool]:
    """Load vLLM's plugins as its server does, and look for the names."""
    load: Any = import_module("vllm.plugins")
    load.load_general_plugins()
    calls: Any = import_module("vllm.tool_parsers").ToolParserManager
    thoughts: Any = import_module("vllm.reasoning").ReasoningParserManager
    return {
        "calls": _knows(calls.get_tool_parser),
        "reasoning": _knows(thoughts.get_reasoning_parser),
    }


def registered_in_sglang() -> dict[str, bool]:
    """Load SGLang's plugins as its server does, and look for the names."""
    load: Any = import_module("sglang.srt.plugins")
    load.load_plugins()
    calls: Any = import_module("sglang.srt.function_call.function_call_parser")
    thoughts: Any = import_module("sglang.srt.parser.reasoning_parser")
    return {
        "calls": NAME in calls.FunctionCallParser.ToolCallParserEnum,
        "reasoning": NAME in thoughts.ReasoningParser.DetectorMap,
    }


def _knows(get: Callable[[str], object]) -> bool:
    try:
        return get(NAME) is not None
    except (KeyError, ValueError):
        return False


REGISTERED = {"vllm": registered_in_vllm, "sglang": registered_in_sglang}


def vllm_without_template() -> list[str]:
    """Return the tokenizer modes whose prompts vLLM renders by code of its own."""
    registry: Any = import_module("vllm.renderers.registry")
    held = registry.RENDERER_REGISTRY.renderers
    return sorted(mode for mode, (_, name) in held.items() if name != "HfRenderer")


def sglang_without_template() -> list[str]:
    """Return the encodings of chats by which SGLang renders prompts without a template."""
    adapters: Any = import_module("sglang.srt.entrypoints.openai.chat_encoding_adapters")
    return sorted(adapters._BUILDERS)  # noqa: SLF001 - there is no public list


WITHOUT_TEMPLATE = {"vllm": vllm_without_template, "sglang": sglang_without_template}


def describe_environment(imports: bool) -> dict[str, Any]:
    """Return what there is; with `imports`, whether the names are registered."""
    # An engine's distributions may have other names than its module.
    distributions = metadata.packages_distributions()
    engines: dict[str, Any] = {}
    for engine, group in GROUPS.items():
        version = version_of(engine)
        facts: dict[str, Any] = {
            "version": version,
            "needs": [need for name in distributions.get(engine, ()) for need in needs_of(name)],
            "points": points_of(group),
            "allowed": os.environ.get(ALLOWED[engine]),
            "registered": None,
            "moved": {},
            "own_prompts": [],
            "failure": "",
        }
        if imports and version:
            try:
                facts["moved"] = moved_hooks(engine)
                facts["registered"] = REGISTERED[engine]()
                with suppress(ImportError, AttributeError):
                    facts["own_prompts"] = WITHOUT_TEMPLATE[engine]()
            except BaseException as error:  # noqa: BLE001 - an engine may fail in any way
                facts["failure"] = f"{type(error).__name__}: {error}"
        engines[engine] = facts
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "package": version_of(PACKAGE),
        "needs": needs_of(PACKAGE),
        "libraries": {name: version_of(name) for name in LIBRARIES},
        "engines": engines,
    }


def main(imports: bool) -> None:
    """Print it where nothing else is printed."""
    # A server's command does not look into the current folder, which may hold a checkout.
    sys.path[:] = [path for path in sys.path if path]
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with answer:
        json.dump(describe_environment(imports), answer)


if __name__ == "__main__":
    main("--import" in sys.argv)

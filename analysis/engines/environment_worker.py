"""Print the engines and plugins of an environment as a line of JSON; run by its own Python.

Contract: its text is passed to another Python, which may lack this package and its requirements,
so it imports the standard library alone, and an engine only with `--import`. The output of engines
goes to standard error.

For example, how a function is checked for the parameters that a plugin passes:

    _lacking("textwrap:dedent", ["text", "margin"])  ->  "no parameter margin"
    _lacking("json:nope", [])                        ->  "not there"
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module, metadata
from typing import Any, NamedTuple

PACKAGE = "autoparser-chat"
NAME = "autoparser"
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
_VLLM_HOOKS = {
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
    # vLLM has no public hook for whole answers; docs/engines/vllm-proposal.md proposes one.
    "vllm.parser.parser_manager:ParserManager._compose_parser": (
        "tool_parser_name reasoning_parser_name"
    ),
    f"{_VLLM_WHOLE}.adjust_request": "request",
    f"{_VLLM_WHOLE}.is_reasoning_end": "input_ids",
    f"{_VLLM_WHOLE}.set_prompt_token_ids": "prompt_token_ids",
    f"{_VLLM_WHOLE}.parse": "model_output request enable_auto_tools model_output_token_ids",
    f"{_VLLM_WHOLE}.parse_delta": ("delta_text delta_token_ids request prompt_token_ids finished"),
    f"{_VLLM_MESSAGES}:DeltaMessage": "content reasoning tool_calls",
    f"{_VLLM_MESSAGES}:DeltaToolCall": "id type index function",
    f"{_VLLM_MESSAGES}:DeltaFunctionCall": "name arguments",
    f"{_VLLM_MESSAGES}:ToolCall": "id function",
    f"{_VLLM_MESSAGES}:FunctionCall": "id name arguments",
    f"{_VLLM_MESSAGES}:ExtractedToolCallInformation": "tools_called tool_calls content",
    "vllm.sampling_params:StructuredOutputsParams": "structural_tag",
}
_SGLANG_HOOKS = {
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
    f"{_SGLANG_TOOLS}.get_structural_tag": ("tools tool_choice thinking_mode parallel_tool_calls"),
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
}

_UNTOLD = "its detectors do not receive the request, and infer whether the prompt opens reasoning"
WITHOUT: Mapping[str, str] = {
    "vllm.parser.parser_manager:ParserManager._compose_parser": (
        "both names work, each for its half: neither sees whether an answer was truncated"
    ),
    "sglang.srt.plugins.hook_registry:HookRegistry.register": _UNTOLD,
    f"{_SGLANG_CHAT}._get_reasoning_from_request": _UNTOLD,
    f"{_SGLANG_CHAT}._process_messages": (
        "requests without tools must send skip_special_tokens=false"
    ),
    f"{_SGLANG_CHAT}._effective_tools": _UNTOLD,
    f"{_SGLANG_CHAT}._convert_to_internal_request": _UNTOLD,
    f"{_SGLANG_THOUGHTS}:ReasoningParser.__init__": _UNTOLD,
}
"""The hooks that a plugin can do without, and the effect of a missing one."""


class EnginePlugin(NamedTuple):
    """An engine's requirements for this package's plugin, and the check of its registration."""

    group: str
    """The group of its entry points, e.g. `"vllm.general_plugins"`."""
    allowed: str
    """The variable that restricts which plugins are loaded, e.g. `"VLLM_PLUGINS"`."""
    hooks: Mapping[str, str]
    """By place, e.g. `"vllm.reasoning:ReasoningParserManager.register_module"`, the parameters
    that the plugin passes there. If a release of the engine moves one, the check reports it."""
    registered: Callable[[], dict[str, bool]]
    """Loads the plugins, and returns whether the engine has the names of both parsers, e.g.
    `{"calls": True, "reasoning": True}`."""
    own_prompts: Callable[[], list[str]]
    """Returns the kinds of models whose prompts the engine renders without the template, e.g. the
    tokenizer mode `"mistral"`."""
    own_prompts_words: str
    """These kinds of models, and the parser of their answers, in words, e.g.
    `"but for models of gpt-oss, by Harmony, …"`."""


def moved_hooks(engine: str) -> dict[str, str | None]:
    """Return the hooks that an installed engine does not have as the plugin expects them.

    The value is the effect of the missing hook, or None if nothing works without it. Call this
    before the engine's plugins are loaded, since ours replaces some hooks.
    """
    moved: dict[str, str | None] = {}
    for place, parameters in PLUGINS[engine].hooks.items():
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
    # The plugin passes no argument there, so that any signature fits.
    if not parameters:
        return ""
    try:
        taken = inspect.signature(found).parameters
    except (TypeError, ValueError):
        return "not callable"
    # The function accepts any keyword.
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values()):
        return ""
    absent = [name for name in parameters if name not in taken]
    return f"no parameter {', '.join(absent)}" if absent else ""


def installed_version(name: str) -> str | None:
    """Return the installed version of a distribution, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def requirements(name: str) -> list[str]:
    """Return the requirements of a distribution, without its extras."""
    try:
        # Extras are optional, so they are left out.
        return [need for need in metadata.requires(name) or [] if "extra ==" not in need]
    except metadata.PackageNotFoundError:
        return []


def entry_points(group: str) -> list[dict[str, str]]:
    """Return the entry points of this package's name, with their distributions."""
    found = metadata.entry_points(group=group, name=NAME)
    return [
        {"value": point.value, "package": point.dist.name if point.dist is not None else ""}
        for point in found
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
        # Some registries raise for an unknown name, others return None.
        return get(NAME) is not None
    except (KeyError, ValueError):
        return False


def vllm_without_template() -> list[str]:
    """Return the tokenizer modes whose prompts vLLM renders by code of its own."""
    registry: Any = import_module("vllm.renderers.registry")
    held = registry.RENDERER_REGISTRY.renderers
    # Only this renderer applies the model's own template.
    return sorted(mode for mode, (_, name) in held.items() if name != "HfRenderer")


def sglang_without_template() -> list[str]:
    """Return the encodings of chats by which SGLang renders prompts without a template."""
    adapters: Any = import_module("sglang.srt.entrypoints.openai.chat_encoding_adapters")
    return sorted(adapters._BUILDERS)  # noqa: SLF001 - there is no public list


PLUGINS: Mapping[str, EnginePlugin] = {
    "vllm": EnginePlugin(
        "vllm.general_plugins",
        "VLLM_PLUGINS",
        _VLLM_HOOKS,
        registered_in_vllm,
        vllm_without_template,
        "except for gpt-oss models, which Harmony renders, and the tokenizer modes {}; the plugin"
        " parses their answers if the tokenizer is a fast one; docs/engines/vllm.md",
    ),
    "sglang": EnginePlugin(
        "sglang.srt.plugins",
        "SGLANG_PLUGINS",
        _SGLANG_HOOKS,
        registered_in_sglang,
        sglang_without_template,
        "except for models with the encodings {}, whose answers it also parses itself;"
        " docs/engines/sglang.md",
    ),
}
"""The engines that load the plugin, by module."""


def describe_environment(imports: bool) -> dict[str, Any]:
    """Describe the environment; with `imports`, also whether the names are registered."""
    # An engine's distributions may have other names than its module.
    distributions = metadata.packages_distributions()
    engines: dict[str, Any] = {}
    for engine, plugin in PLUGINS.items():
        version = installed_version(engine)
        facts: dict[str, Any] = {
            "version": version,
            "needs": [
                need for name in distributions.get(engine, ()) for need in requirements(name)
            ],
            "points": entry_points(plugin.group),
            "allowed": os.environ.get(plugin.allowed),
            "registered": None,
            "moved": {},
            "own_prompts": [],
            "failure": "",
        }
        if imports and version:
            try:
                # Check before loading the plugins, since ours replaces some of the hooks.
                facts["moved"] = moved_hooks(engine)
                facts["registered"] = plugin.registered()
                # Only a remark depends on these: without them the check goes on.
                with suppress(ImportError, AttributeError):
                    facts["own_prompts"] = plugin.own_prompts()
            # Some engines raise SystemExit while they are imported.
            except BaseException as error:  # noqa: BLE001 - an engine may fail in any way
                facts["failure"] = f"{type(error).__name__}: {error}"
        engines[engine] = facts
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "package": installed_version(PACKAGE),
        "needs": requirements(PACKAGE),
        "libraries": {name: installed_version(name) for name in LIBRARIES},
        "engines": engines,
    }


def main(imports: bool) -> None:
    """Print the description where an engine cannot print."""
    # A server's command does not look into the current folder, which may hold a checkout.
    sys.path[:] = [path for path in sys.path if path]
    # Engines print while they are imported, so that only the copy of stdout is clean.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with answer:
        json.dump(describe_environment(imports), answer)


if __name__ == "__main__":
    main("--import" in sys.argv)

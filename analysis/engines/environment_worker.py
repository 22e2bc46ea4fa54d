"""What an environment has of engines and plugins, as one line of JSON: run by its own Python.

Contract: it is passed as a text to another Python, which may have none of this package's packages,
so that it imports the standard library alone, and an engine only with `--import`. What engines
print goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module, metadata
from typing import Any

PACKAGE = "autoparser-chat"
NAME = "autoparser"
GROUPS = {"vllm": "vllm.general_plugins", "sglang": "sglang.srt.plugins"}
ALLOWED = {"vllm": "VLLM_PLUGINS", "sglang": "SGLANG_PLUGINS"}
"""Variables that name the plugins that alone are loaded."""
LIBRARIES = ("llguidance", "xgrammar", "transformers")


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
            "failure": "",
        }
        if imports and version:
            try:
                facts["registered"] = REGISTERED[engine]()
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
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with answer:
        json.dump(describe_environment(imports), answer)


if __name__ == "__main__":
    main("--import" in sys.argv)

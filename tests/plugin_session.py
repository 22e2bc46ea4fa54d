"""Play a server's first requests with the plugins, in an environment that may lack packages.

    python plugin_session.py TEMPLATE [MODULE ...]

A tokenizer and stand-ins of vLLM's and SGLang's classes take the place of a server. If modules are
named, no others can be imported, as if they were not installed. The last line is JSON: the calls
that were read, and the imported packages.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

BROUGHT = {"attr", "attrs", "idna", "jsonschema_specifications", "rpds", "typing_extensions"}
"""Imported by the requirements themselves."""
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "format": "date"}, "n": {"$ref": "#/x"}},
                "required": ["city"],
                "x": {"enum": [1, 2]},
            },
        },
    }
]
CALL = '{"name": "get_weather", "arguments": {"city": "2026-01-01"}}'
ANSWER = f"<think>\nhm\n</think>\n\n<tool_call>\n{CALL}\n</tool_call>"


class NamedAlone(MetaPathFinder):
    """Finds nothing, and refuses the packages that are not named."""

    def __init__(self, names: Collection[str]) -> None:
        self._known = {"autoparser", *names, *BROUGHT, *sys.stdlib_module_names}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        top = fullname.partition(".")[0]
        if top not in self._known and not top.startswith("__editable__"):
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


def _request(choice: object) -> SimpleNamespace:
    return SimpleNamespace(
        tools=TOOLS,
        tool_choice=choice,
        parallel_tool_calls=True,
        include_reasoning=True,
        skip_special_tokens=True,
        structured_outputs=None,
        response_format=None,
    )


class _Engine:
    reasoning_parser_cls = tool_parser_cls = object

    def __init__(self, *args: object, **kwargs: object) -> None:
        self.given = (args, kwargs)


def main(template: Path) -> None:
    """Play a server's first requests, and print the results."""
    # Leave the cache of the person who runs the tests alone.
    os.environ["AUTOPARSER_CACHE"] = ""
    from autoparser.analysis.engines import sglang_plugin, vllm_plugin
    from autoparser.analysis.sources.token_bytes import byte_tokenizer

    inner = byte_tokenizer([("<|im_start|>", True), ("<|im_end|>", True), ("<think>", False)])
    tokenizer = SimpleNamespace(
        backend_tokenizer=inner,
        chat_template=template.read_text("utf-8"),
        eos_token_id=inner.token_to_id("<|im_end|>"),
    )
    value: Any = SimpleNamespace
    fields = dict.fromkeys(vllm_plugin.VllmMessages.__dataclass_fields__, value)
    given = {"messages": vllm_plugin.VllmMessages(**fields)}
    whole: Any = type("Whole", (vllm_plugin.WholeParser, _Engine), given)
    found: list[Any] = []
    for choice in ("auto", "required", "none"):
        parser, request = whole(tokenizer, TOOLS), _request(choice)
        parser.adjust_request(request)
        ids = inner.encode(ANSWER, add_special_tokens=False).ids
        prompt = inner.encode("<|im_start|>assistant\n", add_special_tokens=False).ids
        parser.set_prompt_token_ids(prompt)
        thought, _, calls = parser.parse(ANSWER, request, True, ids)
        tag = getattr(request.structured_outputs, "structural_tag", None)
        found.append([thought, [call.name for call in calls or ()], tag is not None])
    detector: Any = type(
        "Detector",
        (sglang_plugin.ToolDetector, _Engine),
        {"results": sglang_plugin.SglangResults(value, value, value, lambda tag: tag)},
    )(tokenizer)
    found.append([call.name for call in detector.detect_and_parse(ANSWER, TOOLS).calls])
    tops = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
    print(json.dumps({"read": found, "imported": sorted(tops)}))  # noqa: T201 - its result


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.meta_path.insert(0, NamedAlone(sys.argv[2:]))
    main(Path(sys.argv[1]))

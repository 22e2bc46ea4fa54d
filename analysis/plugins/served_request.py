"""What an engine's request asks for, as plain values; engines hold it in classes of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import msgspec

from autoparser.analysis.core.conversation import function_of
from autoparser.analysis.core.value_kind import is_mapping

__all__ = ["ServedRequest", "served_request"]


@runtime_checkable
class _Dumps(Protocol):
    """A model of pydantic."""

    def model_dump(self) -> dict[str, object]:
        """Return it as plain values."""
        ...


@dataclass(frozen=True)
class ServedRequest:
    """What of a request decides how its answer is written and read."""

    tools: tuple[Mapping[str, object], ...] = ()
    tool_choice: object = "auto"
    parallel: bool = True
    json_schema: Mapping[str, object] | None = None
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    """The request's `chat_template_kwargs`; the format takes those that are its switches."""

    @property
    def forced(self) -> bool:
        """Whether a call has to be made."""
        return bool(self.tools) and self.tool_choice not in ("auto", "none")

    @property
    def strict(self) -> bool:
        """Whether arguments of a call that may be made are held to a schema."""
        marked = any(function_of(tool).get("strict") is True for tool in self.tools)
        return self.tool_choice == "auto" and marked


def served_request(
    request: object,
    *,
    tools: Sequence[object] | None = None,
    settings: Mapping[str, object] | None = None,
) -> ServedRequest:
    """Read a request of Chat Completions or Responses; `tools` stand for its own where given."""
    offered: Any = getattr(request, "tools", None) if tools is None else tools
    choice = _plain(getattr(request, "tool_choice", None))
    plain = tuple(map(_tool, offered or ()))
    return ServedRequest(
        tools=plain,
        tool_choice="none" if not plain else choice or "auto",
        parallel=getattr(request, "parallel_tool_calls", None) is not False,
        json_schema=_answer_schema(_plain(getattr(request, "response_format", None))),
        settings=settings or {},
    )


def _plain(value: object) -> object:
    if isinstance(value, msgspec.Struct):
        # SGLang's native endpoints have such; as builtins they would be arrays without names.
        return {name: _plain(each) for name, each in msgspec.structs.asdict(value).items()}
    return value.model_dump() if isinstance(value, _Dumps) else value


def _tool(tool: object) -> Mapping[str, object]:
    """Return a tool as Chat Completions have it; Responses have no `function` around it."""
    plain: Any = _plain(tool)
    function = plain.get("function")
    if not is_mapping(function):
        function = {name: value for name, value in plain.items() if name != "type"}
    kept = {name: value for name, value in function.items() if value is not None}
    return {"type": "function", "function": kept}


def _answer_schema(form: object) -> Mapping[str, object] | None:
    if not is_mapping(form):
        return None
    if form.get("type") == "json_object":
        return {"type": "object"}
    if form.get("type") != "json_schema":
        return None
    held = form.get("json_schema")
    described = held if is_mapping(held) else form
    schema = described.get("json_schema", described.get("schema"))
    return schema if is_mapping(schema) else None

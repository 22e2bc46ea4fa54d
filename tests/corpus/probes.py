"""What a template shows, asked without the engine: plain renders of a few fixed conversations.

The numbers that the analysis is measured against come from here, so nothing here is shared with
the engine's negotiation: the shapes are written out, every one is tried, one that shows is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TypeAlias

from autoparser import ChatTemplate, TemplateRenderError

Value: TypeAlias = "bool | str | Sequence[Value] | Mapping[str, Value] | None"

TOKENS = {
    f"{name}_token": f"<{name}>" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
}

NAME, KEY, VALUE = "zqlookup", "wvplace", "xjoslo"
REASONING, CONTENT, USER, ANSWER = "kpponder", "hgreply", "bcquery", "mdresult"

ALIASES = ("reasoning_content", "thinking", "reasoning")
SWITCHES: tuple[Mapping[str, Value], ...] = (
    {},
    {"enable_thinking": True},
    {"enable_thinking": False},
    {"thinking": True},
    {"thinking": False},
)
IDS = ("aB3dE6gH1", f"functions.{NAME}:0")
ABSENT = "absent"
"""Stands for a message without a content key."""

FUNCTION: Mapping[str, Value] = {
    "name": NAME,
    "description": "Looks up.",
    "parameters": {
        "type": "object",
        "properties": {KEY: {"type": "string", "description": "Where."}},
        "required": [KEY],
    },
}
TOOLS: tuple[Sequence[Value] | None, ...] = ([{"type": "function", "function": FUNCTION}], None)


def render(
    template: ChatTemplate,
    messages: Sequence[Mapping[str, Value]],
    tools: Sequence[Value] | None = None,
    switches: Mapping[str, Value] | None = None,
) -> str:
    """Render; a refusal shows nothing."""
    variables: dict[str, object] = {
        **TOKENS,
        "messages": messages,
        "tools": tools,
        "documents": None,
        "add_generation_prompt": False,
        **(switches or {}),
    }
    try:
        return template.render_prepared(variables)
    except TemplateRenderError:
        return ""


def user_messages() -> tuple[list[Mapping[str, Value]], ...]:
    """Return the beginnings of a conversation that templates insist on."""
    user: Mapping[str, Value] = {"role": "user", "content": USER}
    parts: Mapping[str, Value] = {"role": "user", "content": [{"type": "text", "text": USER}]}
    return [user], [{"role": "system", "content": "Be brief."}, user], [parts]


def call_messages(call_id: str) -> Iterator[dict[str, Value]]:
    """Return assistant messages that make one call, in every shape."""
    contents: tuple[Value, ...] = (
        "",
        ABSENT,
        None,
        CONTENT,
        [{"type": "text", "text": CONTENT}],
    )
    forms: tuple[Value, ...] = ({KEY: VALUE}, f'{{"{KEY}": "{VALUE}"}}')
    for content, arguments, wrapped in product(contents, forms, (True, False)):
        function: Mapping[str, Value] = {"name": NAME, "arguments": arguments}
        call: Mapping[str, Value] = (
            {"id": call_id, "type": "function", "function": function}
            if wrapped
            else {"id": call_id, "type": "function", **function}
        )
        message: dict[str, Value] = {"role": "assistant", "tool_calls": [call]}
        if content is not ABSENT:
            message["content"] = content
        yield message


def renders_call(template: ChatTemplate) -> bool:
    """Whether some shape of a call shows its name (or an id that carries it), key and value."""
    if "tool_calls" not in template.text:
        return False  # Saves many renders: a field that is never named is never read.
    for call_id, message, tools, start in product(
        IDS, list(call_messages(IDS[0])), TOOLS, user_messages()
    ):
        call = _with_id(message, call_id)
        answer = {"role": "tool", "name": NAME, "tool_call_id": call_id, "content": ANSWER}
        for tail in ([], [answer]):
            text = render(template, [*start, call, *tail], tools)
            if VALUE in text and _shows_call(template, text, start, tools):
                return True
    return False


def _with_id(message: Mapping[str, Value], call_id: str) -> Mapping[str, Value]:
    calls = message["tool_calls"]
    assert isinstance(calls, list)
    return {**message, "tool_calls": [{**call, "id": call_id} for call in calls]}


def _shows_call(
    template: ChatTemplate,
    text: str,
    start: Sequence[Mapping[str, Value]],
    tools: Sequence[Value] | None,
) -> bool:
    """Whether name and key show more often than the tools alone explain."""
    told = {"role": "assistant", "content": CONTENT}
    answer = {"role": "tool", "name": NAME, "tool_call_id": IDS[0], "content": ANSWER}
    without = render(template, [*start, told], tools)
    answered = render(template, [*start, told, answer], tools)
    shown = max((without, answered), key=lambda other: other.count(NAME))
    return text.count(NAME) > shown.count(NAME) and text.count(KEY) > without.count(KEY)


def renders_reasoning(template: ChatTemplate) -> bool:
    """Whether some field of some message shows as reasoning."""
    aliases = [alias for alias in ALIASES if alias in template.text]
    for switches, alias, start in product(SWITCHES, aliases, user_messages()):
        for turns, tools in _reasoned_turns(alias):
            if REASONING in render(template, [*start, *turns], tools, switches):
                return True
    return False


def _reasoned_turns(
    alias: str,
) -> Iterator[tuple[list[Mapping[str, Value]], Sequence[Value] | None]]:
    contents: tuple[Value, ...] = (CONTENT, [{"type": "text", "text": CONTENT}])
    for content in contents:
        yield [{"role": "assistant", "content": content, alias: REASONING}], None
    answer = {"role": "tool", "name": NAME, "tool_call_id": IDS[0], "content": ANSWER}
    for message in call_messages(IDS[0]):
        if message.get("content") in ("", None, CONTENT):
            for tail in ([], [answer]):
                yield [{**message, alias: REASONING}, *tail], TOOLS[0]

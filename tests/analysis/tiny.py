"""Tiny templates, written inline: a turn, its parts, a few ways to write a call."""

from __future__ import annotations

from autoparser import ChatTemplate

USER = "{% if m.role == 'user' %}U:{{ m.content }}\n"
REASONING = "{% if m.reasoning_content %}(r){{ m.reasoning_content }}(/r){% endif %}"
CONTENT = "{{ m.content or '' }}"
JSON_CALL = '{"name": "{{ f.name }}", "arguments": {{ f.arguments|tojson }}}'


def calls(call: str = JSON_CALL, *, opening: str = "", separator: str = "", close: str = "") -> str:
    """Write the part of a template that writes calls; `call` reads `f`, and `c` for the id."""
    between = f"{{% if not loop.first %}}{separator}{{% endif %}}" if separator else ""
    return (
        f"{{% if m.tool_calls %}}{opening}"
        "{% for c in m.tool_calls %}{% set f = c.function %}"
        f"{between}{call}{{% endfor %}}{close}{{% endif %}}"
    )


def turn(*parts: str, opening: str = "A:", end: str = ".\n", prompt: str = "A:") -> ChatTemplate:
    """Return a template whose assistant turn has these parts."""
    return ChatTemplate(
        "{% for m in messages %}"
        f"{USER}{{% elif m.role == 'assistant' %}}{opening}{''.join(parts)}{end}"
        "{% elif m.role == 'tool' %}T:{{ m.content }}\n{% endif %}{% endfor %}"
        f"{{% if add_generation_prompt %}}{prompt}{{% endif %}}"
    )

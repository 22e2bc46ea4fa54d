"""Tiny templates, written inline: a turn, its parts, a few ways to write a call."""

from __future__ import annotations

from autoparser import ChatTemplate
from autoparser.analysis.core.conversation import tool_for
from autoparser.analysis.learning.observer import Observer
from autoparser.analysis.learning.prober import Prober, choose_sentinels
from autoparser.analysis.learning.shape_negotiation import Negotiated, negotiate_shape
from autoparser.analysis.learning.suggestions import suggest_values

USER = "{% if m.role == 'user' %}U:{{ m.content }}\n"
REASONING = "{% if m.reasoning_content %}(r){{ m.reasoning_content }}(/r){% endif %}"
CONTENT = "{{ m.content or '' }}"
JSON_CALL = '{"name": "{{ f.name }}", "arguments": {{ f.arguments|tojson }}}'
TAGGED_CALL = (
    "(call {{ f.name }}){% for k, v in f.arguments.items() %}[{{ k }}={{ v }}]{% endfor %}(end)"
)


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


def prober_of(template: ChatTemplate) -> Prober:
    """Return a prober in the plain shape, with one tool."""
    marks = choose_sentinels(template.text)
    tool = tool_for(marks.names[0], "Does it.", {marks.keys[0]: "string"})
    return Prober(template, marks, tokens={}, tools=[tool])


def negotiated(template: ChatTemplate) -> Negotiated:
    """Find the shape that a template takes."""
    return negotiate_shape(prober_of(template), suggest_values(template.syntax_tree))


def observer_of(template: ChatTemplate) -> Observer:
    """Observe turns in the shape that was found."""
    return Observer(negotiated(template).prober)

"""Formats that nobody has invented yet: parts put together by lot, each must reproduce itself.

Every way to write a call meets wrappers, reasoning, contents and frames that it was not made for.
"""

from __future__ import annotations

import random
from itertools import product
from typing import TypeAlias

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.analysis import analyze
from tests.analysis.tiny import CONTENT, JSON_CALL, REASONING, TAGGED_CALL, calls, turn

pytestmark = pytest.mark.slow

PAIRS = "{% for k, v in f.arguments.items() %}"
SHOWN = "{{ v if v is string else v|tojson }}"
NESTED = (
    "{% macro w(v) %}{% if v is mapping %}{% for k, x in v.items() %}"
    "<{{ k }}>{{ w(x) }}</{{ k }}>{% endfor %}"
    "{% elif v is iterable and v is not string %}"
    "{% for x in v %}<item>{{ w(x) }}</item>{% endfor %}"
    "{% elif v is boolean %}{{ 'true' if v else 'false' }}{% elif v is none %}null"
    "{% else %}{{ v }}{% endif %}{% endmacro %}"
)
COMMA = "{% if not loop.last %}, {% endif %}"


def paired(pair: str, opening: str = "<do {{ f.name }}>", close: str = "</do>") -> str:
    """Write a call pair by pair."""
    return f"{opening}{PAIRS}{pair}{{% endfor %}}{close}"


CALL_STYLES = {
    "none": "",
    "JSON": JSON_CALL,
    "JSON on lines in tags": f"<do>\n{JSON_CALL}\n</do>",
    "JSON of the caller's": "{{ c|tojson }}",
    "indented JSON": "{{ f|tojson(indent=4) }}",
    "arguments first": '{"arguments": {{ f.arguments|tojson }}, "name": "{{ f.name }}"}',
    "name as key": '{"{{ f.name }}": {{ f.arguments|tojson }}}',
    "a fence": "```json\n{{ f|tojson(indent=2) }}\n```",
    "a tag with JSON": "<do={{ f.name }}>{{ f.arguments|tojson }}</do>",
    "an id in front": "<|c|>{{ c.id }}<|n|>{{ f.name }}<|a|>{{ f.arguments|tojson }}<|/c|>",
    "an id behind": "{{ f.name }} {{ f.arguments|tojson }} #{{ c.id }}",
    "a number": "<|c|>{{ f.name }}:{{ loop.index0 }}<|a|>{{ f.arguments|tojson }}<|/c|>",
    "tags": TAGGED_CALL,
    "nested tags": "<do {{ f.name }}>{{ w(f.arguments) }}</do>",
    "keys as tags": paired(f"<{{{{ k }}}}>{SHOWN}</{{{{ k }}}}>"),
    "flags": paired(
        f"<p {{{{ k }}}} string={{{{ 'true' if v is string else 'false' }}}}>{SHOWN}</p>\n"
    ),
    "Python": paired(
        "{{ k }}={{ [v]|string|trim('[]') if v is string else v }}" + COMMA, "{{ f.name }}(", ")"
    ),
    "keywords with JSON": paired("{{ k }}={{ v|tojson }}" + COMMA, "{{ f.name }}(", ")"),
    "dropped nulls": paired(f"{{% if v is not none %}}<p {{{{ k }}}}>{SHOWN}</p>{{% endif %}}"),
    "stripped values": paired("<p {{ k }}>{{ (v if v is string else v|tojson)|trim }}</p>"),
    "escaped values": paired("<p {{ k }}>{{ (v if v is string else v|tojson)|e }}</p>"),
    "lines": paired("  {{ k }}: {{ v|tojson }}\n", "{{ f.name }}\n", "end\n"),
    "no brackets without arguments": (
        "{{ f.name }}{% if f.arguments %}({{ f.arguments|tojson }}){% endif %}"
    ),
}
SECTIONS = [
    ("", "", ""),
    ("[", ", ", "]"),
    ("<s>", "", "</s>"),
    ("<s>\n", "\n", "\n</s>"),
    ("TOOLS: ", "; ", ""),
    ("<|im|>tools\n", "\n", ""),
]
REASONINGS = [
    "",
    REASONING,
    "{% if m.reasoning_content %}<why>\n{{ m.reasoning_content|trim }}\n</why>\n\n{% endif %}",
    "<why>{{ m.reasoning_content or '' }}</why>",
    "{% if m.tool_calls and m.reasoning_content %}<why>{{ m.reasoning_content }}</why>{% endif %}",
    "{% if loop.last and m.reasoning_content %}<why>{{ m.reasoning_content }}</why>{% endif %}",
    "{% if deep and m.reasoning_content %}<why>{{ m.reasoning_content }}</why>{% endif %}",
    "{% if m.reasoning_content %}note\n{{ m.reasoning_content }}<|end|>\n<|im|>me\n{% endif %}",
]
CONTENTS = [
    CONTENT,
    "{{ (m.content or '')|trim }}",
    "{% if m.content %}<r>{{ m.content }}</r>{% endif %}",
    "{% if not m.tool_calls %}{{ m.content }}{% endif %}",
    "{% if m.content %}{{ m.content }}{% if m.tool_calls %}\n\n{% endif %}{% endif %}",
    "{% if m.content and not m.tool_calls %}<r>{{ m.content|trim }}</r>"
    "{% elif m.content %}<t>{{ m.content }}</t>{% endif %}",
]
FRAMES = [
    ("A:", ".\n", "A:"),
    (
        "<|im|>me\n",
        "<|end|>\n",
        "<|im|>me\n{% if deep is defined and not deep %}<why></why>{% endif %}",
    ),
    ("<|im|>me\n", "{% if m.tool_calls %}<|call|>{% else %}<|end|>{% endif %}", "<|im|>me\n"),
    ("<|im|>me", "{% if not loop.last %}<|end|>{% endif %}", "<|im|>me"),
    ("", "</s>", ""),
    ("### A: ", "\n\n", "### A:"),
]
SIZE = 240
QUICK = 120
"""How many the quick lane asks; each part of each kind is among them."""


Combination: TypeAlias = tuple[str, int, int, int, int, bool]


def drawn() -> list[Combination]:
    every = product(
        CALL_STYLES,
        range(len(SECTIONS)),
        range(len(REASONINGS)),
        range(len(CONTENTS)),
        range(len(FRAMES)),
        (False, True),
    )
    return random.Random(7).sample(list(every), SIZE)


def test_the_quick_ones_hold_every_part() -> None:
    for at, parts in enumerate((CALL_STYLES, SECTIONS, REASONINGS, CONTENTS, FRAMES)):
        assert len({combination[at] for combination in drawn()[:QUICK]}) == len(parts)


@pytest.mark.parametrize(
    ("style", "section", "reasoning", "content", "frame", "calls_first"),
    [
        pytest.param(*combination, marks=() if at < QUICK else pytest.mark.slow)
        for at, combination in enumerate(drawn())
    ],
)
def test_any_combination_reproduces_itself(
    style: str, section: int, reasoning: int, content: int, frame: int, calls_first: bool
) -> None:
    opening, separator, close = SECTIONS[section]
    call = CALL_STYLES[style]
    made = calls(call, opening=opening, separator=separator, close=close) if call else ""
    parts = [made, CONTENTS[content]] if calls_first else [CONTENTS[content], made]
    begin, end, prompt = FRAMES[frame]
    template = turn(REASONINGS[reasoning], *parts, opening=begin, end=end, prompt=prompt)

    analysis = analyze(ChatTemplate(NESTED + template.text))

    smallest = analysis.check.smallest
    assert smallest is None, f"{smallest}\nof {template.text}"
    assert (analysis.format.calls is not None) is bool(call)

"""The switches of a template, and what each changes."""

from __future__ import annotations

import pytest

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.switches import Effect, Switch
from autoparser.analysis.inference.learning.found_switches import find_switches
from autoparser.analysis.inference.probing import suggest
from tests.analysis.tiny import CONTENT, REASONING, negotiated, turn


def switches_of(*parts: str, prompt: str = "A:") -> dict[str, Switch]:
    template = turn(*parts, CONTENT, prompt=prompt)
    prober = negotiated(template).prober
    found = find_switches(prober, suggest(template.syntax_tree), calls=False, showing={})
    return {switch.name: switch for switch in found}


@pytest.mark.parametrize(
    ("parts", "prompt", "values", "default", "effects", "reason"),
    [
        (
            (),
            "A:{% if deep %}(r){% endif %}",
            (True, False),
            False,
            {Effect.GENERATION_PROMPT},
            "off unless set",
        ),
        (
            (),
            "A:{% if deep is not defined or deep %}(r){% endif %}",
            (True, False),
            True,
            {Effect.GENERATION_PROMPT},
            "on unless set",
        ),
        (
            (),
            "A:{% if deep is defined %}{% if deep %}(r){% else %}(r)(/r){% endif %}{% endif %}",
            (True, False),
            None,
            {Effect.GENERATION_PROMPT},
            "three ways: neither value is the default",
        ),
        (
            (),
            "A:{% if deep == 'low' %}(l){% elif deep == 'high' %}(h){% endif %}",
            ("low", "high", True),
            True,
            {Effect.GENERATION_PROMPT},
            "words that the template compares with",
        ),
        (
            ("{% if deep %}{{ m.reasoning_content }}|{% endif %}", REASONING),
            "A:",
            (True, False),
            False,
            {Effect.TURN, Effect.HISTORY_REASONING},
            "the turn itself",
        ),
        (
            (f"{{% if loop.last or deep %}}{REASONING}{{% endif %}}",),
            "A:",
            (True, False),
            False,
            {Effect.HISTORY_REASONING},
            "what stays in the history",
        ),
    ],
)
def test_a_switch(
    parts: tuple[str, ...],
    prompt: str,
    values: tuple[Json, ...],
    default: Json,
    effects: set[Effect],
    reason: str,
) -> None:
    switch = switches_of(*parts, prompt=prompt)["deep"]
    assert switch.values == values, reason
    assert switch.default == default, reason
    assert switch.changes == effects, reason
    assert not switch.inserted


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (("{{ '' if deep else '' }}",), "it changes nothing"),
        (("{% set deep = true %}{% if deep %}!{% endif %}",), "the template sets it itself"),
        (("{{ bos_token }}",), "a special token"),
        (("{% if tools %}{% endif %}",), "what transformers passes"),
    ],
)
def test_what_is_no_switch(parts: tuple[str, ...], reason: str) -> None:
    assert not switches_of(*parts), reason


def test_a_value_that_is_written_into_the_text() -> None:
    switch = switches_of("{{ today or 'never' }}")["today"]
    assert switch.inserted

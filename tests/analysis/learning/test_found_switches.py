"""The switches of a template, and what each changes."""

from __future__ import annotations

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.switches import Switch, SwitchEffect, UnmovedVariable
from autoparser.analysis.learning.found_switches import find_switches
from autoparser.analysis.learning.prober import Prober, choose_sentinels
from autoparser.analysis.learning.suggestions import suggest_values
from tests.analysis.tiny import CONTENT, REASONING, calls, negotiated, turn


def switches_of(*parts: str, prompt: str = "A:") -> dict[str, Switch]:
    template = turn(*parts, CONTENT, prompt=prompt)
    prober = negotiated(template).prober
    found = find_switches(prober, suggest_values(template.syntax_tree), calls=False, showing={})
    return {switch.name: switch for switch in found.switches}


@pytest.mark.parametrize(
    ("parts", "prompt", "values", "default", "effects", "reason"),
    [
        (
            (),
            "A:{% if deep %}(r){% endif %}",
            (True, False),
            False,
            {SwitchEffect.GENERATION_PROMPT},
            "off unless set",
        ),
        (
            (),
            "A:{% if deep is not defined or deep %}(r){% endif %}",
            (True, False),
            True,
            {SwitchEffect.GENERATION_PROMPT},
            "on unless set",
        ),
        (
            (),
            "A:{% if deep is defined %}{% if deep %}(r){% else %}(r)(/r){% endif %}{% endif %}",
            (True, False),
            None,
            {SwitchEffect.GENERATION_PROMPT},
            "three ways: neither value is the default",
        ),
        (
            (),
            "A:{% if deep == 'low' %}(l){% elif deep == 'high' %}(h){% endif %}",
            ("low", "high"),
            None,
            {SwitchEffect.GENERATION_PROMPT},
            "words that the template compares with, and no booleans",
        ),
        (
            (),
            "A:{% set d = deep or 'low' %}{% if d == 'high' %}(h){% endif %}",
            ("low", "high"),
            "low",
            {SwitchEffect.GENERATION_PROMPT},
            "a word stands in for the unset variable",
        ),
        (
            (),
            "A:{% if deep | default('off') | upper == 'ON' %}(r){% endif %}",
            ("off", "ON"),
            "off",
            {SwitchEffect.GENERATION_PROMPT},
            "a word that is respelled",
        ),
        (
            (),
            "A:{% if deep is not defined or deep == 'low' %}(l){% endif %}",
            ("low", "other"),
            "low",
            {SwitchEffect.GENERATION_PROMPT},
            "any other word does something",
        ),
        (
            ("{% if (deep or 0) > 5 %}{{ m.content[:0] }}!{% endif %}",),
            "A:",
            (5, 6),
            5,
            {SwitchEffect.TURN},
            "a number beyond a limit",
        ),
        (
            ("{% if deep %}{{ m.reasoning_content }}|{% endif %}", REASONING),
            "A:",
            (True, False),
            False,
            {SwitchEffect.TURN, SwitchEffect.HISTORY_REASONING},
            "the turn itself",
        ),
        (
            (f"{{% if loop.last or deep %}}{REASONING}{{% endif %}}",),
            "A:",
            (True, False),
            False,
            {SwitchEffect.HISTORY_REASONING},
            "what stays in the history",
        ),
        (
            ("{{ m.content if loop.last or not deep else m.content[:99] }}",),
            "A:",
            (True, False),
            False,
            {SwitchEffect.PROMPT},
            "long texts of the history",
        ),
    ],
)
def test_a_switch(
    parts: tuple[str, ...],
    prompt: str,
    values: tuple[Json, ...],
    default: Json,
    effects: set[SwitchEffect],
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


def test_a_word_that_is_written_in_as_any_other_is_no_value() -> None:
    switch = switches_of(
        "{{ today or 'never' }}{{ '!' if today == 'now' or today in ['then'] and 0 }}"
    )["today"]
    assert switch.inserted
    assert switch.values == ("never", "now")
    assert switch.default == "never"


EFFORT = (
    "A:{% if effort is defined and effort not in ['low', 'max'] %}"
    "{{ raise_exception('Unknown effort ' ~ effort) }}{% endif %}{{ effort or 'max' }}"
)


def test_words_that_raise_are_not_written_in() -> None:
    switch = switches_of(prompt=EFFORT)["effort"]
    assert not switch.inserted
    assert switch.others_raise
    assert (switch.default, switch.values) == ("max", ("max", "low"))


def test_a_value_says_under_which_other_switch_it_acts() -> None:
    template = turn(
        "{% if (thinking if thinking is defined else on) %}", REASONING, "{% endif %}", CONTENT
    )
    negotiation = negotiated(template)
    found = find_switches(
        negotiation.prober,
        suggest_values(template.syntax_tree),
        calls=False,
        showing={"on": True},
    )
    switch = next(each for each in found.switches if each.name == "thinking")
    assert switch.default is False
    assert dict(zip(switch.values, switch.conditions, strict=True)) == {
        True: "",
        False: "under another setting, such as on=true",
    }


def test_switch_of_a_template_that_refuses_long_conversations_needs_no_other_setting() -> None:
    template = ChatTemplate(
        "{% if not deep and messages | length > 1 %}{{ raise_exception('too long') }}{% endif %}"
        "{% if greeting %}Hello.{% endif %}"
        "{% for m in messages %}[{{ m.role }}]{{ m.content }}[end]{% endfor %}"
        "{% if add_generation_prompt %}[assistant]{% endif %}"
    )
    prober = Prober(template, choose_sentinels(template.text), tokens={}, tools=())
    suggestions = suggest_values(template.syntax_tree)
    found = find_switches(prober, suggestions, calls=False, showing={"deep": True})
    greeting = next(each for each in found.switches if each.name == "greeting")
    assert (greeting.only, greeting.default) == ("", False)
    assert (True, (SwitchEffect.PROMPT,)) in zip(greeting.values, greeting.effects, strict=True)


@pytest.mark.parametrize(
    ("call", "effect", "reason"),
    [
        (
            "{% if tags %}(call {{ f.name }}){% else %}[{{ f.name }}]{% endif %}",
            SwitchEffect.CALLS,
            "",
        ),
        (
            "(call {{ f.name }} {% set a = f.arguments | tojson %}{{ a[:3] if tags else a }})",
            SwitchEffect.ARGUMENTS,
            "what cuts arguments is not a way to write them",
        ),
    ],
)
def test_what_changes_calls_alone(call: str, effect: SwitchEffect, reason: str) -> None:
    template = turn(CONTENT, calls(call))
    prober = negotiated(template).prober
    found = find_switches(prober, suggest_values(template.syntax_tree), calls=True, showing={})
    (switch,) = found.switches
    assert switch.effects == ((effect,), ()), reason


@pytest.mark.parametrize(
    ("behind", "changes", "reason"),
    [
        (
            "{% if must == 'yes' %}Call.\n{% endif %}",
            {SwitchEffect.PROMPT},
            "the turn is as it was",
        ),
        (
            "{% if must == 'yes' %}Call.{% endif %}",
            {SwitchEffect.PROMPT},
            "without a line break, too",
        ),
    ],
)
def test_what_is_written_behind_all_messages_is_none_of_the_turn(
    behind: str, changes: set[SwitchEffect], reason: str
) -> None:
    text = turn(CONTENT).text.replace("{% if add", behind + "{% if add")
    template = ChatTemplate(text)
    found = find_switches(
        negotiated(template).prober, suggest_values(template.syntax_tree), calls=False, showing={}
    )
    assert found.switches[0].changes == changes, reason


@pytest.mark.parametrize(
    ("part", "raises"),
    [
        ("{{ '' if deep else '' }}", False),
        ("{% for image in deep or [] %}{{ image.url[0] and '' }}{% endfor %}", True),
    ],
)
def test_a_variable_without_an_effect_is_named(part: str, raises: bool) -> None:
    template = turn(part, CONTENT)
    prober = negotiated(template).prober
    found = find_switches(prober, suggest_values(template.syntax_tree), calls=False, showing={})
    assert found.unmoved == (UnmovedVariable("deep", raises),)


def test_a_value_with_which_only_some_conversations_raise_is_one() -> None:
    cut = "{{ '' + m.content.split('(/r)', 1)[1] if deep else m.content }}"
    template = ChatTemplate("{{ 'Think.' if deep }}" + turn(cut).text)
    prober = negotiated(template).prober
    found = find_switches(prober, suggest_values(template.syntax_tree), calls=False, showing={})
    assert found.switches[0].effects == ((SwitchEffect.PROMPT, SwitchEffect.RAISES), ())
    assert not found.switches[0].raising


@pytest.mark.parametrize(
    ("part", "values", "reason"),
    [
        ("{{ (x or []) | join(',') }}", (["other"],), "a list, and no text for its letters"),
        ("{% for e in x or [] %}{{ e.name }},{% endfor %}", ([{"name": "other"}],), "of objects"),
        ("{{ 'J' if x and x.type == 'json' }}", ({"type": "json"},), "an object with a word"),
        ("{% if x and x['deep'] %}D{% endif %}", ({"deep": True},), "with a flag"),
        (
            "{% if x and x.get('on') %}{{ x.get('by') }}{% endif %}",
            ({"on": True}, {"on": True, "by": "other"}),
            "with more than one key",
        ),
        (
            "{% set y = x | default({}) %}{% set k = y.of %}{{ k.by if k is defined }}",
            ({"of": {"by": "other"}},),
            "under other names",
        ),
        (
            "{% for k, v in (x or {}).items() %}{{ k }}{{ v }}{% endfor %}",
            ({"other": "other"},),
            "",
        ),
        (
            "{% if x and ('a' in x or x['b'] == 'c') %}!{{ x['a'] }}{% endif %}",
            ({"b": "c"}, {"b": "c", "a": "other"}),
            "a name that is searched for beside a key is one",
        ),
    ],
)
def test_what_a_variable_is_looked_into_for_is_tried(
    part: str, values: tuple[Json, ...], reason: str
) -> None:
    switch = switches_of(part)["x"]
    assert (switch.values, switch.any_other) == (values, None), reason
    assert not any(isinstance(value, bool) for value in switch.raising)


def test_values_that_render_alike_stand_together() -> None:
    switch = switches_of(prompt="A:{% if x in ['low', 'mid'] %}(r){% elif x == 'max' %}{% endif %}")
    assert switch["x"].groups == (("low", "mid"), ("max",))
    assert switch["x"].default == "max"


def test_any_other_text_may_render_as_a_known_one() -> None:
    switch = switches_of(prompt="A:{% if x == 'low' %}(l){% elif x != 'off' and x %}(r){% endif %}")
    switch_of_it = switches_of(
        prompt="A:{% if x is defined and x != 'off' %}(r){% if x == 'max' %}{% endif %}{% endif %}"
    )
    assert switch["x"].groups == (("low",), ("off", False), (True, "other"))
    assert switch_of_it["x"].groups == (("off",), ("max", "other"))
    assert (switch["x"].any_other, switch_of_it["x"].any_other) == ("other", "other")


PARTS = (
    "{% for m in messages %}<{{ m.role }}>{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}{% elif p.type in seen %}"
    "{{ 'No. ' if count }}[{{ p.type }}]{% endif %}{% endfor %}{% endif %}<end>{% endfor %}"
)


@pytest.mark.parametrize(
    ("kinds", "only"),
    [
        (["image"], "with images"),
        (["video", "image", "audio"], "with images or videos or audio"),
    ],
)
def test_a_variable_that_acts_on_parts_alone_says_on_which(kinds: list[str], only: str) -> None:
    template = ChatTemplate(f"{{% set seen = {kinds} %}}{PARTS}")
    prober = negotiated(template).prober
    found = find_switches(prober, suggest_values(template.syntax_tree), calls=False, showing={})
    (switch,) = found.switches
    assert (switch.name, switch.values, switch.only) == ("count", (True, False), only)


def test_the_end_of_a_prompt_that_is_written_unasked_is_a_generation_prompt() -> None:
    unasked = "<a>{% if deep %}<think>{% endif %}"
    text = turn(CONTENT).text.partition("{% if add")[0] + unasked
    template = ChatTemplate(text)
    prober = negotiated(template).prober
    found = find_switches(prober, suggest_values(template.syntax_tree), calls=False, showing={})
    assert found.switches[0].changes == {SwitchEffect.PROMPT, SwitchEffect.GENERATION_PROMPT}

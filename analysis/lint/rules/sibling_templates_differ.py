from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.lint.hit import Hit, HitEvidence, ShownText
from autoparser.analysis.lint.other_environments import ordinary_conversations
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.sources.template_loading import load_template

if TYPE_CHECKING:
    from pathlib import Path

    from autoparser.analysis.templates.chat_template import ChatTemplate

FILES = (
    "chat_template.jinja",
    "tokenizer_config.json",
    "chat_template.json",
    "processor_config.json",
)
"""The files of a model directory that may hold its template."""


@rule("AP808")
def check(subject: Subject) -> Iterator[Hit]:
    """Render ordinary conversations with each template of the directory."""
    if subject.directory is None:
        return
    used = subject.template
    for path in (subject.directory / name for name in FILES):
        other = _load_sibling(path)
        if other is None or other.text == used.text:
            continue
        for chat, render, variables in ordinary_conversations(subject):
            text, error = "", ""
            try:
                text = other.render_prepared(variables)
            except AutoparserError as failure:
                error = failure.message
            if render.rendered and text != render.text:
                yield Hit(
                    f"the template in {path.name} renders {chat} differently from the one that"
                    " transformers uses",
                    (
                        HitEvidence(
                            render.shown_text("transformers"),
                            ShownText(f"by {path.name}", text, error),
                        ),
                    ),
                )
                # One conversation shows that the two differ.
                break


def _load_sibling(path: Path) -> ChatTemplate | None:
    if not path.is_file():
        return None
    try:
        return load_template(path)
    except AutoparserError:
        return None

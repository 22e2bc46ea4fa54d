from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_answer
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.sources.tokenizer import encode_text


@rule("AP212")
def check(subject: Subject) -> Iterator[Hit]:
    """Encode the text that ends a turn."""
    if subject.tokenizer is None or subject.failure is not None:
        return
    for stop in subject.format.stop_strings:
        tokens = encode_text(subject.tokenizer, stop).tokens
        if len(tokens) > 1:
            render = render_answer(subject)
            yield Hit(
                f"the end of a turn, {quote_text(stop)}, is {len(tokens)} tokens",
                (show_render(render, "an answer"),),
                line=render.line_of(stop),
            )

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.sources.tokenizer import encode_text


@rule("AP210")
def check(subject: Subject) -> Iterator[Hit]:
    """Look up each named token of the prompt in the tokenizer."""
    tokenizer = subject.tokenizer
    dialogue = (subject.user, Message(subject.marks.content), subject.next_user)
    render = subject.play(dialogue, generation=True)
    if tokenizer is None:
        return
    for name, token in subject.template.special_tokens.items():
        if token and token in render.text and tokenizer.token_to_id(token) is None:
            pieces = len(encode_text(tokenizer, token).ids)
            yield Hit(
                f"{name} {quote_text(token)} is not in the vocabulary and is encoded as"
                f" {pieces} tokens",
                (show_render(render, "two user messages and an answer"),),
                line=render.line_of(token),
            )

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import Render, show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.sources.tokenizer import encode_text


@rule("AP209")
def check(subject: Subject) -> Iterator[Hit]:
    """Count the begin token in a conversation, as text and as the tokenizer adds it."""
    token = subject.tokens.get("bos_token")
    render = subject.play(subject.chat, generation=True)
    if not token or not render.rendered:
        return
    evidence = (show_render(render, "two user messages and an answer"),)
    count = render.text.count(token)
    if token * 2 in render.text:
        message = "the prompt starts with two begin-of-sequence tokens"
        yield Hit(message, evidence, severity=Severity.WARNING)
    elif count > 1:
        yield Hit(
            f"the begin-of-sequence token is rendered {count} times in a conversation of"
            " three messages",
            evidence,
            line=render.line_of(token),
        )
    yield from islice(_token_left_out(subject, token), 1)
    if _added_again(subject, render, token):
        yield Hit(
            "the template renders the begin-of-sequence token and the tokenizer adds it"
            " again, unless the server disables that",
            evidence,
            line=render.line_of(token),
            fix=(
                "remove it from one of the two, or tokenize prompts with add_special_tokens=False"
            ),
        )


def _token_left_out(subject: Subject, token: str) -> Iterator[Hit]:
    """Yield a hit for a conversation without the begin token with which others begin."""
    usual = [played for played in subject.matrix if played.usual and played.render.rendered]
    begun = next((played for played in usual if played.render.text.startswith(token)), None)
    for played in usual:
        # A template may leave the token to the tokenizer, but then in every conversation.
        if begun is not None and token not in played.render.text:
            yield Hit(
                f"the begin-of-sequence token is missing in '{played.name}' and present in"
                f" '{begun.name}'",
                played.against(begun),
                line=begun.render.line_of(token),
                severity=Severity.WARNING,
            )


def _added_again(subject: Subject, render: Render, token: str) -> bool:
    if subject.tokenizer is None or not render.text.startswith(token):
        return False
    number = subject.tokenizer.token_to_id(token)
    ids = encode_text(subject.tokenizer, render.text, add_special=True).ids
    return number is not None and ids[:2] == [number, number]

"""What ends a turn is not the tokenizer's end token.

Servers stop at the end token unless the generation config or the request names another. Where
the template ends turns with another one, the model writes past its turn.

Before:

    {{ message.content + '<|im_end|>' }}    with "eos_token": "<|endoftext|>"

After:

    {{ message.content + '<|im_end|>' }}    with "eos_token": "<|im_end|>"
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import told
from autoparser.analysis.lint.finding import Hit, Severity
from autoparser.analysis.lint.renders import alone
from autoparser.analysis.lint.rule import Rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.lint.words import listed, quoted


def check(subject: Subject) -> Iterator[Hit]:
    """Compare the stop strings with the end token, where that is known."""
    eos = subject.template.special_tokens.get("eos_token")
    stops = subject.format.stop_strings
    if not eos or not stops or any(eos in stop for stop in stops):
        return
    render = told(subject)
    yield Hit(
        f"turns end in {listed([quoted(stop) for stop in stops])}, and eos_token is {quoted(eos)}",
        (alone(render, "an answer"),),
        line=render.line_of(stops[0]),
    )


RULE = Rule(
    "AP211",
    "end-of-turn-is-not-eos",
    __doc__,
    Severity.INFO,
    check,
    fix="name the end of turn as eos_token, or in the generation config's eos_token_id",
)

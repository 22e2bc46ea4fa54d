"""What ends a turn is several tokens.

Servers stop at a token; a text of several has to be looked for in the output, is sampled piece
by piece, and is spelled otherwise now and then. Mostly the tokenizer lacks a token that the
template was written for.

Before:

    {{ message.content + '<|done|>' }}    with no such token in the tokenizer

After:

    {{ message.content + '</s>' }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import told
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import alone
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.quoting import quoted
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Encode what ends a turn."""
    if subject.tokenizer is None or subject.failure is not None:
        return
    for stop in subject.format.stop_strings:
        tokens = subject.tokenizer.encode(stop, add_special_tokens=False).tokens
        if len(tokens) > 1:
            render = told(subject)
            yield Hit(
                f"{quoted(stop)}, which ends a turn, is {len(tokens)} tokens",
                (alone(render, "an answer"),),
                line=render.line_of(stop),
            )


RULE = Rule(
    "AP212",
    "end-of-turn-is-several-tokens",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.TOKENIZER,
    fix="end turns with a token of the vocabulary, or add this one to it",
    concerns=(Concern.ENGINES,),
)

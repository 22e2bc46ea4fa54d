r"""A carriage return or a byte order mark is in the prompt.

An editor left it in the file. It is invisible, the tokenizer has tokens for it, and the model was
trained on prompts that have none.

Before:

    {{- message.content + '\r\n' }}

After:

    {{- message.content + '\n' }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.engines import ordinary
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import alone
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject

UNWANTED = {"\r": "a carriage return", "\ufeff": "a byte order mark"}


def check(subject: Subject) -> Iterator[Hit]:
    """Look for either in ordinary conversations, whose own texts have none."""
    for what, render, _ in ordinary(subject):
        found = next((each for each in UNWANTED if each in render.text), None)
        if found is not None:
            yield Hit(
                f"the prompt of {what} has {UNWANTED[found]}",
                (alone(render, what),),
                line=render.line_of(found),
            )
            return


RULE = Rule(
    "AP807",
    "carriage-returns-or-byte-order-mark",
    __doc__,
    Severity.WARNING,
    check,
    fix="save the file as UTF-8 without a mark, with lines that end in a line feed",
    concerns=(Concern.ENGINES,),
)

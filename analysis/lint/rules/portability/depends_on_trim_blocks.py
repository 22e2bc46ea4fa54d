r"""The text depends on settings of Jinja that not every program makes.

transformers renders with `trim_blocks` and `lstrip_blocks`, which take whitespace around blocks
away; llama.cpp b11549 and @huggingface/jinja 0.5.11 do so, too. Jinja 3.1.6 and minijinja 3.0.5 do
not unless they are told to, and write line breaks and indentation into the prompt. That was
measured; `lint --engines` asks the installed ones, and says what each does at the line.

Before:

    {% for message in messages %}
    {{ message.content }}
    {% endfor %}

After:

    {%- for message in messages %}
    {{- message.content + '\n' }}
    {%- endfor %}
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from autoparser.analysis.lint.asked_engines import engines_at
from autoparser.analysis.lint.engines import compiled, elsewhere, environment
from autoparser.analysis.lint.hit import Hit, HitEvidence, Severity, ShownText
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject

_TRIMMED = re.compile(r"(?<!-)[%#]\}\r?\n(?!\s*\{[%{#]-|\Z)")
_STRIPPED = re.compile(r"^[ \t]+\{[%#](?![-+])", re.MULTILINE)
_TAKING = ("-%}", "-}}", "-#}")


def check(subject: Subject) -> Iterator[Hit]:
    """Render without the two settings."""
    if not _affected(subject.template.text):
        return
    other = environment(trim=False)
    for each in elsewhere(subject, other, compiled(subject, other)):
        if each.differs:
            yield Hit(
                f"without trim_blocks and lstrip_blocks {each.what} has other whitespace",
                (
                    HitEvidence(
                        each.usual.shown("with trim_blocks and lstrip_blocks"),
                        ShownText("without", each.text, each.error),
                    ),
                ),
                line=each.line,
                engines=engines_at(subject, each.line),
            )
            return


def _affected(text: str) -> bool:
    """Whether the settings have anything to do: a quick way out.

    Where a tag next to it takes the whitespace away, they change nothing.
    """
    return _TRIMMED.search(text) is not None or any(
        not text[: place.start()].rstrip().endswith(_TAKING) for place in _STRIPPED.finditer(text)
    )


RULE = Rule(
    "AP803",
    "depends-on-trim-blocks",
    __doc__,
    Severity.INFO,
    check,
    fix="begin and end blocks with a minus sign, and write line breaks as text",
    concerns=(Concern.ENGINES,),
)

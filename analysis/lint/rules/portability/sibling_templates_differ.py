"""A model's directory has its template twice, and the two render differently.

`chat_template.jinja` and the `chat_template` of `tokenizer_config.json` are read by different
programs: transformers takes the first, many others the second. Who serves the model and who
trained it then have different prompts.

Before:

    chat_template.jinja: <assistant>{{ message.content }}</s>
    tokenizer_config.json: <assistant>{{ message.content }}

After:

    chat_template.jinja: <assistant>{{ message.content }}</s>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.lint.engines import ordinary
from autoparser.analysis.lint.hit import Hit, HitEvidence, Severity, ShownText
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.loading.sources import load_template

if TYPE_CHECKING:
    from pathlib import Path

    from autoparser.analysis.loading.template import ChatTemplate

FILES = (
    "chat_template.jinja",
    "tokenizer_config.json",
    "chat_template.json",
    "processor_config.json",
)
"""Where a model's directory may have its template."""


def check(subject: Subject) -> Iterator[Hit]:
    """Render ordinary conversations with each template of the directory."""
    if subject.directory is None:
        return
    used = subject.template
    for path in (subject.directory / name for name in FILES):
        other = _template_of(path)
        if other is None or other.text == used.text:
            continue
        for what, render, variables in ordinary(subject):
            text, error = "", ""
            try:
                text = other.render_prepared(variables)
            except AutoparserError as failure:
                error = failure.message
            if render.rendered and text != render.text:
                yield Hit(
                    f"the template in {path.name} renders {what} otherwise than the one that"
                    " transformers takes",
                    (
                        HitEvidence(
                            render.shown("as transformers renders it"),
                            ShownText(f"by {path.name}", text, error),
                        ),
                    ),
                )
                break


def _template_of(path: Path) -> ChatTemplate | None:
    if not path.is_file():
        return None
    try:
        return load_template(path)
    except AutoparserError:
        return None


RULE = Rule(
    "AP808",
    "sibling-templates-differ",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.DIRECTORY,
    fix="keep one of them, or make them the same",
    concerns=(Concern.ENGINES,),
)

from __future__ import annotations

import re
from collections.abc import Iterator

from jinja2 import Undefined

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.other_environments import (
    engines_at,
    other_environment,
    render_elsewhere,
)
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

OPEN, CLOSE = "\ufdd2", "\ufdd3"
"""Noncharacters: exchanged text never contains them."""
_MARKED = re.compile(f"{OPEN}(.*?){CLOSE}", re.DOTALL)


class NamedUndefined(Undefined):
    """An undefined value that writes its name between marks."""

    def __str__(self) -> str:
        return f"{OPEN}{self._undefined_name}{CLOSE}"


@rule("AP805", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render ordinary conversations with undefined values that show themselves."""
    for render in render_elsewhere(subject, other_environment(undefined=NamedUndefined)):
        names = dict.fromkeys(_MARKED.findall(render.text))
        # If the marks change more than themselves, a condition depends on them.
        if names and _MARKED.sub("", render.text) == render.usual.text:
            line = render.usual.line_at(render.text.find(OPEN))
            yield Hit(
                f"{', '.join(names)} is undefined in {render.what} and renders as an empty string",
                (show_render(render.usual, render.what),),
                line=line,
                engines=engines_at(subject, line),
            )

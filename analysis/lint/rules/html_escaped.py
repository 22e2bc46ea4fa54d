from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.call_texts import render_call, value_writing
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

LESS, ENTITIES = "<", ("&lt;", "&#60;")


@rule("AP513", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render a string with a character that HTML escapes, and check a plain call's markup."""
    marks = subject.marks
    value = f"{marks.values[0]} {LESS} {marks.values[1]}"
    seen = value_writing(subject, value)
    entity = next((name for name in ENTITIES if seen and name in seen.text), None)
    if seen is not None and entity is not None and LESS not in seen.text:
        yield Hit(
            f"{LESS} in a call is rendered as {entity}",
            (show_render(seen.render, f"a call with {LESS} in a string"),),
            line=seen.render.line_of(entity),
        )
    plain = render_call(subject, **{marks.keys[0]: marks.values[0]})
    call = plain.text[plain.text.rfind(marks.user) :]
    entity = next((name for name in ENTITIES if name in call), None)
    # An entity in the template's source is intended.
    if entity is not None and entity not in subject.template.text:
        yield Hit(
            f"{LESS} in the markup of a call is rendered as {entity}",
            (show_render(plain, "a plain call"),),
            line=plain.line_of(entity),
        )

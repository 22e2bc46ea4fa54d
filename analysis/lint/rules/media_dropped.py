from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.media_parts import MEDIA_FORMS, MediaForm
from autoparser.analysis.core.media_treatment import PartsOutcome
from autoparser.analysis.lint.hit import Hit, HitEvidence, Severity
from autoparser.analysis.lint.hit_words import list_words
from autoparser.analysis.lint.lint_renders import Render, compare_renders, parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import role_message
from autoparser.analysis.lint.subject import Subject


@rule("AP315")
def check(subject: Subject) -> Iterator[Hit]:
    """Check each kind of part, and each form of the kinds that are accepted."""
    media = subject.analysis.content_parts.media
    lost = [kind.kind for kind in media if kind.outcome is PartsOutcome.DROPPED]
    if lost:
        forms = [next(form for form in MEDIA_FORMS if form.kind is kind) for kind in lost]
        pairs = [_with_and_without(subject, form) for form in forms]
        yield Hit(
            f"parts of a message are not in the prompt: {list_words(lost)}",
            tuple(map(_evidence, forms, pairs)),
            line=parting_line(*pairs[0]),
            severity=Severity.INFO,
        )
    for media_kind in media:
        dropped = [
            form
            for form in MEDIA_FORMS
            if form.kind is media_kind.kind and media_kind.forms[form.name] is PartsOutcome.DROPPED
        ]
        if media_kind.outcome is PartsOutcome.WRITTEN and dropped:
            names = list_words([form.name for form in dropped])
            words = f"is rendered, but dropped as {names}"
            if dropped[0].name == media_kind.kind:
                named = (form.name for form in MEDIA_FORMS if form.kind is media_kind.kind)
                taken = [name for name in named if media_kind.forms[name] is PartsOutcome.WRITTEN]
                words = f"is dropped, but rendered as {list_words(taken)}"
            pairs = [_with_and_without(subject, form) for form in dropped]
            yield Hit(
                f"a part of type {media_kind.kind} {words}",
                tuple(map(_evidence, dropped, pairs)),
                line=parting_line(*pairs[0]),
                loses=True,
            )


def _with_and_without(subject: Subject, form: MediaForm) -> tuple[Render, Render]:
    marks = subject.marks
    text: Json = {"type": "text", "text": marks.user}
    without = subject.render([role_message("user", [text])])
    given = subject.render([role_message("user", [form.part(marks.values[0]), text])])
    return given, without


def _evidence(form: MediaForm, renders: tuple[Render, Render]) -> HitEvidence:
    given, without = renders
    return compare_renders(given, f"with {form.name}", without, "without it")

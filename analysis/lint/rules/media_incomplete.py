from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.media_parts import MEDIA_FORMS
from autoparser.analysis.core.media_treatment import MediaTreatment, PartsOutcome
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import Chat, role_message
from autoparser.analysis.lint.subject import Subject


@rule("AP316")
def check(subject: Subject) -> Iterator[Hit]:
    """Check two parts of a kind, the texts beside one, and what later messages change."""
    for media in subject.analysis.content_parts.media:
        for words, messages in _media_faults(subject, media):
            shown = subject.render(messages)
            yield Hit(words, (show_render(shown, "the messages"),))


def _media_faults(subject: Subject, media: MediaTreatment) -> Iterator[tuple[str, Chat]]:
    marks, kind = subject.marks, media.kind
    one, other = (_text_part(word) for word in (marks.user, marks.next_user))
    if media.loses_text:
        lone = _part(media, PartsOutcome.SPREAD, marks.values[0])
        yield (
            f"a text beside a part of type {kind} is not in the prompt",
            [role_message("user", [one, lone, other])],
        )
    if media.outcome is not PartsOutcome.WRITTEN:
        return
    part = _part(media, PartsOutcome.WRITTEN, marks.values[0])
    if not media.each:
        both = [role_message("user", [part, one, part, other])]
        yield f"two parts of type {kind} in one message share one placeholder", both
    if not media.earlier:
        answer = role_message("assistant", marks.content)
        later = [role_message("user", [part, one]), answer, role_message("user", [other])]
        yield f"a part of type {kind} is dropped from the prompt after later messages", later


def _text_part(word: str) -> Json:
    return {"type": "text", "text": word}


def _part(media: MediaTreatment, outcome: PartsOutcome, data: str) -> Json:
    """Return a part in the first form that has this outcome."""
    forms = (form for form in MEDIA_FORMS if form.kind is media.kind)
    return next(form for form in forms if media.forms[form.name] is outcome).part(data)

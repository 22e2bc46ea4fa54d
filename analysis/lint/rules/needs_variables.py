from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.learning.shape_negotiation import switch_candidates
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import failure_words, list_words
from autoparser.analysis.lint.lint_renders import Render, compare_renders, parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import user_question
from autoparser.analysis.lint.subject import Subject

VALUES: Sequence[Json] = ("", True, [])
"""Values that a template may expect."""


@rule("AP111", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render a failing or missing user message again with every variable set."""
    unset = _render_question(subject, {})
    if unset.text.strip() or (unset.error is not None and unset.error.refused):
        return
    names = switch_candidates(subject.suggestions)
    for value in VALUES:
        setting: dict[str, Json] = dict.fromkeys(names, value)
        if not _render_question(subject, setting).text.strip():
            continue
        # Only name the variables without which the prompt stays empty.
        for name in names:
            fewer = {key: value for key, value in setting.items() if key != name}
            if _render_question(subject, fewer).text.strip():
                setting = fewer
        yield _unset_hit(unset, _render_question(subject, setting), list(setting))


def _render_question(subject: Subject, setting: Mapping[str, Json]) -> Render:
    return subject.render(user_question(subject), generation=True, setting=setting)


def _unset_hit(unset_render: Render, set_render: Render, names: Sequence[str]) -> Hit:
    what = "renders an empty prompt" if unset_render.rendered else failure_words(unset_render)
    return Hit(
        f"every request {what}, unless {list_words(names)}"
        f" {'is' if len(names) == 1 else 'are'} set",
        (compare_renders(unset_render, "nothing set", set_render, f"{', '.join(names)} set"),),
        line=parting_line(unset_render, set_render),
        fix=f"give {list_words(names)} a default",
        cause=unset_render.cause,
    )

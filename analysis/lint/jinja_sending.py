"""Which whole conversations another program's Jinja is asked, and why not the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.loading.template import ChatTemplate

from .jinja_comparison import JinjaComparison, SentConversation, compare
from .lint_renders import NOON, AskedRender, Render
from .other_jinjas import OtherJinja
from .played_conversation import PlayedConversation

__all__ = ["compare_matrix"]

REFUSED = "the template refuses them"
OTHER_FORM = "the template does not read content of their form"
CHANGING = "their text changes while it is asked for"
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class _Sendable:
    sent: tuple[SentConversation, ...]
    not_asked: Mapping[str, int]


def compare_matrix(
    jinja: OtherJinja,
    template: ChatTemplate,
    tokens: Mapping[str, str],
    played: Sequence[PlayedConversation],
    asked: Sequence[AskedRender],
) -> JinjaComparison:
    """Have a program render what the template rendered; `asked` knows with what that was made."""
    clock = datetime.now() if jinja.own_requests else NOON  # noqa: DTZ005 - as templates see it
    sendable = _sendable(template, played, asked, clock)
    return compare(jinja, template, tokens, clock, sendable.sent, sendable.not_asked)


def _sendable(
    template: ChatTemplate,
    played: Sequence[PlayedConversation],
    asked: Sequence[AskedRender],
    clock: datetime,
) -> _Sendable:
    made_with = {id(each.render): each.variables for each in asked}
    texts = {each.conversation.name: each.render.text for each in played}
    sent: list[SentConversation] = []
    left: Counter[str] = Counter()
    for each in played:
        usual_form = replace(each.conversation, other_form=False).name
        if not each.render.rendered:
            left[REFUSED] += 1
        elif each.render.text != texts.get(usual_form, each.render.text):
            # That it is written as Python shows a list is a finding of its own.
            left[OTHER_FORM] += 1
        else:
            name, variables = each.conversation.name, made_with[id(each.render)]
            found = _at(template, SentConversation(name, variables, each.render), clock)
            if found is None:
                left[CHANGING] += 1
            else:
                sent.append(found)
    return _Sendable(tuple(sent), left)


def _at(template: ChatTemplate, sent: SentConversation, clock: datetime) -> SentConversation | None:
    """Return a conversation as it is rendered at a time; None where a minute makes another text."""
    if clock == NOON:
        return sent
    given = [{**sent.variables, "strftime_now": at.strftime} for at in (clock, clock + _MINUTE)]
    try:
        text, later = map(template.render_prepared, given)
    except TemplateRenderError:
        return None
    if text != later:
        return None
    return SentConversation(sent.words, given[0], Render(sent.render.messages, text))

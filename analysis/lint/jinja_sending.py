"""Which whole conversations another program's Jinja is asked, and why not the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType

from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.loading.template import ChatTemplate

from .jinja_comparison import JinjaComparison, SentConversation, compare
from .lint_renders import NOON, AskedRender, Render
from .other_jinjas import OtherJinja
from .played_conversation import PlayedConversation

__all__ = ["compare_matrix", "compare_sent"]

REFUSED = "the template refuses them"
OTHER_FORM = "the template does not read content of their form"
CHANGING = "their text changes while it is asked for"
_MINUTE = timedelta(minutes=1)


def compare_matrix(
    jinja: OtherJinja,
    template: ChatTemplate,
    tokens: Mapping[str, str],
    played: Sequence[PlayedConversation],
    asked: Sequence[AskedRender],
) -> JinjaComparison:
    """Have a program render what the template rendered; `asked` knows with what that was made."""
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
            sent.append(SentConversation(name, variables, each.render))
    return compare_sent(jinja, template, tokens, sent, left)


def compare_sent(
    jinja: OtherJinja,
    template: ChatTemplate,
    tokens: Mapping[str, str],
    conversations: Sequence[SentConversation],
    not_asked: Mapping[str, int] = MappingProxyType({}),
) -> JinjaComparison:
    """Have a program render conversations, as far as their text is not of the minute."""
    clock = datetime.now() if jinja.own_requests else NOON  # noqa: DTZ005 - as templates see it
    at_clock = [_at(template, each, clock) for each in conversations]
    sent = [each for each in at_clock if each is not None]
    changing = len(conversations) - len(sent)
    left = {**not_asked, **({CHANGING: changing} if changing else {})}
    return compare(jinja, template, tokens, clock, sent, left)


def _at(template: ChatTemplate, sent: SentConversation, clock: datetime) -> SentConversation | None:
    """Return a conversation as it is rendered at a time; None where a minute makes another text."""
    if clock == NOON:
        return sent
    judged = sent.judged or sent.variables
    given = [{**judged, "strftime_now": at.strftime} for at in (clock, clock + _MINUTE)]
    try:
        text, later = map(template.render_prepared, given)
    except TemplateRenderError:
        return None
    if text != later:
        return None
    variables = {**sent.variables, "strftime_now": clock.strftime}
    return SentConversation(sent.words, variables, Render(sent.render.messages, text), given[0])

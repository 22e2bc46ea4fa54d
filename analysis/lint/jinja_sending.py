"""Which whole conversations another program's Jinja is asked, and why not the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import cast

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
            known = SentConversation(name, variables, each.render)
            sent.append(_in_usual_form(template, known) or known)
    return compare_sent(jinja, template, tokens, [*sent, *_with_signs(template, sent[:1])], left)


def _in_usual_form(template: ChatTemplate, sent: SentConversation) -> SentConversation | None:
    """Return a conversation whose contents are texts, where those sent are lists of one text.

    The negotiated form is what an analysis can tell most by; callers send a text wherever the
    template does not raise on it. None where nothing differs, or it does raise.
    """
    messages = _messages(sent)
    plain = [{**each, "content": _text_of(each.get("content"))} for each in messages]
    return None if plain == messages else _rendered(template, sent, sent.words, plain)


def _text_of(content: object) -> object:
    match content:
        case [{"type": "text", "text": str(text)}]:
            return text
        case _:
            return content


SIGNS = "3 > 2 < 4 & \"q\" 'a' c/d\\e é 日本 🚀"
"""What filters of different programs escape, count or turn otherwise."""


def _with_signs(
    template: ChatTemplate, sent: Sequence[SentConversation]
) -> Iterator[SentConversation]:
    """Return the conversations with signs and letters beyond ASCII in what the user says."""
    for each in sent:
        messages = [
            {**one, "content": f"{one['content']} {SIGNS}"}
            if one.get("role") == "user" and isinstance(one.get("content"), str)
            else one
            for one in _messages(each)
        ]
        found = _rendered(template, each, f"{each.words} with signs", messages)
        if found is not None:
            yield found


def _messages(sent: SentConversation) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", sent.variables["messages"])


def _rendered(
    template: ChatTemplate, sent: SentConversation, words: str, messages: list[dict[str, object]]
) -> SentConversation | None:
    variables = {**sent.variables, "messages": messages}
    try:
        text = template.render_prepared(variables)
    except TemplateRenderError:
        return None
    return SentConversation(words, variables, Render(sent.render.messages, text))


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

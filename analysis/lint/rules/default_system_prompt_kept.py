from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.conversation_matrix import PlayedConversation, Voice
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP322", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Find the text that a system message replaces with tools or without, and search the other."""
    pairs = [
        (custom, default)
        for custom in _questions(subject)
        if custom.conversation.system
        for default in _questions(subject)
        if not default.conversation.system
        and default.conversation.tools == custom.conversation.tools
    ]
    for custom_chat, default in pairs:
        text = _default_text(custom_chat, default)
        for beside, alone in pairs if text else ():
            if beside is custom_chat or text not in alone.render.text:
                continue
            if text in beside.render.text and any(map(beside.holds, beside.texts_of(Voice.SYSTEM))):
                yield Hit(
                    f"in '{beside.name}' the default {quote_text(text)} is rendered beside the"
                    f" given system message, which replaces it in '{custom_chat.name}'",
                    beside.against(custom_chat),
                    line=beside.render.line_of(text),
                )


def _questions(subject: Subject) -> list[PlayedConversation]:
    return [
        played
        for played in subject.matrix
        if played.conversation.scene == "a question" and played.render.rendered and played.usual
    ]


def _default_text(custom_chat: PlayedConversation, default_chat: PlayedConversation) -> str:
    """Return the text that the given system message replaces; empty if it replaces none."""
    before, _, after = custom_chat.render.text.partition(custom_chat.conversation.system)
    text = default_chat.render.text
    if not (text.startswith(before) and text.endswith(after)):
        return ""
    words = text[len(before) : len(text) - len(after)].strip()
    # A single word may occur anywhere.
    return words if " " in words else ""

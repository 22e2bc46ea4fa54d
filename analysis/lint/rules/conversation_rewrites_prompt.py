from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from autoparser.analysis.core.conversation import ToolResult
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.lint.conversation_matrix import Voice, WholeConversation
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import compare_renders, in_plain_words
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

CONTEXT = 30
"""The number of quoted characters of a rewritten text."""


@rule("AP609", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Compare whole conversations with their beginnings at which a prompt is sent."""
    for played in subject.matrix:
        conversation = played.conversation
        # Reasoning is omitted from histories on purpose, and has rules of its own.
        if conversation.other_form or any(played.texts_of(Voice.REASONING)):
            continue
        whole = subject.play_whole(replace(conversation, generation=False)).render
        for begun in _prompt_ends(conversation) if whole.rendered else ():
            render = subject.play_whole(begun).render
            if render.rendered and not whole.text.startswith(render.text):
                one, longer = in_plain_words(render, whole)
                at = prefix_length(one.text, longer.text)
                yield Hit(
                    f"in '{played.name}' the prompt of its first {len(begun.dialogue)} messages"
                    f" changes: {quote_text(one.text[at : at + CONTEXT])} becomes"
                    f" {quote_text(longer.text[at : at + CONTEXT])}",
                    (compare_renders(one, "the beginning", longer, "the whole conversation"),),
                    line=one.line_at(at),
                    setting=conversation.setting,
                )


def _prompt_ends(conversation: WholeConversation) -> Iterator[WholeConversation]:
    """Yield the conversation up to each message that can end a prompt."""
    dialogue = conversation.dialogue
    for end in range(1, len(dialogue)):
        # Nobody requests an answer between a call and its last result.
        if not isinstance(dialogue[end], ToolResult):
            yield replace(conversation, dialogue=dialogue[:end], generation=False)

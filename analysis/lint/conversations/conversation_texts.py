"""The texts of the matrix: each occurs nowhere in the template and once in a conversation."""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.core.conversation import Message, ToolCall, ToolResult, User
from autoparser.analysis.inference.probing import Sentinels, choose_sentinels


@dataclass(frozen=True, slots=True)
class ConversationTexts:
    """Whose words are whose; members of a tuple are said in this order."""

    system: str
    users: tuple[User, User, User]
    answers: tuple[str, str]
    preface: str
    reasonings: tuple[str, str]
    calls: tuple[ToolCall, ToolCall, ToolCall]
    """Calls of three tools; the second has two arguments."""
    results: tuple[ToolResult, ToolResult, ToolResult]

    def called(self, *places: int, content: str = "", reasoning: str = "") -> Message:
        """Return a message with the calls at these places."""
        return Message(content, reasoning, tuple(self.calls[place] for place in places))


def texts_for(template_text: str, marks: Sentinels) -> ConversationTexts:
    """Choose texts for a template whose tools have the names and keys of `marks`."""
    second = choose_sentinels("\n".join((template_text, *marks.words())))
    third = choose_sentinels("\n".join((template_text, *marks.words(), *second.words())))
    sets = (marks, second, third)
    calls = tuple(
        ToolCall(marks.names[at], {marks.keys[0]: marks.values[at]}, marks.ids[at])
        for at in range(3)
    )
    two = {marks.keys[0]: marks.values[1], marks.keys[1]: second.values[1]}
    first_call, second_call, third_call = calls
    second_call = ToolCall(second_call.name, two, second_call.id)
    given = (first_call, second_call, third_call)
    answered = [
        ToolResult(_sentence(each.answer), call.name, call.id)
        for each, call in zip(sets, given, strict=True)
    ]
    return ConversationTexts(
        system=_sentence(marks.system),
        users=(
            User(_sentence(marks.user)),
            User(_sentence(marks.next_user)),
            User(_sentence(second.user)),
        ),
        answers=(_sentence(marks.content), _sentence(second.content)),
        preface=_sentence(second.system),
        reasonings=(_sentence(marks.reasoning), _sentence(second.reasoning)),
        calls=given,
        results=(answered[0], answered[1], answered[2]),
    )


def _sentence(word: str) -> str:
    """Return a text with a capital, a space and a full stop, so that what alters texts shows."""
    return f"{word.capitalize()} {word[::-1]}."

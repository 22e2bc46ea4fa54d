"""Messages under the header of another speaker.

The end of a tool loop, and the finding:

    …<call>{"name": "get_weather", …}</call><|end|><|assistant|>It has 22 degrees.<|end|>
    a tool's result has another role's header, '<|assistant|>', in 'a call and its result'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autoparser.analysis.core.text_alignment import common_suffix
from autoparser.analysis.lint.conversation_matrix import (
    PlayedConversation,
    Voice,
    WrittenText,
)
from autoparser.analysis.lint.hit import Confidence, Hit, Severity
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import compare_renders, show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_system_messages
from autoparser.analysis.lint.subject import Subject

OWN = (Voice.ANSWER, Voice.CALL, Voice.PREFACE)
"""The texts of the model itself."""
OTHERS = (Voice.SYSTEM, Voice.USER, Voice.RESULT)


@dataclass(frozen=True, slots=True)
class _Headers:
    user: str
    """The header of questions, e.g. ``<|user|>``."""
    assistant: str
    """The header of answers, e.g. ``<|assistant|>``; empty if they have none."""
    lead: str = ""
    """The text between the header and an answer, e.g. an empty block of reasoning."""


@rule("AP214")
def check(subject: Subject) -> Iterator[Hit]:
    """Search before each text for the header of another speaker."""
    headers = _headers(subject)
    if headers is None:
        return
    # Without a header of answers, only later system messages can have a wrong one.
    user, assistant = headers.user, headers.assistant
    if not assistant:
        yield from _later_system(subject, headers)
        return
    if user == assistant and _prompt_ends_with(subject, user) and _differs_elsewhere(subject, user):
        yield Hit(
            f"user messages have the assistant header, {quote_text(user)}",
            tuple(show_render(chat.render, chat.name) for chat in _chats(subject)[:1]),
        )
        return
    shared = _shared_header(subject, headers)
    if shared is not None:
        whose, header = shared
        # One character may be a separator of messages and not a header.
        if len(min(user, assistant, key=len)) > 1 and not _prompt_ends_with(subject, header):
            yield Hit(
                f"assistant messages have the {whose} header, {quote_text(header)}",
                tuple(show_render(chat.render, chat.name) for chat in _chats(subject)[-1:]),
                # Without a generation prompt, the template may not be meant for answers.
                severity=None
                if any(opening.text for opening in subject.format.openings)
                else Severity.WARNING,
            )
        return
    seen: set[Voice] = set()
    for played in subject.matrix:
        # After a lost text, two headers precede the next one.
        whole = all(played.holds(spoken) for spoken in played.texts_of(*OWN, *OTHERS))
        texts = played.written_texts if whole and not played.conversation.other_form else ()
        for index, text in enumerate(texts):
            wrong = _foreign_header(headers, texts, index)
            if wrong and text.spoken.voice not in seen:
                seen.add(text.spoken.voice)
                yield _header_hit(played, text, wrong)
    if Voice.SYSTEM not in seen:
        yield from _later_system(subject, headers)


def _shared_header(subject: Subject, headers: _Headers) -> tuple[str, str] | None:
    """Return the role and the header that answers share with another role, or None."""
    user, assistant = headers.user, headers.assistant
    if user in assistant or assistant in user:
        return "user", user
    befores = [text.before for chat in _chats(subject) for text in chat.written_by(Voice.SYSTEM)]
    prompts = any(opening.text.strip() for opening in subject.format.openings)
    alike = any(before.rstrip().endswith(assistant) for before in befores)
    wrong = alike and prompts and not _prompt_ends_with(subject, assistant)
    return ("system", assistant) if wrong else None


_WORD = re.compile(r"[^\W\d_]{3}")


def _chats(subject: Subject) -> list[PlayedConversation]:
    """Return the conversations of a second question, without and with a system message."""
    scene = "a second question"
    return [
        played for played in subject.matrix if played.usual and played.conversation.scene == scene
    ]


def _differs_elsewhere(subject: Subject, header: str) -> bool:
    """Return whether the system message has a header different from all others."""
    befores = [text.before for chat in _chats(subject) for text in chat.written_by(Voice.SYSTEM)]
    words = _WORD.search(header) is not None
    return words and any(header not in before and _WORD.search(before) for before in befores)


def _later_system(subject: Subject, headers: _Headers) -> Iterator[Hit]:
    """Render a system message before the last question, and check its header."""
    renders = render_system_messages(subject, after_question=True)
    if renders is None:
        return
    first, later, usual, before = renders
    for header, whose in ((headers.assistant, "assistant"), (headers.user, "user")):
        if not header:
            continue
        text = before.rstrip()
        if whose == "assistant" and headers.lead:
            text = text.removesuffix(headers.lead).rstrip()
        if text.endswith(header) and not usual.rstrip().endswith(header):
            yield Hit(
                f"a system message in the middle of a conversation has the {whose} header,"
                f" {quote_text(header)}",
                (compare_renders(later, "in the middle", first, "as the first message"),),
                line=later.line_at(later.text.find(subject.marks.system) - 1),
                # Some models have no other role for later instructions.
                severity=Severity.WARNING if header == headers.user else None,
                confidence=Confidence.MEDIUM if header == headers.user else None,
            )
            return


def _foreign_header(headers: _Headers, texts: Sequence[WrittenText], at: int) -> str:
    """Return another speaker's header directly before a text; empty if it has its own."""
    text = texts[at]
    if text.spoken.voice in OWN:
        # A question that is repeated before it has its own header, which the answer's follows.
        nearest = text.before.rpartition(headers.assistant)[2]
        return headers.user if headers.user in nearest else ""
    if text.spoken.voice in OTHERS and headers.assistant in text.before:
        # A message with omitted calls has a header and no text after it.
        said = text.before.rpartition(headers.assistant)[2]
        return headers.assistant if headers.user not in said and _short(said, headers) else ""
    last = at + 1 == len(texts)
    alike = text.spoken.voice is Voice.SYSTEM and text.before.rstrip().endswith(headers.user)
    return headers.user if alike and not last and headers.user in texts[at + 1].before else ""


def _short(header_rest: str, headers: _Headers) -> bool:
    return len(header_rest.strip()) <= 1 or header_rest.strip() == headers.lead


def _header_hit(played_chat: PlayedConversation, text: WrittenText, header: str) -> Hit:
    system = text.spoken.voice is Voice.SYSTEM
    return played_chat.hit(
        f"{text.spoken.voice} has another role's header, {quote_text(header)}, in"
        f" '{played_chat.name}'",
        played_chat.render.line_at(text.start - 1),
        # Some models have no system role: instructions are given in another role.
        severity=Severity.WARNING if system else None,
        confidence=Confidence.MEDIUM if system else None,
    )


def _headers(subject: Subject) -> _Headers | None:
    """Return the headers of questions and of an answer, or None if they are unknown."""
    chat = subject.scene("a second question")
    befores = [text.before for text in chat.written_by(Voice.USER)] if chat is not None else []
    assistant = subject.format.header.strip()
    if chat is None or len(befores) < 2:  # noqa: PLR2004 - two questions
        return None
    if not assistant:
        user = common_suffix(*befores).strip()
        return _Headers(user, "") if user else None
    leads = [text.before.rpartition(assistant) for text in chat.written_by(*OWN)]
    lead = next((rest.strip() for _, found, rest in leads if found), "")
    first, *_, last = (before.rstrip().removesuffix(lead).rstrip() for before in befores)
    mistaken = last.endswith(assistant) and not first.endswith(assistant)
    # A later question may have the header of answers.
    user = first.strip() if mistaken else common_suffix(*befores).strip()
    return _Headers(user, assistant, lead) if user else None


def _prompt_ends_with(subject: Subject, header: str) -> bool:
    """Return whether the generation prompt ends with the header of questions, too."""
    return any(header in opening.text for opening in subject.format.openings)

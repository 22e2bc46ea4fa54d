from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.analysis.lint.call_texts import call_spans
from autoparser.analysis.lint.conversation_matrix import Voice
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import compare_renders, parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule import RuleNeed
from autoparser.analysis.lint.rule_conversations import render_answer, user_question
from autoparser.analysis.lint.subject import Subject


@rule("AP115")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a user message with no tools, and with an empty list of them."""
    yield from _told_to_call(subject)
    none = subject.render(user_question(subject), generation=True, setting={})
    empty = subject.render(user_question(subject), generation=True, setting={"tools": []})
    if none.rendered and empty.rendered and none.text != empty.text:
        yield Hit(
            "tools=[] renders a different prompt than no tools",
            (compare_renders(empty, "tools=[]", none, "no tools"),),
            line=parting_line(empty, none),
        )


def _told_to_call(subject: Subject) -> Iterator[Hit]:
    """Search the part of a prompt without tools that precedes the question for markers of calls."""
    called = (
        next((played for played in subject.matrix if any(played.texts_of(Voice.CALL))), None)
        if subject.has(RuleNeed.CALLS)
        else None
    )
    spans = [] if called is None else call_spans(called)
    plain, answered = subject.play((subject.user,), generation=True), render_answer(subject)
    told, question, _ = plain.text.partition(subject.marks.user)
    # Headers and ends of messages surround answers, too.
    answer = TemplateLiteral.of(answered.text.partition(subject.marks.user)[2]).markers
    # The span reaches back to the prompt's beginning if the template alters the question.
    call = spans[0].text.rpartition(subject.marks.user)[2] if spans and question else ""
    markers = TemplateLiteral.of(call).markers if answered.rendered else ()
    marker = next((marker for marker in markers if marker in told and marker not in answer), None)
    if called is not None and marker is not None:
        yield Hit(
            f"a prompt without tools contains {quote_text(marker)}, a marker of tool calls",
            (compare_renders(plain, "no tools", called.render, called.name),),
            line=plain.line_of(marker),
        )

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import failure_words, raising_hit
from autoparser.analysis.lint.lint_renders import Render, compare_renders, parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP535")
def check(subject: Subject) -> Iterator[Hit]:
    """Render the results of two calls in their order, and the second one first."""
    marks = subject.marks
    calls = (subject.call(0), subject.call(1))
    # Reversed, the sentinel is a second word that occurs nowhere else.
    texts = (marks.answer, marks.answer[::-1])
    one, other = (subject.answer(*pair) for pair in zip(calls, texts, strict=True))
    asked = (subject.user, Message(calls=calls))
    usual = subject.play((*asked, one, other), tools=True, generation=True)
    turned = subject.play((*asked, other, one), tools=True, generation=True)
    # A template that omits a call or a result cannot attribute one to the other.
    if not _both_written(usual, texts) or not _both_called(usual, calls):
        return
    both = (turned, "the second result first"), (usual, "in the order of the calls")
    evidence = (compare_renders(*both[0], *both[1]),)
    if turned.error is not None:
        yield raising_hit(
            f"a request with results in another order than the calls {failure_words(turned)}",
            *both,
            refused=Severity.WARNING,
        )
    elif turned.text == _swap_texts(usual.text, texts):
        labeled = _has_label(usual.text, texts, calls)
        yield Hit(
            "a result sent before an earlier call's result is rendered with the name or id of"
            " that call"
            if labeled
            else "results in another order are attributed to the wrong calls: they have"
            " neither names nor ids",
            evidence,
            line=turned.line_of(texts[0]),
            severity=None if labeled else Severity.INFO,
        )
    elif not all(text in turned.text for text in texts):
        yield Hit(
            "results in another order than the calls are not all rendered",
            evidence,
            line=parting_line(turned, usual),
        )


def _both_written(usual: Render, texts: tuple[str, str]) -> bool:
    """Return whether both results are written, once each and in order."""
    places = [usual.text.find(text) for text in texts]
    return -1 < places[0] < places[1] and all(usual.text.count(text) == 1 for text in texts)


def _both_called(usual: Render, calls: tuple[ToolCall, ...]) -> bool:
    """Return whether both calls are written, too."""
    return all(str(value) in usual.text for call in calls for value in call.arguments.values())


def _swap_texts(text: str, texts: tuple[str, str]) -> str:
    one, other = texts
    before, _, rest = text.partition(one)
    between, _, after = rest.partition(other)
    return before + other + between + one + after


def _has_label(text: str, texts: tuple[str, str], calls: tuple[ToolCall, ...]) -> bool:
    """Return whether the name or the id of a call is between the two results."""
    between = text.partition(texts[0])[2].partition(texts[1])[0]
    return any(word in between for call in calls for word in (call.name, call.id))

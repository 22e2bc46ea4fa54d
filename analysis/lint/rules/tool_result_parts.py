from __future__ import annotations

from collections.abc import Iterator, Mapping

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.message_shape import EmptyContent
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import raising_hit
from autoparser.analysis.lint.lint_renders import compare_renders, parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP529")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a call and its result as a text and as a list of one part."""
    answer = subject.marks.answer
    text = subject.play(subject.loop, tools=True)
    if not text.rendered or answer not in text.text:
        return
    part: Json = {"type": "text", "text": answer}
    content: Json = [part]
    messages: list[Mapping[str, Json]] = [
        {**message, "content": content} if message["role"] == "tool" else message
        for message in text.messages
    ]
    parts = subject.render(
        messages,
        tools=subject.usual_tools,
        as_given=subject.shape.empty_content is EmptyContent.NULL,
    )
    both = (parts, "the result as a list of parts"), (text, "as a string")
    evidence = (compare_renders(*both[0], *both[1]),)
    if parts.error is not None:
        message = f"fails on tool results as a list of parts: {parts.reason}"
        yield raising_hit(message, *both, refused=Severity.INFO)
    elif answer not in parts.text:
        yield Hit(
            "a tool result as a list of parts is not in the prompt",
            evidence,
            line=parting_line(parts, text),
            loses=True,
        )
    elif str(part) in parts.text:
        yield Hit(
            f"a tool result as a list of parts is rendered as {[part]!r}",
            evidence,
            line=parts.line_of(str(part)),
        )

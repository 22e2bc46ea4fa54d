from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.call_texts import call_spans
from autoparser.analysis.lint.conversation_matrix import Voice
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP218")
def check(subject: Subject) -> Iterator[Hit]:
    """Search for the end of an answer between the header of a turn and its first call."""
    played = {played.conversation.scene: played for played in reversed(subject.matrix)}
    answered, calling = played.get("an answer"), played.get("a call and its result")
    if answered is None or calling is None:
        return
    texts = answered.written_texts
    spans = call_spans(calling)
    header = subject.format.header.strip()
    if not texts or not spans or texts[-1].spoken.voice is not Voice.ANSWER or not header:
        return
    _, begun, before = spans[0].texts[0].before.rpartition(header)
    ends = [stop for stop in subject.format.stop_strings if stop in texts[-1].after]
    end = next((stop for stop in ends if stop in before), "")
    if begun and end:
        yield Hit(
            f"turns end with {quote_text(end)}, which also precedes the first word of a call",
            answered.against(calling),
            line=calling.render.line_at(spans[0].texts[0].start),
        )

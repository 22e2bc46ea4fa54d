from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders, parting_line
from autoparser.analysis.lint.other_environments import engines_on
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.chat_template import prepared_messages

KEYS = ("tool_calls", "function_call", "refusal", "audio", "name")
"""The fields of the client library's messages, beside role and content.

AP109 and AP110 check content beside calls.
"""


@rule("AP806", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render such messages as they are given, and as transformers prepares them."""
    system = subject.marks.system
    for kind, dialogue, tools in (
        ("an answer", subject.chat, False),
        ("a call", subject.loop, True),
    ):
        if tools and subject.format.calls is None:
            return
        messages = [
            _with_null_keys(message) for message in subject.shape.messages(dialogue, system)
        ]
        offered = subject.usual_tools if tools else None
        prepared = cast("list[dict[str, Json]]", prepared_messages(messages))
        for copy, message in zip(prepared, messages, strict=True):
            copy |= {key: value for key, value in message.items() if key == "content"}
        given, without = (
            subject.render(chat, tools=offered, as_given=True)
            # Messages are prepared above, so that the evidence shows the template's exact input.
            for chat in (messages, prepared)
        )
        if given.rendered == without.rendered and given.text == without.text:
            continue
        if given.error is not None:
            outcome = f"fails: {given.reason}"
        elif without.error is not None:
            outcome = f"renders, but fails without them: {without.reason}"
        else:
            outcome = "renders differently"
        yield Hit(
            f"with keys that are None, as client libraries send them, {kind} {outcome}",
            (compare_renders(given, "with keys that are None", without, "without them"),),
            line=parting_line(given, without),
            cause=given.cause,
            engines=engines_on(subject, kind, given, without) if without.rendered else (),
        )


def _with_null_keys(message: dict[str, Json]) -> dict[str, Json]:
    if message["role"] != "assistant":
        return message
    return {**dict.fromkeys(KEYS), **message}

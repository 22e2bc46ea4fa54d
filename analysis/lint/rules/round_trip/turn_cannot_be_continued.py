"""A turn that was begun cannot be continued.

To go on where a model was cut, or to put the first words into its mouth, transformers renders the
begun message last and cuts the prompt after it (`continue_final_message`). Where the template
strips or drops what the message holds, that raises, or the model goes on after another text.

Before:

    {{- '<assistant>' + message.content | trim }}

After:

    {{- '<assistant>' + message.content }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import alone
from autoparser.analysis.lint.rule import Rule
from autoparser.analysis.lint.subject import Subject

TAG = "qqqqcontinueqqqq"


def check(subject: Subject) -> Iterator[Hit]:
    """Render a begun message with a tag after its text, and look what stands before the tag."""
    begun = f"{subject.marks.content}:\n  "
    dialogue = (subject.user, Message(f"{begun}{TAG}"))
    messages: list[dict[str, Json]] = subject.shape.messages(dialogue, subject.marks.system)
    render = subject.render(messages, setting=subject.usual_setting)
    if not render.rendered:
        return
    at = render.text.rfind(TAG)
    if at < 0:
        yield Hit(
            "a turn that was begun cannot be continued: its text is not in the prompt",
            (alone(render, "a turn that was begun"),),
        )
    elif not render.text[:at].endswith(begun):
        yield Hit(
            "a turn that was begun is continued after another text than was begun",
            (alone(render, "a turn that was begun"),),
        )


RULE = Rule(
    "AP608",
    "turn-cannot-be-continued",
    __doc__,
    Severity.WARNING,
    check,
    fix="write the content of the last message as it is given",
)

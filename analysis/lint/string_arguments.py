"""A call whose arguments are JSON text, and the same call with an object."""

from __future__ import annotations

import json

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.inference.probing import EmptyContent

from .lint_renders import Render
from .subject import Subject


def both_forms(subject: Subject) -> tuple[Render, Render]:
    """Render a call with its arguments as JSON text, and as an object."""
    return with_arguments(subject, as_string=True), with_arguments(subject, as_string=False)


def with_arguments(subject: Subject, *, as_string: bool) -> Render:
    """Render a call with its arguments in one of the two forms, whatever the shape has."""
    call = subject.call()
    messages = subject.shape.messages(subject.turn(Message(calls=(call,))), subject.marks.system)
    arguments = json.dumps(dict(call.arguments)) if as_string else dict(call.arguments)
    for message in messages:
        calls = message.get("tool_calls")
        for given in calls if isinstance(calls, list) else ():
            if isinstance(given, dict):
                function = given.get("function")
                (function if isinstance(function, dict) else given)["arguments"] = arguments
    return subject.render(
        messages,
        tools=subject.offered,
        setting=subject.usual_setting,
        as_given=subject.shape.empty_content is EmptyContent.NULL,
    )

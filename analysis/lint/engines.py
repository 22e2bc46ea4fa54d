"""A template in other environments than transformers' own, and what differs there.

The facts about older releases are from the wheels of transformers: `tojson` that escapes no HTML
came with 4.42, the generation tag with 4.43, loop controls and `strftime_now` with 4.45.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType

from jinja2 import Environment, Template, TemplateSyntaxError
from jinja2.filters import FILTERS
from jinja2.sandbox import ImmutableSandboxedEnvironment

from autoparser.analysis.conversation import Dialogue, Json, Message
from autoparser.analysis.errors import one_line
from autoparser.analysis.template import prepared_messages, prepared_tools
from autoparser.analysis.template.environment import GenerationTag, chat_environment

from .renders import NOON, Render
from .subject import Subject

LOOP_CONTROLS = "jinja2.ext.loopcontrols"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A conversation as it is rendered here, and as it is rendered there."""

    what: str
    usual: Render
    text: str = ""
    error: str = ""
    """Why it fails there; empty where it does not."""

    @property
    def differs(self) -> bool:
        """Whether what is rendered here is not rendered there, or is another text."""
        return self.usual.rendered and (bool(self.error) or self.text != self.usual.text)


def environment(
    *, tags: tuple[str | type[GenerationTag], ...] = (LOOP_CONTROLS, GenerationTag),
    clock: bool = True, tojson: bool = True, trim: bool = True, newline: bool = False,
) -> Environment:
    """Give transformers' environment without some of what it adds to Jinja.

    `newline` keeps the newline at the template's end, which Jinja leaves out.
    """
    usual = chat_environment()
    made = ImmutableSandboxedEnvironment(
        trim_blocks=trim, lstrip_blocks=trim, extensions=tags, optimized=False,
        keep_trailing_newline=newline,
    )
    made.globals = {**usual.globals}
    if not clock:
        del made.globals["strftime_now"]
    made.filters["tojson"] = usual.filters["tojson"] if tojson else FILTERS["tojson"]
    return made


@lru_cache(maxsize=4)
def code_of(made: Environment, text: str) -> CodeType:
    """Compile a template's text. Raises TemplateSyntaxError."""
    return made.compile(made.parse(text))


def elsewhere(
    subject: Subject, made: Environment, code: CodeType, *, clock: bool = True
) -> Iterator[Elsewhere]:
    """Render ordinary conversations in another environment."""
    template = Template.from_code(made, code, dict(made.globals))
    for what, usual, variables in ordinary(subject):
        given = variables if clock else {**variables}
        if not clock:
            given = {key: value for key, value in variables.items() if key != "strftime_now"}
        try:
            text = template.render(given)
        except Exception as error:  # noqa: BLE001 - untrusted code raises whatever it likes
            yield Elsewhere(what, usual, error=one_line(f"{type(error).__name__}: {error}"))
        else:
            yield Elsewhere(what, usual, text)


def ordinary(subject: Subject) -> Iterator[tuple[str, Render, Mapping[str, object]]]:
    """Give ordinary conversations: in words, as rendered, and the variables."""
    marks, call = subject.marks, subject.call()
    chat: Dialogue = (subject.user, Message(marks.content), subject.next_user)
    loop: Dialogue = (subject.user, Message(calls=(call,)), subject.answer(call))
    for what, dialogue, tools in (("a chat", chat, False), ("a tool call", loop, True)):
        render = subject.play(dialogue, tools=tools, generation=True)
        variables: dict[str, object] = {
            "strftime_now": NOON.strftime,
            **subject.tokens,
            "messages": prepared_messages(render.messages),
            "tools": prepared_tools(subject.offered if tools else None),
            "documents": None,
            "add_generation_prompt": True,
            **subject.usual_setting,
        }
        yield what, render, variables

"""Conversations, put to another program's Jinja in a process of its own.

Contract: the process has ended when the answers are there, whatever the template did to it. What
was not answered says why.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import repeat

from autoparser.analysis.core.errors import one_line
from autoparser.analysis.loading.template import TemplateToken, template_tokens

from .installed_jinjas import OtherJinja

__all__ = ["JinjaAnswer", "JinjaQuestion", "ask"]

SECONDS = 60.0
"""For all conversations of a template."""
STANDARD = ("messages", "tools", "documents", "add_generation_prompt", "strftime_now")
"""What is no switch of a template."""
_BEGIN = ("block_begin", "variable_begin", "raw_begin")
_MOST_WORDS = 200


@dataclass(frozen=True, slots=True)
class JinjaQuestion:
    """A template and the conversations to render."""

    template: str
    tokens: Mapping[str, str]
    """The special tokens."""
    clock: datetime
    """The time that the template sees, where that can be said."""
    conversations: Sequence[Mapping[str, object]]
    """What the template reads, for each."""


@dataclass(frozen=True, slots=True)
class JinjaAnswer:
    """What a program made of one conversation."""

    text: str = ""
    error: str = ""
    """Why it did not render; empty where it did."""
    at: int | None = None
    """Where in the template it stopped, in characters; None where that is not known."""
    asked: bool = True
    """False where the program did not come to it; `error` says why."""


def ask(jinja: OtherJinja, question: JinjaQuestion) -> tuple[JinjaAnswer, ...]:
    """Return an answer to each conversation, in their order."""
    given = json.dumps(_asked(question))
    try:
        with subprocess.Popen(  # noqa: S603 - one of the installed programs
            jinja.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        ) as process:
            try:
                written, words = process.communicate(given, timeout=SECONDS)
                end = f"the process ended with the code {process.returncode}: {_last(words)}"
            except subprocess.TimeoutExpired as late:
                process.kill()
                written = (late.stdout or b"").decode(errors="replace")
                end = f"it takes more than {SECONDS:g} seconds"
    except OSError as error:
        written, end = "", f"it cannot be started: {error.strerror}"
    answers = [*_answers(written)]
    missing = len(question.conversations) - len(answers)
    return (*answers, *repeat(JinjaAnswer(error=end, asked=False), missing))


def _asked(question: JinjaQuestion) -> Mapping[str, object]:
    tokens = [each for each in template_tokens(question.template) if each.kind in _BEGIN]
    note = "noted_line"
    while note in question.template:
        note += "_"
    return {
        "template": question.template,
        "clock": question.clock.isoformat(),
        "bos": question.tokens.get("bos_token") or "<s>",
        "eos": question.tokens.get("eos_token") or "</s>",
        "standard": [*STANDARD, *question.tokens],
        "note": note,
        "marked": _marked(question.template, tokens, note),
        "tags": [each.start for each in tokens],
        "conversations": [
            {name: value for name, value in each.items() if name != "strftime_now"}
            for each in question.conversations
        ],
    }


def _marked(text: str, tokens: Sequence[TemplateToken], note: str) -> str:
    """Return the template with a call before every tag that notes its place."""
    pieces: list[str] = []
    end = 0
    for each in tokens:
        pieces += [text[end : each.start], f"{{{{ {note}({each.start}) }}}}"]
        end = each.start
    return "".join((*pieces, text[end:]))


def _answers(written: str) -> Iterator[JinjaAnswer]:
    for row in written.split("\n"):
        try:
            given = json.loads(row)
        except ValueError:
            # Nothing, or a line that was cut with the process.
            return
        if "text" in given:
            yield JinjaAnswer(given["text"])
        else:
            words = one_line(given["error"]).rstrip(".")[:_MOST_WORDS]
            yield JinjaAnswer(error=words or "an error without words", at=given.get("at"))


def _last(words: str) -> str:
    lines = words.strip().splitlines()
    return lines[-1] if lines else "it said nothing"

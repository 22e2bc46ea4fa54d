"""What another program's Jinja makes of whole conversations, judged by the template's own renders.

Contract: every conversation is asked or counted with the reason why not.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import repeat
from pathlib import Path
from types import MappingProxyType
from typing import cast

from autoparser.analysis.core.errors import TemplateRenderError, one_line
from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.source_text import TemplateToken, template_tokens
from autoparser.analysis.templates.template_edits import in_newlines
from autoparser.analysis.templates.worker_pool import python_answer

from .conversation_matrix import PlayedConversation
from .hit import Hit, HitEvidence, Severity, ShownText
from .lint_renders import NOON, AskedRender, Render

# Conversations, put to another program's Jinja in a process of its own.
#
# The process has ended when the answers are there, whatever the template did to it. What was not
# answered says why.

# Which other programs' Jinja can be asked here.


START = 60.0
"""Seconds for a program to say what is installed."""
_WORKERS = Path(__file__).parent / "jinja_workers"
_LLAMA = ServerEngine.LLAMA_SERVER.record
_PYTHON_WORKERS = {"minijinja": "minijinja_worker.py", _LLAMA.package: "llama_worker.py"}
_NAMES = {_LLAMA.package: _LLAMA.title}
_FIND = (
    "import sys; sys.path[:] = filter(None, sys.path); import importlib.metadata as m, json;"
    " import importlib.util as u;"
    " print(json.dumps({e: m.version(e) for e in sys.argv[1:] if u.find_spec(e) is not None}))"
)
_PACKAGE = "@huggingface/jinja"
_RESOLVE = (
    "const named = (process.env.NODE_PATH ?? '').split(require('node:path').delimiter);"
    "const main = require.resolve(process.argv[1], {paths: [process.cwd(), ...named]});"
    "const at = main.lastIndexOf('dist');"
    "const version = require(main.slice(0, at) + 'package.json').version;"
    "console.log(JSON.stringify({main, version}));"
)


@dataclass(frozen=True, slots=True)
class OtherJinja:
    """A program with a Jinja of its own, and how it is asked."""

    name: str
    """``minijinja``, ``llama.cpp`` or ``@huggingface/jinja``."""
    version: str
    command: tuple[str, ...]
    """Starts the worker that asks it."""
    own_requests: bool = False
    """It is asked by requests, and prepares messages, tools and the clock itself."""

    @property
    def label(self) -> str:
        """Its name and its version."""
        return f"{self.name} {self.version}"


def installed_jinjas(pythons: Sequence[str]) -> tuple[OtherJinja, ...]:
    """Return what these Pythons and node have, each program once.

    node looks from the working directory upward and where NODE_PATH says. Raises AutoparserError
    for a Python that cannot be run.
    """
    found: dict[str, OtherJinja] = {}
    for python in pythons:
        for each in _of_python(python):
            found.setdefault(each.name, each)
    for each in _of_node():
        found[each.name] = each
    return tuple(found.values())


def _of_python(python: str) -> Iterator[OtherJinja]:
    versions: dict[str, str] = python_answer(python, _FIND, _PYTHON_WORKERS, START)
    for package, version in versions.items():
        worker = str(_WORKERS / _PYTHON_WORKERS[package])
        name = _NAMES.get(package, package)
        yield OtherJinja(name, version, (python, worker), own_requests=package in _NAMES)


def _of_node() -> Iterator[OtherJinja]:
    node = shutil.which("node")
    if node is None:
        return
    with suppress(OSError, ValueError, subprocess.SubprocessError):
        ran = subprocess.run(  # noqa: S603 - node, as the shell would find it
            [node, "-e", _RESOLVE, _PACKAGE],
            capture_output=True,
            text=True,
            timeout=START,
            check=True,
        )
        found: dict[str, str] = json.loads(ran.stdout)
        worker = str(_WORKERS / "huggingface_worker.mjs")
        command = (node, "--max-old-space-size=500", worker, found["main"])
        yield OtherJinja(_PACKAGE, found["version"], command)


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
    was_asked: bool = True
    """False where the program did not come to it; `error` says why."""


def ask_jinja(jinja: OtherJinja, question: JinjaQuestion) -> tuple[JinjaAnswer, ...]:
    """Return an answer to each conversation, in their order."""
    given = json.dumps(_question_document(question))
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
                end = f"the process ended with the code {process.returncode}: {_last_line(words)}"
            except subprocess.TimeoutExpired as late:
                process.kill()
                written = (late.stdout or b"").decode(errors="replace")
                end = f"it takes more than {SECONDS:g} seconds"
    except OSError as error:
        written, end = "", f"it cannot be started: {error.strerror}"
    answers = [*_answers(written)]
    missing = len(question.conversations) - len(answers)
    return (*answers, *repeat(JinjaAnswer(error=end, was_asked=False), missing))


def _question_document(question: JinjaQuestion) -> Mapping[str, object]:
    tokens = [token for token in template_tokens(question.template) if token.kind in _BEGIN]
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
        "marked": _mark_tags(question.template, tokens, note),
        "tags": [token.start for token in tokens],
        "conversations": [
            {name: value for name, value in conversation.items() if name != "strftime_now"}
            for conversation in question.conversations
        ],
    }


def _mark_tags(text: str, tokens: Sequence[TemplateToken], note: str) -> str:
    """Return the template with a call before every tag that notes its place."""
    pieces: list[str] = []
    end = 0
    for token in tokens:
        pieces += [text[end : token.start], f"{{{{ {note}({token.start}) }}}}"]
        end = token.start
    return "".join((*pieces, text[end:]))


def _answers(output_text: str) -> Iterator[JinjaAnswer]:
    for row in output_text.split("\n"):
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


def _last_line(words: str) -> str:
    lines = words.strip().splitlines()
    return lines[-1] if lines else "it said nothing"


@dataclass(frozen=True, slots=True)
class SentConversation:
    """A conversation that the template renders, and what it is rendered with."""

    words: str
    variables: Mapping[str, object]
    render: Render
    judged: Mapping[str, object] | None = None
    """What the template itself rendered instead, where what is sent should become that text."""


@dataclass(frozen=True, slots=True)
class TagPlace:
    """A place of a template, and what stands there."""

    line: int
    """From 1."""
    text: str


@dataclass(frozen=True, slots=True)
class JinjaDifference:
    """A conversation that another program renders otherwise, or not at all."""

    conversation: SentConversation
    answer: JinjaAnswer
    place: TagPlace | None
    """Where it failed, or what wrote the first character that is another; None: not known."""


@dataclass(frozen=True, slots=True)
class JinjaComparison:
    """All conversations in one program."""

    jinja: OtherJinja
    same: tuple[SentConversation, ...]
    """Those that it renders as the template is meant."""
    differences: tuple[JinjaDifference, ...]
    not_asked: Mapping[str, int]
    """How many were not asked, by reason."""

    @property
    def alike(self) -> int:
        """How many it renders as the template is meant."""
        return len(self.same)

    @property
    def asked_count(self) -> int:
        """How many were asked."""
        return self.alike + len(self.differences)

    @property
    def words(self) -> str:
        """Say in one line what was asked and what was not."""
        left = "".join(f"; {count} not asked: {why}" for why, count in self.not_asked.items())
        share = f"{self.alike} of {self.asked_count}"
        return f"{self.jinja.label} renders {share} conversations alike{left}"


def _find_place(
    template: ChatTemplate, conversation: SentConversation, answer: JinjaAnswer
) -> TagPlace | None:
    if answer.error:
        return None if answer.at is None else _tag_at(template.text, answer.at)
    usual = conversation.render.text
    first = prefix_length(usual, answer.text)
    # What the other writes beyond the end comes after the last that is written here.
    span = template.source_map(conversation.judged or conversation.variables).span_at(
        min(first, len(usual) - 1)
    )
    return None if span is None else _place_of(in_newlines(template.text), span.start, span.end)


def _tag_at(text: str, at: int) -> TagPlace:
    """Return the tag that holds a place."""
    begun = 0
    for token in template_tokens(text):
        if token.kind in ("block_begin", "variable_begin", "raw_begin"):
            begun = token.start
        if token.kind in ("block_end", "variable_end", "raw_begin") and token.end > at >= begun:
            return _place_of(text, begun, token.end)
    return _place_of(text, at, at)


def _place_of(text: str, start: int, end: int) -> TagPlace:
    return TagPlace(text.count("\n", 0, start) + 1, text[start:end].strip())


# Which whole conversations another program's Jinja is asked, and why not the others.


REFUSED = "the template refuses them"
OTHER_FORM = "the template does not read content of their form"
CHANGING = "their text changes while it is asked for"
_MINUTE = timedelta(minutes=1)


def compare_matrix(
    jinja: OtherJinja,
    template: ChatTemplate,
    tokens: Mapping[str, str],
    played_chats: Sequence[PlayedConversation],
    asked_renders: Sequence[AskedRender],
) -> JinjaComparison:
    """Have a program render what the template rendered, as `asked_renders` were made."""
    made_with = {id(render.render): render.variables for render in asked_renders}
    texts = {chat.conversation.name: chat.render.text for chat in played_chats}
    sent: list[SentConversation] = []
    left: Counter[str] = Counter()
    for chat in played_chats:
        usual_form = replace(chat.conversation, other_form=False).name
        if not chat.render.rendered:
            left[REFUSED] += 1
        elif chat.render.text != texts.get(usual_form, chat.render.text):
            # That it is written as Python shows a list is a finding of its own.
            left[OTHER_FORM] += 1
        else:
            name, variables = chat.conversation.name, made_with[id(chat.render)]
            known = SentConversation(name, variables, chat.render)
            sent.append(_in_usual_form(template, known) or known)
    return compare_sent(jinja, template, tokens, [*sent, *_with_signs(template, sent[:1])], left)


def _in_usual_form(
    template: ChatTemplate, conversation: SentConversation
) -> SentConversation | None:
    """Return a conversation whose contents are texts, where those sent are lists of one text.

    The negotiated form is what an analysis can tell most by; callers send a text wherever the
    template does not raise on it. None where nothing differs, or it does raise.
    """
    messages = _messages(conversation)
    plain = [{**message, "content": _text_of(message.get("content"))} for message in messages]
    return (
        None
        if plain == messages
        else _render_messages(template, conversation, conversation.words, plain)
    )


def _text_of(content: object) -> object:
    match content:
        case [{"type": "text", "text": str(text)}]:
            return text
        case _:
            return content


SIGNS = "3 > 2 < 4 & \"q\" 'a' c/d\\e é 日本 🚀"
"""What filters of different programs escape, count or turn otherwise."""


def _with_signs(
    template: ChatTemplate, conversations: Sequence[SentConversation]
) -> Iterator[SentConversation]:
    """Return the conversations with signs and letters beyond ASCII in what the user says."""
    for conversation in conversations:
        messages = [
            {**one, "content": f"{one['content']} {SIGNS}"}
            if one.get("role") == "user" and isinstance(one.get("content"), str)
            else one
            for one in _messages(conversation)
        ]
        found = _render_messages(
            template, conversation, f"{conversation.words} with signs", messages
        )
        if found is not None:
            yield found


def _messages(conversation: SentConversation) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", conversation.variables["messages"])


def _render_messages(
    template: ChatTemplate,
    conversation: SentConversation,
    words: str,
    messages: list[dict[str, object]],
) -> SentConversation | None:
    variables = {**conversation.variables, "messages": messages}
    try:
        text = template.render_prepared(variables)
    except TemplateRenderError:
        return None
    return SentConversation(words, variables, Render(conversation.render.messages, text))


def compare_sent(
    jinja: OtherJinja,
    template: ChatTemplate,
    tokens: Mapping[str, str],
    conversations: Sequence[SentConversation],
    not_asked: Mapping[str, int] = MappingProxyType({}),
) -> JinjaComparison:
    """Have a program render conversations, as far as their text is not of the minute.

    `not_asked` are counted already.
    """
    clock = datetime.now() if jinja.own_requests else NOON  # noqa: DTZ005 - as templates see it
    at_clock = [_at_clock(template, conversation, clock) for conversation in conversations]
    sent = [each for each in at_clock if each is not None]
    given = JinjaQuestion(template.text, tokens, clock, [each.variables for each in sent])
    missing = Counter(not_asked)
    if len(sent) < len(conversations):
        missing[CHANGING] = len(conversations) - len(sent)
    differences: list[JinjaDifference] = []
    same: list[SentConversation] = []
    for each, answer in zip(sent, ask_jinja(jinja, given), strict=True):
        if not answer.was_asked:
            missing[answer.error] += 1
        elif answer.error or answer.text != each.render.text:
            differences.append(JinjaDifference(each, answer, _find_place(template, each, answer)))
        else:
            same.append(each)
    return JinjaComparison(jinja, tuple(same), tuple(differences), missing)


def _at_clock(
    template: ChatTemplate, conversation: SentConversation, clock: datetime
) -> SentConversation | None:
    """Return a conversation as it is rendered at a time; None where a minute makes another text."""
    if clock == NOON:
        return conversation
    judged = conversation.judged or conversation.variables
    given = [{**judged, "strftime_now": at.strftime} for at in (clock, clock + _MINUTE)]
    try:
        text, later = map(template.render_prepared, given)
    except TemplateRenderError:
        return None
    if text != later:
        return None
    variables = {**conversation.variables, "strftime_now": clock.strftime}
    return SentConversation(
        conversation.words, variables, Render(conversation.render.messages, text), given[0]
    )


# What another program's Jinja makes of whole conversations, as hits: one for each cause.


_MOST_CHARACTERS = 60
"""Of what stands at a place."""

_Cause = tuple[TagPlace | None, str]


def hits_of(
    comparison: JinjaComparison, played_chats: Sequence[PlayedConversation], *, failed: bool
) -> Iterator[Hit]:
    """Return a hit for each cause: of failures, or of other texts.

    `played_chats` is what the template itself makes of the conversations.
    """
    by_cause: dict[_Cause, list[JinjaDifference]] = {}
    for difference in comparison.differences:
        if bool(difference.answer.error) is failed:
            by_cause.setdefault((difference.place, difference.answer.error), []).append(difference)
    for (place, _), those in by_cause.items():
        yield _hit_of(comparison, place, those, played_chats)


def _hit_of(
    comparison: JinjaComparison,
    place: TagPlace | None,
    those: list[JinjaDifference],
    played_chats: Sequence[PlayedConversation],
) -> Hit:
    name = comparison.jinja.name
    first = those[0]
    settings = {chat.name: chat.conversation.setting for chat in played_chats}
    switched = all(settings.get(each.conversation.words) for each in those)
    example = first.conversation.words
    share = f"{len(those)} of {comparison.asked_count} conversations, such as {example}"
    at = "" if place is None or not place.text else f" at {one_line(place.text, _MOST_CHARACTERS)}"
    if first.answer.error:
        message = f"{name} fails{at} on {share}: {first.answer.error}"
    else:
        other = "other whitespace" if _same_words(first) else "another text"
        message = f"{name} renders {other}{at} in {share}{_as_if_set(first, played_chats)}"
    there = ShownText(f"by {comparison.jinja.label}", first.answer.text, first.answer.error)
    return Hit(
        message,
        (HitEvidence(first.conversation.render.shown_text("as transformers renders it"), there),),
        line=None if place is None else place.line,
        # The value was made up to see what the switch does; who sends it is not known.
        severity=Severity.WARNING if switched else None,
        setting=settings[example] if switched else {},
    )


def _as_if_set(difference: JinjaDifference, played_chats: Sequence[PlayedConversation]) -> str:
    """Say with which value of a switch the template writes that text, too: servers set some."""
    for chat in played_chats:
        setting = chat.conversation.setting
        if setting and chat.render.text == difference.answer.text:
            set_so = " and ".join(f"{name}={value!r}" for name, value in setting.items())
            return f", as the template itself does with {set_so}"
    return ""


def _same_words(difference: JinjaDifference) -> bool:
    return difference.conversation.render.text.split() == difference.answer.text.split()

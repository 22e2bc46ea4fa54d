"""Renders of the matrix by other Jinja implementations, judged by the template's own renders.

Every conversation is sent, or counted with the reason for leaving it out. To locate a failure in an
implementation that names no line, a copy of the template calls a function before each tag:

    {% if a %}b{{ c }}{% endif %}
    {{ noted_line(0) }}{% if a %}b{{ noted_line(11) }}{{ c }}{{ noted_line(18) }}{% endif %}
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import repeat
from pathlib import Path
from types import MappingProxyType
from typing import cast

from msgspec import Struct

from autoparser.analysis.core.error_words import one_line
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.source_text import TemplateToken, template_tokens
from autoparser.analysis.templates.template_edits import in_newlines
from autoparser.analysis.templates.worker_pool import python_answer

from .conversation_matrix import PlayedConversation
from .hit import Hit, HitEvidence, Severity, ShownText
from .lint_renders import NOON, AskedRender, Render

# Each implementation runs in a process of its own, which ends after the last answer, whatever the
# template did to it. A missing answer carries its reason. First the installed implementations:

# Implementations of Jinja in other programs that are available here.


START = 60.0
"""The time limit for listing an interpreter's packages, in seconds."""
_WORKERS = Path(__file__).parent / "jinja_workers"
_LLAMA = ServerEngine.LLAMA_SERVER.record
_PYTHON_WORKERS = {"minijinja": "minijinja_worker.py", _LLAMA.package: "llama_worker.py"}
_NAMES = {_LLAMA.package: _LLAMA.title}
# With `-c`, Python searches the working directory first, whose files must not pass for packages.
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


class OtherJinja(Struct, frozen=True):
    """An installed Jinja implementation and the command of its worker."""

    name: str
    """``minijinja``, ``llama.cpp`` or ``@huggingface/jinja``."""
    version: str
    """Its version, e.g. ``2.5.0``."""
    command: tuple[str, ...]
    """The command that starts its worker, e.g. ``("python3", ".../minijinja_worker.py")``."""
    own_requests: bool = False
    """Whether it takes chat requests, and prepares messages, tools and the clock itself, e.g. True
    for ``llama.cpp``."""

    @property
    def label(self) -> str:
        """The name and version, e.g. ``minijinja 2.5.0``."""
        return f"{self.name} {self.version}"


def installed_jinjas(pythons: Sequence[str]) -> tuple[OtherJinja, ...]:
    """Return the implementations that these Pythons and node have, each once.

    node searches from the working directory upward and in NODE_PATH. Raises AutoparserError if a
    Python cannot be run.
    """
    found: dict[str, OtherJinja] = {}
    for python in pythons:
        for jinja in _python_jinjas(python):
            # The first Python that has an implementation is the one that renders.
            found.setdefault(jinja.name, jinja)
    for jinja in _node_jinjas():
        found[jinja.name] = jinja
    return tuple(found.values())


def _python_jinjas(python: str) -> Iterator[OtherJinja]:
    versions: dict[str, str] = python_answer(python, _FIND, _PYTHON_WORKERS, START)
    for package, version in versions.items():
        worker = str(_WORKERS / _PYTHON_WORKERS[package])
        name = _NAMES.get(package, package)
        yield OtherJinja(name, version, (python, worker), own_requests=package in _NAMES)


def _node_jinjas() -> Iterator[OtherJinja]:
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
        # Do not let a template take all memory.
        command = (node, "--max-old-space-size=500", worker, found["main"])
        yield OtherJinja(_PACKAGE, found["version"], command)


SECONDS = 60.0
"""The time limit for all conversations of a template."""
STANDARD = ("messages", "tools", "documents", "add_generation_prompt", "strftime_now")
"""Variables that are not switches of a template."""
_BEGIN = ("block_begin", "variable_begin", "raw_begin")
_MOST_WORDS = 200
"""The maximum length of an error's message, in characters."""


class JinjaQuestion(Struct, frozen=True):
    """A template and the conversations to render."""

    template: str
    """The template's text, e.g. ``"{%- for message in messages %}…"``."""
    tokens: Mapping[str, str]
    """The special tokens, e.g. ``{"eos_token": "</s>"}``."""
    clock: datetime
    """The time of the render, e.g. ``datetime(2025, 7, 16, 12, 34, 56)``, if the implementation
    lets the caller set it."""
    conversations: Sequence[Mapping[str, object]]
    """The variables of each conversation, e.g. ``[{"messages": [{"role": "user", "content":
    "…"}]}]``."""


class JinjaAnswer(Struct, frozen=True):
    """An implementation's render of one conversation."""

    text: str = ""
    r"""The rendered text, e.g. ``"User: Pkvrbnwj jwnbrvkp.\n\nAssistant: "``."""
    error: str = ""
    """The reason for not rendering, e.g. ``"UnknownMethod: sequence has no method named append"``;
    empty if it rendered."""
    at: int | None = None
    """The offset in the template at which it stopped, e.g. 137, or None if unknown."""
    was_asked: bool = True
    """Whether the conversation was sent; if not, `error` has the reason, e.g. ``it takes more than
    60 seconds``."""


def ask_jinja(jinja: OtherJinja, question: JinjaQuestion) -> tuple[JinjaAnswer, ...]:
    """Return an answer for each conversation, in order."""
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
                # The last line of standard error: Python writes the exception there.
                *_, last = ("no message", *words.strip().splitlines())
                end = f"the process ended with the code {process.returncode}: {last}"
            except subprocess.TimeoutExpired as late:
                process.kill()
                # The answers so far count, and the rest gets this reason.
                written = (late.stdout or b"").decode(errors="replace")
                end = f"it takes more than {SECONDS:g} seconds"
    except OSError as error:
        written, end = "", f"it cannot be started: {error.strerror}"
    answers = [*_answers(written)]
    missing = len(question.conversations) - len(answers)
    return (*answers, *repeat(JinjaAnswer(error=end, was_asked=False), missing))


def _question_document(question: JinjaQuestion) -> Mapping[str, object]:
    tokens = [token for token in template_tokens(question.template) if token.kind in _BEGIN]
    # The name must not occur in the template.
    note = "noted_line"
    while note in question.template:
        note += "_"
    return {
        "template": question.template,
        "clock": question.clock.isoformat(),
        # llama.cpp's blank model has these two tokens, whether the template reads them or not.
        "bos": question.tokens.get("bos_token") or "<s>",
        "eos": question.tokens.get("eos_token") or "</s>",
        "standard": [*STANDARD, *question.tokens],
        "note": note,
        "marked": _mark_tags(question.template, tokens, note),
        "tags": [token.start for token in tokens],
        "conversations": [
            # JSON has no functions, so workers make the clock from `clock`.
            {name: value for name, value in conversation.items() if name != "strftime_now"}
            for conversation in question.conversations
        ],
    }


def _mark_tags(text: str, tokens: Sequence[TemplateToken], note: str) -> str:
    """Return the template with a call before every tag that notes the tag's offset."""
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
            # The line is empty, or was truncated when the process ended.
            return
        if "text" in given:
            yield JinjaAnswer(given["text"])
        else:
            words = one_line(given["error"]).rstrip(".")[:_MOST_WORDS]
            yield JinjaAnswer(error=words or "an error without a message", at=given.get("at"))


class SentConversation(Struct, frozen=True):
    """A conversation that the template renders, with its variables."""

    words: str
    """The conversation in words, e.g. ``a call and its result``."""
    variables: Mapping[str, object]
    """The variables to send, e.g. ``{"messages": [{"role": "user", "content": "Pkvrbnwj
    jwnbrvkp."}]}``."""
    render: Render
    r"""The template's own render of `judged`, e.g. ``"User: Pkvrbnwj jwnbrvkp.\n\nAssistant: "``.
    """
    judged: Mapping[str, object] | None = None
    """The variables of that render if they differ from the sent ones, e.g. without the keys that
    are None."""


class TagPlace(Struct, frozen=True):
    """A tag of a template."""

    line: int
    """Its line, from 1, e.g. 5."""
    text: str
    """Its source, e.g. ``{{ message.content }}``."""


class JinjaDifference(Struct, frozen=True):
    """A conversation that another implementation renders differently, or not at all."""

    conversation: SentConversation
    """The conversation, e.g. ``a question with a system message``."""
    answer: JinjaAnswer
    """The other implementation's answer, e.g. one with the error ``"std::exception"``."""
    place: TagPlace | None
    """The tag that failed, e.g. ``TagPlace(5, "{%- set _ = seen.append(message.role) %}")``, or
    that wrote the first differing character; None if unknown."""


class JinjaComparison(Struct, frozen=True):
    """The answers of one implementation to all conversations."""

    jinja: OtherJinja
    """The implementation, e.g. minijinja 3.0.5."""
    same: tuple[SentConversation, ...]
    """The conversations with the expected render, e.g. ``a question``."""
    differences: tuple[JinjaDifference, ...]
    """The conversations with another, e.g. one that fails at ``seen.append``."""
    not_asked: Mapping[str, int]
    """The number of unsent conversations, by reason, e.g. ``{"the template raises on them": 3}``.
    """

    @property
    def alike(self) -> int:
        """The number of conversations with the expected render."""
        return len(self.same)

    @property
    def asked_count(self) -> int:
        """The number of sent conversations."""
        return self.alike + len(self.differences)

    @property
    def words(self) -> str:
        """The result in one line."""
        left = "".join(f"; {count} not tested: {why}" for why, count in self.not_asked.items())
        share = f"{self.alike} of {self.asked_count}"
        return f"{self.jinja.label} renders {share} conversations alike{left}"


def _find_place(
    template: ChatTemplate, conversation: SentConversation, answer: JinjaAnswer
) -> TagPlace | None:
    if answer.error:
        return None if answer.at is None else _tag_at(template.text, answer.at)
    usual = conversation.render.text
    first = prefix_length(usual, answer.text)
    # Additional text at the end belongs to the last tag that rendered something here.
    span = template.source_map(conversation.judged or conversation.variables).span_at(
        min(first, len(usual) - 1)
    )
    return None if span is None else _tag_place(in_newlines(template.text), span.start, span.end)


def _tag_at(text: str, at: int) -> TagPlace:
    """Return the tag around an offset."""
    begun = 0
    for token in template_tokens(text):
        if token.kind in _BEGIN:
            begun = token.start
        # The first tag that ends behind the offset, if it begins before it.
        if token.kind in ("block_end", "variable_end", "raw_begin") and token.end > at >= begun:
            return _tag_place(text, begun, token.end)
    return _tag_place(text, at, at)


def _tag_place(text: str, start: int, end: int) -> TagPlace:
    return TagPlace(text.count("\n", 0, start) + 1, text[start:end].strip())


# The choice of conversations, and the reasons for leaving others out.


REFUSED = "the template raises on them"
OTHER_FORM = "the template ignores content in their form"
CHANGING = "their text changes between renders"
_MINUTE = timedelta(minutes=1)


def compare_matrix(
    jinja: OtherJinja,
    template: ChatTemplate,
    tokens: Mapping[str, str],
    played_chats: Sequence[PlayedConversation],
    asked_renders: Sequence[AskedRender],
) -> JinjaComparison:
    """Compare an implementation's renders with the template's, made as in `asked_renders`."""
    # By identity, since different variables may give equal renders.
    made_with = {id(render.render): render.variables for render in asked_renders}
    texts = {chat.conversation.name: chat.render.text for chat in played_chats}
    sent: list[SentConversation] = []
    left: Counter[str] = Counter()
    for chat in played_chats:
        # The name of the same conversation with content in the template's own form.
        usual_form = replace(chat.conversation, other_form=False).name
        if not chat.render.rendered:
            left[REFUSED] += 1
        elif chat.render.text != texts.get(usual_form, chat.render.text):
            # Content lists that the template writes as Python would are the subject of another
            # finding.
            left[OTHER_FORM] += 1
        else:
            name, variables = chat.conversation.name, made_with[id(chat.render)]
            known = SentConversation(name, variables, chat.render)
            sent.append(_in_usual_form(template, known) or known)
    # The special characters are tried in one conversation only, the smallest.
    return compare_sent(jinja, template, tokens, [*sent, *_with_signs(template, sent[:1])], left)


def _in_usual_form(
    template: ChatTemplate, conversation: SentConversation
) -> SentConversation | None:
    """Return a conversation with string content if its content is lists of one text.

    The analysis prefers the form that shows most, but callers send strings unless the template
    raises. Return None if nothing changes, or if it raises.
    """
    messages = _messages(conversation)
    plain = [{**message, "content": _plain_content(message.get("content"))} for message in messages]
    return (
        None
        if plain == messages
        else _render_messages(template, conversation, conversation.words, plain)
    )


def _plain_content(content: object) -> object:
    match content:
        case [{"type": "text", "text": str(text)}]:
            return text
        case _:
            return content


SIGNS = "3 > 2 < 4 & \"q\" 'a' c/d\\e é 日本 🚀"
"""Characters that filters of different implementations escape, count or convert differently."""


def _with_signs(
    template: ChatTemplate, conversations: Sequence[SentConversation]
) -> Iterator[SentConversation]:
    """Yield the conversations with punctuation and letters beyond ASCII in user messages."""
    for conversation in conversations:
        messages = [
            {**message, "content": f"{message['content']} {SIGNS}"}
            if message.get("role") == "user" and isinstance(message.get("content"), str)
            else message
            for message in _messages(conversation)
        ]
        found = _render_messages(
            template, conversation, f"{conversation.words} with special characters", messages
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
    """Compare renders of conversations, except those that change by the minute.

    `not_asked` holds earlier omissions.
    """
    # A server reads the real clock, so the template is rendered at the same time to compare.
    clock = datetime.now() if jinja.own_requests else NOON  # noqa: DTZ005 - as templates see it
    at_clock = [_at_clock(template, conversation, clock) for conversation in conversations]
    sent = [conversation for conversation in at_clock if conversation is not None]
    given = JinjaQuestion(
        template.text, tokens, clock, [conversation.variables for conversation in sent]
    )
    missing = Counter(not_asked)
    if len(sent) < len(conversations):
        missing[CHANGING] = len(conversations) - len(sent)
    differences: list[JinjaDifference] = []
    same: list[SentConversation] = []
    for conversation, answer in zip(sent, ask_jinja(jinja, given), strict=True):
        if not answer.was_asked:
            missing[answer.error] += 1
        elif answer.error or answer.text != conversation.render.text:
            place = _find_place(template, conversation, answer)
            differences.append(JinjaDifference(conversation, answer, place))
        else:
            same.append(conversation)
    return JinjaComparison(jinja, tuple(same), tuple(differences), missing)


def _at_clock(
    template: ChatTemplate, conversation: SentConversation, clock: datetime
) -> SentConversation | None:
    """Return a conversation rendered at a given time, or None if a minute changes its text."""
    if clock == NOON:
        return conversation
    judged = conversation.judged or conversation.variables
    given = [{**judged, "strftime_now": time.strftime} for time in (clock, clock + _MINUTE)]
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


# Differences as hits, one for each cause.


_MOST_CHARACTERS = 60
"""The maximum length of a quoted tag."""

_Cause = tuple[TagPlace | None, str]


def comparison_hits(
    comparison: JinjaComparison, played_chats: Sequence[PlayedConversation], *, failed: bool
) -> Iterator[Hit]:
    """Yield a hit for each cause: of failures, or of other texts.

    `played_chats` are the template's own renders.
    """
    by_cause: dict[_Cause, list[JinjaDifference]] = {}
    for difference in comparison.differences:
        if bool(difference.answer.error) is failed:
            by_cause.setdefault((difference.place, difference.answer.error), []).append(difference)
    for (place, _), those in by_cause.items():
        yield _difference_hit(comparison, place, those, played_chats)


def _difference_hit(
    comparison: JinjaComparison,
    place: TagPlace | None,
    those: list[JinjaDifference],
    played_chats: Sequence[PlayedConversation],
) -> Hit:
    name = comparison.jinja.name
    first = those[0]
    settings = {chat.name: chat.conversation.setting for chat in played_chats}
    # If the renders also differ without any switch, the switches are not the cause.
    switched = all(settings.get(difference.conversation.words) for difference in those)
    example = first.conversation.words
    share = f"{len(those)} of {comparison.asked_count} conversations, such as {example}"
    at = "" if place is None or not place.text else f" at {one_line(place.text, _MOST_CHARACTERS)}"
    if first.answer.error:
        message = f"{name} fails{at} on {share}: {first.answer.error}"
    else:
        same = first.conversation.render.text.split() == first.answer.text.split()
        other = "different whitespace" if same else "different text"
        message = f"{name} renders {other}{at} in {share}{_as_if_set(first, played_chats)}"
    there = ShownText(f"by {comparison.jinja.label}", first.answer.text, first.answer.error)
    return Hit(
        message,
        (HitEvidence(first.conversation.render.shown_text("as transformers renders it"), there),),
        line=None if place is None else place.line,
        # The switch's value was made up to see its effect; no client is known to send it.
        severity=Severity.WARNING if switched else None,
        setting=settings[example] if switched else {},
    )


def _as_if_set(difference: JinjaDifference, played_chats: Sequence[PlayedConversation]) -> str:
    """Name the switch value with which the template writes the same text: servers set some."""
    for chat in played_chats:
        setting = chat.conversation.setting
        if setting and chat.render.text == difference.answer.text:
            set_so = " and ".join(f"{name}={value!r}" for name, value in setting.items())
            return f", as transformers does with {set_so}"
    return ""

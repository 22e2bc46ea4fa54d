r"""Conversations that several rules render, and texts that templates alter.

Lost characters are found with two texts that differ in one thing: if both render alike, the
difference is lost. So the template's way of writing text does not matter, be it verbatim, JSON, or
escapes of its own. If `a"b` and `ab` give the same prompt, quotes are lost. Lost edges are found
in one text, a word between whitespace:

    >>> pad_word("rwgvpbsb")
    '\n\n\n \trwgvpbsb\t \n\n\n'
    >>> lost_edges("<|user|>\n\n\n \trwgvpbsb<|end|>", "rwgvpbsb")
    'end'
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

from autoparser.analysis.core.conversation import Dialogue, Json, Message, Tool
from autoparser.analysis.core.message_battery import LONG_TEXT_SIZE, long_text
from autoparser.analysis.core.message_shape import EmptyContent
from autoparser.analysis.core.text_alignment import TemplateLiteral, common_prefix
from autoparser.analysis.history.conversation_replay import ReplayStage
from autoparser.analysis.history.scenario_files import shipped_scenarios
from autoparser.analysis.history.scenarios import Next, Scenario
from autoparser.analysis.history.trip_verdict import Encoder, Verdict, judge_scenario

from .hit import Hit, Severity
from .hit_words import failure_words, list_words
from .lint_renders import Render, compare_renders, line_of_the_lost
from .subject import Subject

# Two assistant messages in a row, as sent by clients that split an output.


def render_two_answers(subject: Subject) -> Render:
    """Render two answers in a row, between two questions."""
    marks = subject.marks
    answers = (Message(marks.content), Message(marks.reasoning))
    return subject.play((subject.user, *answers, subject.next_user))


class SystemRenders(NamedTuple):
    """A system message as the first and as a later message, and the markup before it."""

    first: Render
    """The render that starts with it, e.g. ``"<|system|>rwgvpbsb<|end|><|user|>…"``."""
    later: Render
    """The render with it before the last question, e.g.
    ``"…wpzqqmqw<|end|><|system|>rwgvpbsb<|end|>…"``."""
    before_first: str
    """The text before the first, e.g. ``"<|system|>"``."""
    before_later: str
    """The text between the previous message and the later one, e.g. ``"<|end|><|system|>"``."""


def render_system_messages(
    subject: Subject, *, after_question: bool = False
) -> SystemRenders | None:
    """Render a system message before all others, and one before the last question.

    With `after_question`, the later one follows the first question if the template rejects one
    after an answer. Return None if either render does not contain its text exactly once.
    """
    marks, shape = subject.marks, subject.shape
    system = role_message("system", shape.user_text(marks.system))
    chat = shape.messages(subject.chat)
    first = subject.render([system, *chat], generation=True)
    said, later = marks.content, subject.render([*chat[:-1], system, chat[-1]], generation=True)
    if not later.rendered and after_question:
        said, later = marks.user, subject.render([chat[0], system, *chat[1:]], generation=True)
    # The markup before the text is only known if the text is found once.
    if {render.text.count(marks.system) for render in (first, later)} != {1}:
        return None
    one, other = (render.text.partition(marks.system)[0] for render in (first, later))
    return SystemRenders(first, later, one, other.rpartition(said)[2])


def system_text_lost(
    subject: Subject,
    message: str,
    losing: tuple[Render, str],
    keeping: tuple[Render, str],
    severity: Severity | None,
) -> Iterator[Hit]:
    """Yield a hit if only one of two renders, each with its label, contains the system text."""
    (lost, _), (kept, _), word = losing, keeping, subject.marks.system
    if word in kept.text and word not in lost.text:
        yield Hit(
            f"{message} {'is dropped' if lost.error is None else failure_words(lost)}",
            (compare_renders(*losing, *keeping),),
            line=line_of_the_lost(lost, kept, word),
            severity=severity,
            cause=lost.cause,
        )


# Steps of a conversation, replayed under the template's usual setting.


PLAYED = (
    ("answer", Next.USER),
    ("tool call", Next.TOOL),
    ("tool call + content", Next.TOOL),
    ("several calls", Next.TOOL),
    ("many parameters", Next.TOOL),
    ("quotes in values", Next.TOOL),
    ("padded values", Next.TOOL),
)
"""The usual steps; `autoparser roundtrip` replays all."""


def replay_steps(
    subject: Subject, encoder: Encoder | None = None
) -> Iterator[tuple[Scenario, Verdict]]:
    """Replay the usual steps that apply to the template."""
    stage = ReplayStage(subject.analysis)
    known = {scenario.name: scenario for scenario in shipped_scenarios()}
    for name, coming in PLAYED:
        verdict = judge_scenario(stage, known[name], coming, subject.usual_setting, encoder)
        # A template without calls, for example, has no step with one.
        if verdict.applies:
            yield known[name], verdict


# `user_question` and `second_question` are plain OpenAI messages, for rules about the messages that
# a template takes; all others have the template's own shape.


Chat = list[dict[str, Json]]


def role_message(role: str, content: Json) -> dict[str, Json]:
    """Return a message with a role and content."""
    return {"role": role, "content": content}


def user_question(subject: Subject) -> Chat:
    """Return one user message."""
    return [role_message("user", subject.marks.user)]


def second_question(subject: Subject) -> Chat:
    """Return a question, its answer, and another question."""
    marks = subject.marks
    return [
        *user_question(subject),
        role_message("assistant", marks.content),
        role_message("user", marks.next_user),
    ]


def render_answer(subject: Subject, content: str = "", reasoning: str = "") -> Render:
    """Render an assistant message at the end of a conversation."""
    marks = subject.marks
    return subject.play((subject.user, Message(content or marks.content, reasoning)))


def render_earlier(subject: Subject, content: str = "", reasoning: str = "") -> Render:
    """Render an assistant message followed by a user message."""
    message = Message(content or subject.marks.content, reasoning)
    return subject.play((subject.user, message, subject.next_user))


def render_reasoned(subject: Subject) -> tuple[Render, Render]:
    """Render an answer with reasoning at the end, and as an earlier message."""
    word = subject.marks.reasoning
    return render_answer(subject, reasoning=word), render_earlier(subject, reasoning=word)


def render_last_call(subject: Subject, content: str = "", reasoning: str = "") -> Render:
    """Render an assistant message with a call, at the end or followed by its result if required."""
    message = Message(content, reasoning, (subject.call(),))
    return subject.play(subject.turn(message), tools=True)


def render_result(subject: Subject, text: str) -> Render:
    """Render a call and its result, which ends the conversation."""
    result = subject.answer(subject.call(), text)
    return subject.play((*subject.loop[:2], result), tools=True)


def call_messages(subject: Subject) -> Chat:
    """Return the messages of `render_last_call`, for rules that alter their shape."""
    return [dict(message) for message in render_last_call(subject).messages]


def change_fields(chat: Chat, **fields: Json) -> Chat:
    """Return the messages, with these fields set in the assistant's."""
    return [
        {**message, **fields} if message["role"] == "assistant" else message for message in chat
    ]


def without_field(chat: Chat, field: str) -> Chat:
    """Return the messages, without this field in the assistant's."""
    return [
        {key: value for key, value in message.items() if key != field}
        if message["role"] == "assistant"
        else message
        for message in chat
    ]


def render_with(
    subject: Subject,
    dialogue: Dialogue,
    setting: Mapping[str, Json],
    *,
    tools: bool = False,
    generation: bool = False,
) -> Render:
    """Render a conversation in the template's shape, with exactly these switches."""
    return subject.render(
        subject.shape.messages(dialogue, subject.marks.system),
        tools=subject.usual_tools if tools else None,
        generation=generation,
        setting=setting,
        # Preparation drops None, but here None is the only value for empty content that the
        # template takes.
        as_given=subject.shape.empty_content is EmptyContent.NULL,
    )


@cache
def real_shapes() -> tuple[Tool, ...]:
    """Return functions in the shapes of published servers' tools."""
    text = (Path(__file__).parent / "real_shapes.yaml").read_text(encoding="utf-8")
    found: list[Tool] = yaml.safe_load(text)
    return tuple(found)


def render_offer(subject: Subject, *functions: Tool) -> Render:
    """Render a question with these functions as tools."""
    # Only for the messages, in the template's shape.
    question = subject.play((subject.user,), tools=True, generation=True)
    tools = [subject.shape.tool(function) for function in functions]
    return subject.render(question.messages, tools=tools, generation=True)


def appends_answer(subject: Subject) -> bool:
    """Return whether the template appends an answer to its question, as in a chat.

    Templates of models that judge or translate a conversation embed it in a text of their own, and
    may omit parts on purpose. A marker after the question may give way to the answer.
    """
    alone = subject.play((subject.user,))
    # Only markers may be replaced by the answer: words would be a text around the chat.
    rest = TemplateLiteral.of(
        alone.text[len(common_prefix(alone.text, render_answer(subject).text)) :]
    )
    return subject.marks.user in alone.text and "".join(rest.markers) == rest.core


LEAD, TRAIL = "\n\n\n \t", "\t \n\n\n"
"""Padding that no template adds to a text by itself. Line breaks are outermost, because some
templates strip nothing else."""


def pad_word(word: str) -> str:
    """Return a word with whitespace at both edges."""
    return f"{LEAD}{word}{TRAIL}"


def lost_edges(text: str, word: str) -> str:
    """Return which edge of the padded word is missing, e.g. ``end``; empty if none is.

    It is empty, too, if the whole word is missing.
    """
    if word not in text:
        return ""
    begins = f"{LEAD}{word}" in text
    ends = f"{word}{TRAIL}" in text
    if begins and ends:
        return ""
    if begins:
        return "end"
    return "beginning" if ends else "beginning and end"


def cut_edges(word: str, message: str, padded: Render, plain: Render) -> Iterator[Hit]:
    """Yield a hit if a render of a padded word lost an edge, which replaces ``{}`` in `message`."""
    lost = lost_edges(padded.text, word)
    if lost:
        yield Hit(
            message.format(lost),
            (compare_renders(padded, "with whitespace", plain, "without"),),
            line=padded.line_of(word),
        )


class TextPair(NamedTuple):
    """Two texts around two words that differ in one detail."""

    what: str
    """The detail that the first has and the other lacks, e.g. ``a quote``; pairs with the same one
    are reported once."""
    one: str
    """The text with the detail, e.g. ``'{}"{}'``."""
    other: str
    """The text without it, e.g. ``"{}{}"``."""


EDGE_PAIRS = (
    TextPair("spaces at its edges", "  {} ", "{}"),
    TextPair("line breaks at its edges", "\n{}\n", "{}"),
)
INNER_PAIRS = (
    TextPair("a quote", '{}"{}', "{}{}"),
    TextPair("a quote", '{}"{}', "{}'{}"),
    TextPair("a backslash before a quote", '{}\\"{}', '{}"{}'),
    TextPair("a backslash", "{}\\{}", "{}{}"),
    TextPair("a backslash and an n", "{}\\n{}", "{}\n{}"),
    TextPair("a line break", "{}\n{}", "{} {}"),
    TextPair("a carriage return", "{}\r\n{}", "{}\n{}"),
    TextPair("a no-break space", "{}\xa0{}", "{} {}"),
    TextPair("a run of spaces", "{}   {}", "{} {}"),
    TextPair("a blank line", "{}\n\n{}", "{}\n{}"),
    TextPair("an indentation", "{}\n    {}", "{}\n{}"),
    TextPair("a character of markup", "{}<{}", "{}&lt;{}"),
    TextPair("capitals", "{}A{}", "{}a{}"),
    TextPair("an emoji", "{}🚀{}", "{}{}"),
    TextPair(
        f"the text after {LONG_TEXT_SIZE:,} characters",
        f"{{}} {long_text('the question')} {{}}",
        f"{{}} {long_text('the question')}",
    ),
)

HOSTILE_TEXT = (
    '  \n{}"\'\\"\\n\n\r\n\xa0   < &A 🚀 {{"found": [1, "two"],\n  "more": null}}\n\n'
    f"{long_text('the question')}{{}}\n "
)
"""All details in one text. If this text is found verbatim or as JSON, none is lost."""


def alike_in_prompt(
    play: Callable[[str], Render], words: Sequence[str], pairs: Sequence[TextPair], hostile: str
) -> Mapping[str, tuple[Render, Render]]:
    """Return the details of a text that the prompt loses, each with its two equal renders.

    `play` renders a conversation with a given text in the place to test.
    """
    text = hostile.format(*words)
    whole = play(text).text
    # JSON may escape letters beyond ASCII.
    encoded = (json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True))
    # One render decides for most templates, so that the pairs are rendered only for the others.
    if any(form in whole for form in (text, *encoded)):
        return {}
    lost: dict[str, tuple[Render, Render]] = {}
    for detail, one, other in pairs:
        left, right = (play(pattern.format(*words)) for pattern in (one, other))
        # A template that omits the whole text is the subject of other rules.
        if left.text == right.text and words[0] in left.text:
            lost.setdefault(detail, (left, right))
    return lost


def unseen_words(place: str, lost: Mapping[str, object]) -> str:
    """Describe lost details, e.g. "a string argument loses a quote and a backslash"."""
    return f"{place} loses {list_words(list(lost))}"

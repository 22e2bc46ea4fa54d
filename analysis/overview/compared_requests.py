"""The conversations that both templates render, and the variables sent with the messages.

For example, the request "a running tool loop" with tools and a generation prompt has the messages

    user        What is the weather in Oslo?
    assistant   reasoning, and a call of get_forecast
    tool        Sunny.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple, TypeAlias

from msgspec import Struct, structs
from msgspec.structs import replace

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    MediaKind,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
)
from autoparser.analysis.core.errors import TemplateLimitError, TemplateRenderError
from autoparser.analysis.core.media_parts import MEDIA_FORMS
from autoparser.analysis.core.message_battery import battery_messages, battery_tools
from autoparser.analysis.core.message_shape import MessageShape, Setting
from autoparser.analysis.core.question_bounds import AskedTally
from autoparser.analysis.history.conversation_replay import SYSTEM
from autoparser.analysis.learning.prober import Prober, choose_sentinels
from autoparser.analysis.templates.render_trace import SourceMap

# Content given as a list of parts, in the shapes that callers send.


_PICTURE = "https://example.org/cat.png"
_PART_DATA: dict[str, str] = {
    MediaKind.IMAGE: _PICTURE,
    MediaKind.AUDIO: "https://example.org/cat.wav",
    MediaKind.VIDEO: "https://example.org/cat.mp4",
    "input_audio": "UklGRg==",
}
"""The data of each kind of part as base64, for keys that do not take a URL."""
_TEXT: Json = {"type": "text", "text": "What is in this?"}
_IMAGE: Json = {"type": "image"}
_VIDEO: Json = {"type": "video"}


class ContentKind(NamedTuple):
    """One way of giving a message's content."""

    name: str
    """The part's type, and the key that holds its data, such as `"image with url"`."""
    content: Json
    """The content, e.g. `[{"type": "text", "text": "…"}]`."""


TEXT_PARTS: tuple[ContentKind, ...] = (
    ContentKind("text", [_TEXT]),
    ContentKind("two texts", [_TEXT, {"type": "text", "text": "And who took it?"}]),
)
"""Text only; any role may send it."""

_USUAL_FORMS = (
    *("image", "image with image", "image with url", "image_url"),
    *("audio", "audio with audio", "audio_url", "input_audio"),
    *("video", "video with video", "video_url"),
)
"""The most frequent ways to send a part."""
_FORMS = {form.name: form for form in MEDIA_FORMS}
_DATA_PARTS: tuple[tuple[str, Json], ...] = (
    *(
        (name, _FORMS[name].part(_PART_DATA.get(name) or _PART_DATA[_FORMS[name].kind]))
        for name in _USUAL_FORMS
    ),
    ("file", {"type": "file", "file": {"file_id": "file-1"}}),
)

PARTS: tuple[ContentKind, ...] = (
    *TEXT_PARTS,
    *(ContentKind(name, [part, _TEXT]) for name, part in _DATA_PARTS),
    ContentKind("text before image", [_TEXT, _IMAGE]),
    ContentKind("two images and a video", [_IMAGE, _IMAGE, _VIDEO, _TEXT]),
)
"""Contents of a user message; each part with data has a text beside it."""

UNTYPED: tuple[ContentKind, ...] = (
    ContentKind("text without a type", [{"text": "What is in this?"}]),
    ContentKind("image without a type", [{"image": _PICTURE}, {"text": "What is in this?"}]),
)
"""Parts without a type, which differ by their keys alone."""


_QUESTION = UserMessage("What is the weather in Oslo?")
_THANKS = UserMessage("Thank you. And tomorrow?")
_REASONING = "The user wants facts.\nA lookup is due."
_ANSWER = Message("It is sunny.", _REASONING)


RequestKey: TypeAlias = tuple[str, bool, bool | None, bool]
"""The conversation, tools, system message and generation prompt of a request."""


class ComparedRequest(Struct, frozen=True):
    """One conversation and the other arguments of its request, switches excepted."""

    conversation: str
    """The conversation in words, e.g. `"a call and its result"`."""
    dialogue: Dialogue
    """The messages without the system message, such as
    `(UserMessage("What is the weather in Oslo?"),)`."""
    tools: bool
    """Whether tools are offered, such as `get_weather`."""
    generation: bool
    """Whether a generation prompt is requested."""
    system: bool | None = None
    """Whether a system message comes first, or None to send one only if the template needs it."""
    first: str = ""
    """The role of a message before all others, e.g. `"developer"`."""
    content: tuple[str, Json] | None = None
    """A role, and the content that its messages have in place of a text, such as
    `("user", [{"text": "What is in this?"}])`."""
    arguments_as_string: bool | None = None
    """Whether arguments are JSON strings, such as `'{"city": "Oslo"}'`, or None for the form that
    the template takes."""

    @property
    def key(self) -> RequestKey:
        """The request's unique key."""
        return self.conversation, self.tools, self.system, self.generation

    def messages(self, shape: MessageShape) -> list[dict[str, Json]]:
        """Return the messages in the shape that a template takes."""
        wanted = shape if self.system is None else structs.replace(shape, system=self.system)
        if self.arguments_as_string is not None:
            wanted = structs.replace(wanted, arguments_as_string=self.arguments_as_string)
        shaped = wanted.messages(self.dialogue, SYSTEM)
        # `MessageShape` only knows system messages; this one has another role.
        if self.first:
            shaped.insert(0, {"role": self.first, "content": shape.user_text(SYSTEM)})
        if self.content is not None:
            role, content = self.content
            return [
                {**message, "content": content} if message["role"] == role else message
                for message in shaped
            ]
        return shaped


AXES: dict[str, tuple[str, str]] = {
    "tools": ("without tools", "with tools"),
    "system": ("without a system message", "with a system message"),
    "generation": ("without the generation prompt", "with the generation prompt"),
}
"""The optional arguments of a request: the field, and the words for with and without."""


@lru_cache(maxsize=1)
def all_requests() -> Sequence[ComparedRequest]:
    """Return all requests that are played with nothing set."""
    return (*_battery(), *switch_requests(), *_part_requests(tools=True), *_unusual_requests())


@lru_cache(maxsize=1)
def switch_requests() -> Sequence[ComparedRequest]:
    """Return the requests that are played again under every value of a switch."""
    return (*_framed_requests(), *_part_requests())


@lru_cache(maxsize=1)
def pair_requests() -> Sequence[ComparedRequest]:
    """Return the requests that are played under two switches at once."""
    # Pairs of switches multiply the renders, so only four requests are rendered under each.
    longest = _scenes()[-1][0]
    beside = {"a question": ((False, True), (True, False)), longest: ((False, False), (True, True))}
    return tuple(
        request
        for request in _framed_requests()
        if request.generation
        and (request.tools, request.system) in beside.get(request.conversation, ())
    )


def _battery() -> Iterator[ComparedRequest]:
    for case in battery_messages():
        message = case.message
        answers = _results(message)
        yield ComparedRequest(
            f"{case.title}, last", (_QUESTION, message), tools=True, generation=False
        )
        dialogue: Dialogue = (_QUESTION, message, *answers)
        if answers:
            yield ComparedRequest(
                f"{case.title}, then answers", dialogue, tools=True, generation=True
            )
        after: Dialogue = (*dialogue, _THANKS)
        yield ComparedRequest(f"{case.title}, then a user", after, tools=True, generation=True)


def _results(message: Message) -> Dialogue:
    return tuple(ToolResult("Sunny.", call.name, call.id) for call in message.calls)


@lru_cache(maxsize=1)
def _scenes() -> Sequence[tuple[str, Dialogue]]:
    calls = next(case.message.calls for case in battery_messages() if len(case.message.calls) > 1)
    called = _turn(calls[:1])
    double_call = structs.replace(_turn(calls[:2]), content="I look it up.")
    return (
        ("a question", (_QUESTION,)),
        ("an answer, last", (_QUESTION, _ANSWER)),
        ("a call, last", (_QUESTION, called)),
        ("an answer, then a user", (_QUESTION, _ANSWER, _THANKS)),
        ("a running tool loop", (_QUESTION, called, *_results(called))),
        (
            "a finished tool loop",
            (_QUESTION, double_call, *_results(double_call), _ANSWER, _THANKS),
        ),
    )


def _turn(calls: tuple[ToolCall, ...]) -> Message:
    return Message(reasoning=_REASONING, calls=calls)


def _framed_requests() -> Iterator[ComparedRequest]:
    """Return each scene with and without tools, system message and generation prompt."""
    for name, dialogue in _scenes():
        # No client requests a prompt after a final assistant message.
        prompts = (False,) if isinstance(dialogue[-1], Message) else (True, False)
        for tools, system, generation in product((False, True), (False, True), prompts):
            yield ComparedRequest(name, dialogue, tools, generation, system)


def _part_requests(*, tools: bool = False) -> Iterator[ComparedRequest]:
    for kind in (*PARTS, *UNTYPED):
        yield _request(f"user parts: {kind.name}", (_QUESTION,), "user", kind, tools=tools)
    image = next(kind for kind in PARTS if kind.name == "image")
    two_questions: Dialogue = (_QUESTION, _ANSWER, _THANKS)
    yield _request("user parts: image in two messages", two_questions, "user", image, tools=tools)
    question = ContentKind("a string", _QUESTION.text)
    yield _request("user content: a string", (_QUESTION,), "user", question, tools=tools)
    answered: Dialogue = (_QUESTION, Message("It is sunny."), _THANKS)
    called = _scenes()[-2][1]
    for kind in (*TEXT_PARTS, image):
        yield _request(f"assistant parts: {kind.name}", answered, "assistant", kind, tools=tools)
        # These always offer tools, so that the requests with tools would repeat them.
        if not tools:
            yield _request(f"tool result parts: {kind.name}", called, "tool", kind, tools=True)
    for kind in TEXT_PARTS:
        sent = _request(f"system parts: {kind.name}", (_QUESTION,), "system", kind, tools=tools)
        yield replace(sent, system=True)


def _request(
    name: str, dialogue: Dialogue, role: str, kind: ContentKind, *, tools: bool
) -> ComparedRequest:
    return ComparedRequest(name, dialogue, tools, generation=True, content=(role, kind.content))


def _unusual_requests() -> Iterator[ComparedRequest]:
    """Return the requests that few callers send; they are rendered under the defaults alone."""
    for tools in (False, True):
        yield ComparedRequest(
            "a developer message first", (_QUESTION,), tools, generation=True, first="developer"
        )
    loops = [dialogue for name, dialogue in _scenes() if "loop" in name]
    for as_string, name in ((True, "JSON text"), (False, "an object")):
        for count, loop in zip(("one call", "two calls"), loops, strict=True):
            yield ComparedRequest(
                f"arguments: {name}, {count}",
                loop,
                tools=True,
                generation=True,
                arguments_as_string=as_string,
            )
    for kind in (
        ContentKind("an object", {"sky": "clear"}),
        ContentKind("JSON text", '{"sky": "clear"}'),
    ):
        yield _request(f"tool result content: {kind.name}", loops[0], "tool", kind, tools=True)
    talk = [(UserMessage(f"Question {at}?"), Message(f"Answer {at}.")) for at in range(1, 7)]
    yield ComparedRequest(
        "six questions and the answers to five",
        tuple(entry for pair in talk for entry in pair)[:-1],
        tools=False,
        generation=True,
        system=True,
    )


# One of the two templates, and how requests are rendered by it.


Outcome: TypeAlias = str | TemplateRenderError | None
"""The rendered text, the error that it raised, or None if it was not rendered."""

MOST_BEYOND = 3
"""Renders stop after this many limit errors, since each takes as long as the limit allows."""


class ComparisonStage:
    """Renders requests with one template, in the message shape that it expects."""

    def __init__(self, analysis: Analysis, other: Analysis) -> None:
        """Store the analysis; special tokens that it lacks are taken from the other's files."""
        template = analysis.template
        known: Mapping[str, str] = {
            name: other.template.special_tokens.get(name, text)
            for name, text in analysis.stand_ins.items()
        }
        self._prober = Prober(
            template,
            choose_sentinels(template.text),
            tokens={**template.special_tokens, **known},
            tools=battery_tools(),
            shape=analysis.shape,
        )
        self._beyond = 0
        self._shaped: dict[object, list[dict[str, Json]]] = {}
        self._maps: dict[object, SourceMap | None] = {}

    def play(self, request: ComparedRequest, setting: Setting) -> Outcome:
        """Render a request under a setting."""
        if self._beyond >= MOST_BEYOND:
            return None
        # The shape does not depend on the setting, so convert messages once.
        messages = self._shaped.get(request.key)
        if messages is None:
            messages = self._shaped[request.key] = request.messages(self._prober.shape)
        try:
            return self._prober.render_messages(
                messages, tools=request.tools, generation=request.generation, setting=setting
            )
        except TemplateLimitError as error:
            self._beyond += 1
            return error
        except TemplateRenderError as error:
            return error

    @property
    def tally(self) -> AskedTally:
        """The bounds of all requests rendered so far."""
        return self._prober.meter.tally

    def line_at(self, request: ComparedRequest, setting: Setting, at: int) -> int | None:
        """Return the template's line that wrote the character at `at`, or None if unknown."""
        key = (request.key, repr(setting))
        if key not in self._maps:
            self._maps[key] = self._source_map(request, setting)
        written = self._maps[key]
        return None if written is None else written.line_at(at)

    def _source_map(self, request: ComparedRequest, setting: Setting) -> SourceMap | None:
        try:
            asked = self._prober.variables(
                request.messages(self._prober.shape),
                tools=request.tools,
                generation=request.generation,
                setting=setting,
            )
            return self._prober.template.source_map(asked, in_macros=True)
        except TemplateRenderError:
            return None

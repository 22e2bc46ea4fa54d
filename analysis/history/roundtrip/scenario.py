"""What is tried in a round trip: values that a person writes as YAML.

A scenario says what the model means and how it writes it, what the engine makes of that, and
whose message comes next. It names no model and no marker: the format at hand writes the text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from autoparser.analysis.core.conversation import Dialogue, Message, Tool, User


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


@dataclass(frozen=True, slots=True)
class EngineHabits:
    """What an inference engine makes of a parsed message before it goes into the history."""

    arguments: ArgumentsAs = ArgumentsAs.TEMPLATE
    ids: Ids = Ids.KEPT
    malformed: UnreadCalls = UnreadCalls.CONTENT
    strips_reasoning: bool = False
    """It strips the whitespace after the reasoning, as many engines do."""
    rewrites_json: bool = False
    """It reads arguments and writes them again with `json.dumps`, as many engines do."""
    reasoning_fields: tuple[str, ...] | None = None
    """The fields of the message that hold the reasoning; None is the one that the template
    reads, an empty row says that reasoning does not go into the history."""
    beside_calls: BesideCalls = BesideCalls.VERBATIM
    """What becomes of content beside calls."""
    messages: MessagesAs = MessagesAs.TEMPLATE
    """In which form it hands messages to the template."""
    name: str = ""
    """The program that has these habits; empty where they are of nobody in particular."""


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
    history: Dialogue = (User("What is the weather in Oslo?"),)
    tools: tuple[Tool, ...] = ()
    """Those offered; none where there are none."""
    next: tuple[Next, ...] = (Next.USER,)
    answers: Answers = Answers.ALL
    engine: EngineHabits = field(default_factory=EngineHabits)

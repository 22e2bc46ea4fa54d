"""The last rung: what a model likes to write, and what the server makes of it.

Nobody knows before what such an answer means. This package's own reading of the very text stands
for that, which its reports say; so it is asked only where nothing better is offered, or wanted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.battery import loose_tools
from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.reading.parsing import ParsedMessage

from .chat_replies import message_of_events
from .client_message import client_message, differences
from .engine_server import EngineServer, TextNotAskedError, TextRefusedError
from .known_text import KnownText, ProbedChat
from .probed_text import NotAsked, ProbedText

__all__ = ["SAMPLED_BLIND", "sampled_texts"]

QUESTIONS: Mapping[str, tuple[str, bool]] = {
    "a greeting": ("Say hello.", False),
    "a sum": ("What is 17 times 23?", False),
    "a question for a tool": ("Will it rain in Oslo in the next 3 days?", True),
    "two questions for a tool": ("Will it rain in Oslo, and in Quito, tomorrow?", True),
}
"""By their titles: what the user says, and whether tools are offered."""
LIMIT = 1000
"""Tokens of an answer."""
SAMPLED_BLIND = (
    "what was meant: this package's own reading of the text stands for it",
    "all that the model did not happen to write",
)


def sampled_texts(
    server: EngineServer, analysis: Analysis, settings: Mapping[str, Json]
) -> tuple[tuple[ProbedText, ...], list[NotAsked]]:
    """Ask the questions, the most likely token each time. Raises ProbeError."""
    texts: list[ProbedText] = []
    missing: list[NotAsked] = []
    for title, (question, tools) in QUESTIONS.items():
        said: list[dict[str, Json]] = [{"role": "user", "content": question}]
        chat = ProbedChat(said, loose_tools() if tools else (), settings)
        try:
            texts.append(_sampled(server, analysis, chat, title))
        except (TextNotAskedError, TextRefusedError) as error:
            missing.append(NotAsked(title, str(error)))
    return tuple(texts), missing


def _sampled(server: EngineServer, analysis: Analysis, chat: ProbedChat, title: str) -> ProbedText:
    written, came = server.sampled(chat, LIMIT)
    parser = analysis.parser(chat.tools, prompt=server.prompt(chat))
    read = parser.parse(written)
    meant = client_message(read.to_openai())
    known = KnownText(title, _message(read), written)
    found = differences(meant, came)
    try:
        streamed = message_of_events(server.greedy_events(chat, LIMIT))
    except TextRefusedError as error:
        return ProbedText(known, came, "", found, None, str(error))
    return ProbedText(known, came, "", found, streamed)


def _message(read: ParsedMessage) -> Message:
    calls: list[ToolCall] = []
    for each in read.tool_calls:
        try:
            arguments: Json = json.loads(each.arguments)
        except ValueError:
            arguments = None
        calls.append(ToolCall(each.name, arguments if isinstance(arguments, dict) else {}))
    return Message(read.content or "", read.reasoning_content or "", tuple(calls))

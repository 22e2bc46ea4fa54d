"""Probe a server: compare its prompts with the template's, and its readings with the meanings.

    server_at(client)              ->  EngineServer: vLLM, SGLang or llama.cpp
    probe_server(server, analysis) ->  ServerProbe: compared prompts, texts with verdicts
    probe_advice(probe)            ->  changes that would make the server read right

Texts of known meaning are read in the most certain way that the server offers. Without any, the
model is sampled, and this package's own reading of its output is taken for the meaning.
The texts are collected in `probe_texts`, and `probe_engines` has a class for each engine.

For example, for a server of vLLM that renders all prompts rightly and fails to read `1 call`:

    probe_advice(probe)
    ->  plugin   --tool-call-parser autoparser --reasoning-parser autoparser
        engines  autoparser engines TEMPLATE --python path/to/vllm/bin/python
        export   autoparser export TEMPLATE
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from http import HTTPStatus

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.documents import Count
from autoparser.analysis.core.error_words import one_line
from autoparser.analysis.core.message_battery import loose_tools
from autoparser.analysis.core.reading_judge import ReadMessage
from autoparser.analysis.core.server_engines import ParserFlags, ServerEngine
from autoparser.analysis.parsing.parsed_message import ParsedMessage

from .client_messages import (
    ReadPart,
    client_message,
    message_differences,
    nearest_reading,
    streamed_message,
    text_or_empty,
)
from .engine_ranking import EngineRanking
from .environment_worker import NAME
from .probe_base import (
    CHAT,
    EngineServer,
    KnownText,
    ParserEndpoints,
    ProbedChat,
    ServedModel,
    TextNotAskedError,
    TextRoute,
    TextRung,
)
from .probe_client import SHOWN, ProbeClient, ProbeError, TextRefusedError
from .probe_engines import PROBES
from .probe_texts import (
    ComparedPrompt,
    KnownTexts,
    NotAsked,
    ParserRanking,
    ParserScore,
    ProbedText,
    ReadVerdict,
    compared_prompts,
    known_texts,
    rank_served_parsers,
)

MODELS = "/v1/models"
ITSELF = f"give the address of the engine itself, not of a proxy: {', '.join(ServerEngine)}"


def server_at(client: ProbeClient, model: str = "") -> EngineServer:
    """Return the server at an address; `model` chooses one of several. Raises ProbeError."""
    reply = client.get(MODELS)
    # For other endpoints, 403 may mean that they are missing, but every server has this one.
    if reply.status == HTTPStatus.FORBIDDEN:
        raise client.locked(reply.status)
    listed = reply.object.get("data")
    models = (
        [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    )
    if not reply.ok or not models:
        answer_text = one_line(reply.text, SHOWN)
        raise ProbeError(
            f"{MODELS} returned no list of models ({reply.status}): {answer_text}",
            file=client.url,
            hint=ITSELF,
        )
    chosen = _chosen(client, models, model)
    name, owner, root = (text_or_empty(chosen.get(key)) for key in ("id", "owned_by", "root"))
    # Engines name themselves as the owner of the models that they list.
    probe = next((probe for probe in PROBES if probe.engine.record.owner == owner), None)
    if probe is None:
        raise ProbeError(
            f"unknown engine: its models are owned by {owner!r}",
            file=client.url,
            hint=ITSELF,
        )
    return probe.at_client(client, name, root or None)


def _chosen(client: ProbeClient, models: list[dict[str, Json]], model: str) -> Mapping[str, Json]:
    if not model:
        return models[0]
    found = next((entry for entry in models if entry.get("id") == model), None)
    if found is None:
        names = ", ".join(text_or_empty(entry.get("id")) for entry in models)
        raise ProbeError(f"unknown model {model!r}", file=client.url, hint=f"choose from {names}")
    return found


# Sampled outputs are the last route. Their meaning is unknown, so this package's own parser defines
# it, as the reports state. They are used only if there is no better route, or on request.


QUESTIONS: Mapping[str, tuple[str, bool]] = {
    "a greeting": ("Say hello.", False),
    "a sum": ("What is 17 times 23?", False),
    "a question for a tool": ("Will it rain in Oslo in the next 3 days?", True),
    "two questions for a tool": ("Will it rain in Oslo, and in Quito, tomorrow?", True),
}
"""By title: the user message, and whether tools are offered."""
LIMIT = 1000
"""Most tokens of a sampled answer."""
SAMPLED_BLIND = (
    "the intended message: this package's own parse counts as correct",
    "everything that the model did not write",
)


def sampled_texts(
    server: EngineServer, analysis: Analysis, settings: Mapping[str, Json]
) -> tuple[tuple[ProbedText, ...], list[NotAsked]]:
    """Ask the questions with greedy sampling. Raises ProbeError."""
    texts: list[ProbedText] = []
    missing: list[NotAsked] = []
    for title, (question, tools) in QUESTIONS.items():
        messages: list[dict[str, Json]] = [{"role": "user", "content": question}]
        chat = ProbedChat(messages, loose_tools() if tools else (), settings)
        try:
            texts.append(_sampled(server, analysis, chat, title))
        except (TextNotAskedError, TextRefusedError) as error:
            missing.append(NotAsked(title, str(error)))
    return tuple(texts), missing


def _sampled(server: EngineServer, analysis: Analysis, chat: ProbedChat, title: str) -> ProbedText:
    written, reading = server.sample_chat(chat, LIMIT)
    parser = analysis.parser(chat.tools, prompt=server.prompt(chat))
    read = parser.parse(written)
    meant = client_message(read.to_openai())
    known = KnownText(title, _message(read), written)
    found = message_differences(meant, reading)
    return _with_stream(
        ProbedText(known, reading, differences=found),
        lambda: streamed_message(server.client.events(CHAT, server.greedy_body(chat, LIMIT))),
    )


def _with_stream(text: ProbedText, stream: Callable[[], ReadMessage]) -> ProbedText:
    """Return a text with the message of its stream, or the refusal."""
    try:
        return replace(text, streamed=stream())
    except TextRefusedError as error:
        return replace(text, stream_refusal=str(error))


def _message(read: ParsedMessage) -> Message:
    calls: list[ToolCall] = []
    for call in read.tool_calls:
        try:
            arguments: Json = json.loads(call.arguments)
        except ValueError:
            arguments = None
        # A call may be read whose arguments are not JSON; they are unknown then.
        calls.append(ToolCall(call.name, arguments if isinstance(arguments, dict) else {}))
    return Message(read.content or "", read.reasoning_content or "", tuple(calls))


NO_TURN = "the template raises on it, or does not continue its prompt with it"
_WRONG = (ReadVerdict.DIFFERENT, ReadVerdict.REFUSED)


@dataclass(frozen=True, slots=True)
class InstalledParsers:
    """The best parsers of an installed engine, ranked by a template's turns."""

    tool_parser: str | None
    """E.g. `"hermes"`, or None if none reads more than no parser."""
    reasoning_parser: str | None
    """E.g. `"qwen3"`, or None as above."""
    right: Count
    """Texts parsed correctly without streaming, e.g. 14."""
    streamed: Count
    """Texts parsed correctly in every stream, e.g. 13."""
    texts: Count
    """Texts that were parsed, e.g. 15."""

    @classmethod
    def of_ranking(cls, ranking: EngineRanking) -> InstalledParsers:
        """Return the best pair that is not this package's plugin."""
        own = (
            score for score in ranking.pairs if NAME not in (score.pair.tool, score.pair.reasoning)
        )
        # The pair of no parsers is always ranked, so there is one.
        best = next(own)
        pair, right = best.pair, best.whole.right
        return cls(pair.tool, pair.reasoning, right, best.streamed_right, best.total)

    @property
    def flags(self) -> str:
        """The flags that choose them, or empty if no parser is better than none."""
        return ParserFlags().command(reasoning=self.reasoning_parser, tools=self.tool_parser)


@dataclass(frozen=True)
class ServerProbe:
    """The results of a probe."""

    url: str
    """The address, without `/v1`: `"http://127.0.0.1:8000"`."""
    served: ServedModel
    """The server's description of itself, e.g. with the parser `"qwen"`."""
    prompts: tuple[ComparedPrompt, ...]
    """The prompts as the template and as the server render them, e.g. of `"a question"`."""
    prompts_refused: tuple[str, ...]
    """Titles of conversations that the template itself refuses, e.g.
    `("a call and its result",)`."""
    rung: TextRoute
    """The route by which the texts reached the server's parser, e.g. `TextRoute.GIVEN`."""
    blind: tuple[str, ...]
    """The differences that the route cannot see, in words, e.g.
    `("the stream: its endpoints take a whole text", …)`."""
    texts: tuple[ProbedText, ...]
    """The texts with the readings of the server, e.g. 15."""
    not_asked: tuple[NotAsked, ...]
    """The messages without a text, or whose text cannot reach the parser, e.g.
    `NotAsked("a sum", "its model did not stop")`."""
    ranking: ParserRanking | None
    """The scores of all parsers of the server, e.g. `qwen3` first, if it reads by each of them."""
    setting: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The template's variables for the texts, e.g. `{"enable_thinking": True}`."""
    template_served: bool | None = None
    """Whether the server's template is the probed one; None if it does not state its text."""
    installed: InstalledParsers | None = None
    """The best parsers of the installed engine, e.g. `"hermes"` and `"qwen3"`, if they were
    ranked."""

    def texts_with(self, verdict: ReadVerdict) -> list[ProbedText]:
        """Return the texts with one verdict."""
        return [text for text in self.texts if text.verdict is verdict]

    @property
    def prompts_differ(self) -> bool:
        """Whether any prompt differs or is refused."""
        return any(not prompt.same for prompt in self.prompts)

    @property
    def streams_differ(self) -> bool:
        """Whether any stream is refused or differs in more than edge whitespace."""
        return any(text.stream_verdict in _WRONG for text in self.texts)

    @property
    def untested(self) -> bool:
        """Whether the probe has no verdict: no text was read, and no prompt differs."""
        return not self.texts and not self.prompts_differ

    def ok(self, *, edges: bool = False) -> bool:
        """Return whether all is read right, with `edges` exactly; False if no text was read."""
        passed = {ReadVerdict.EXACT} if edges else {ReadVerdict.EXACT, ReadVerdict.EDGES}
        read = all(text.verdict in passed for text in self.texts)
        streamed = all(text.stream_verdict in {None, *passed} for text in self.texts)
        return bool(self.texts) and read and streamed and not self.prompts_differ


def probe_server(
    server: EngineServer,
    analysis: Analysis,
    *,
    url: str,
    settings: Mapping[str, Json] | None = None,
    rung: TextRoute | None = None,
    ranked: bool = True,
) -> ServerProbe:
    """Compare prompts, then have the server read texts of known meaning.

    `rung` chooses a way other than the most certain; if the server offers none, the model is
    sampled. Raises ProbeError.
    """
    settings = settings or {}
    prompts, refused = compared_prompts(analysis, server, settings)
    known = known_texts(analysis, settings)
    if not known.texts and not settings:
        # Some templates write no turn after their default prompt, which closes the reasoning.
        openings = analysis.formats.openings
        others = (known_texts(analysis, opening.setting) for opening in openings)
        known = next((other for other in others if other.texts), known)
    reader = None if rung is TextRoute.SAMPLED else _reader(server, rung, url)
    if reader is None:
        blind: tuple[str, ...] = SAMPLED_BLIND
        used = TextRoute.SAMPLED
        texts, missing = sampled_texts(server, analysis, settings)
    else:
        blind, used = reader.blind, reader.rung
        texts, missing = _read_all(reader, known)
        missing = [*(NotAsked(title, NO_TURN) for title in known.not_asked), *missing]
    scores = None
    # Otherwise the server would have to be restarted with each parser.
    if ranked and isinstance(server, ParserEndpoints) and used is TextRoute.GIVEN:
        scores = rank_served_parsers(server, known.texts, known.chat.tools)
    return ServerProbe(
        url=url,
        served=server.served,
        prompts=prompts,
        prompts_refused=refused,
        rung=used,
        blind=blind,
        texts=texts,
        not_asked=tuple(missing),
        ranking=scores,
        setting=settings if reader is None else known.chat.settings,
        # llama.cpp cuts the last newline.
        template_served=None
        if server.served.template is None
        else server.served.template.rstrip() == analysis.template.text.rstrip(),
    )


def _read_all(
    reader: TextRung, known_texts: KnownTexts
) -> tuple[tuple[ProbedText, ...], list[NotAsked]]:
    texts: list[ProbedText] = []
    missing: list[NotAsked] = []
    for text in known_texts.texts:
        try:
            texts.append(_read(reader, known_texts.chat, text))
        except TextNotAskedError as error:
            missing.append(NotAsked(text.title, str(error)))
    return tuple(texts), missing


def _reader(server: EngineServer, wanted: TextRoute | None, url: str) -> TextRung | None:
    rungs: Sequence[TextRung] = server.rungs()
    if wanted is None:
        return next(iter(rungs), None)
    found = next((rung for rung in rungs if rung.rung is wanted), None)
    if found is None:
        offered = ", ".join([*(rung.rung for rung in rungs), TextRoute.SAMPLED])
        raise ProbeError(
            f"does not support the method {wanted}", file=url, hint=f"choose from {offered}"
        )
    return found


def _read(reader: TextRung, chat: ProbedChat, known_text: KnownText) -> ProbedText:
    try:
        reading = reader.read(chat, known_text)
    except TextRefusedError as error:
        return ProbedText(known_text, None, str(error))
    parts = [part for part in ReadPart if reader.sees_reasoning or part is not ReadPart.REASONING]
    read = ProbedText(
        known_text, reading, differences=nearest_reading(known_text.meanings, reading, parts)
    )
    return (
        _with_stream(read, lambda: reader.read_stream(chat, known_text)) if reader.streams else read
    )


class AdviceKind(StrEnum):
    """The kinds of advice."""

    TEMPLATE = "template"
    """Serve the template that was probed, or probe the one that is served."""
    CONTENT = "content"
    """Have the server give the template content as text, not as a list of parts."""
    JINJA = "jinja"
    """Start the server with its Jinja engine: it serves the template, and does not render it."""
    PARSERS = "parsers"
    """Other parsers of the same server read more of the texts."""
    INSTALLED = "installed"
    """The engine's own parsers that read most of the template's turns, as it is installed."""
    ENGINES = "engines"
    """Have the engine's own parsers read the template's turns where the engine is installed."""
    PLUGIN = "plugin"
    """This package's parser inside the engine."""
    EXPORT = "export"
    """A response template, which the engine's own parser reads."""
    SERVE = "serve"
    """This package's endpoint in front of the server."""


@dataclass(frozen=True, slots=True)
class ProbeAdvice:
    """An advice and its command."""

    kind: AdviceKind
    """The purpose of the command, e.g. `"plugin"`."""
    command: str
    """Flags or a command line, e.g. `"--tool-call-parser hermes"`."""


def probe_advice(probe: ServerProbe) -> tuple[ProbeAdvice, ...]:
    """Return the ways out of the problems that a probe found; empty if all is read right."""
    return tuple(_advice(probe))


def _advice(probe: ServerProbe) -> Iterator[ProbeAdvice]:
    flags = probe.served.engine.record.parser_flags
    # Prompts come first: after another prompt, a model writes other answers.
    prompts = _prompt_advice(probe) if probe.prompts_differ else None
    if prompts is not None:
        yield prompts
    read = all(text.verdict in (ReadVerdict.EXACT, ReadVerdict.EDGES) for text in probe.texts)
    if read and not probe.streams_differ and (prompts is not None or not probe.prompts_differ):
        return
    # Without named parsers, an engine parses by its template only, so use another program.
    if flags is None:
        command = f"autoparser serve TEMPLATE --server {probe.url} --engine {probe.served.engine}"
        yield ProbeAdvice(AdviceKind.SERVE, command)
        return
    better = _better(probe, flags)
    if better:
        yield ProbeAdvice(AdviceKind.PARSERS, better)
    # After the engine's own parsers, which need no installation.
    yield ProbeAdvice(AdviceKind.PLUGIN, f"{flags.tools} {NAME} {flags.reasoning} {NAME}")
    if probe.installed is not None:
        if probe.installed.flags:
            yield ProbeAdvice(AdviceKind.INSTALLED, probe.installed.flags)
    elif probe.ranking is None:
        command = f"autoparser engines TEMPLATE --python path/to/{probe.served.engine}/bin/python"
        yield ProbeAdvice(AdviceKind.ENGINES, command)
    yield ProbeAdvice(AdviceKind.EXPORT, "autoparser export TEMPLATE")


def _prompt_advice(probe: ServerProbe) -> ProbeAdvice | None:
    """Return the flags that make a server render the template, or None if it renders it so."""
    record = probe.served.engine.record
    jinja = record.jinja_flag
    differing = [prompt for prompt in probe.prompts if not prompt.same]
    # The template is right in this case, but the server passes messages in another form.
    if record.content_flag and all(prompt.in_parts for prompt in differing):
        return ProbeAdvice(AdviceKind.CONTENT, record.content_flag)
    if not jinja or not probe.template_served:
        return ProbeAdvice(AdviceKind.TEMPLATE, f"{jinja} {record.template_flag} FILE".lstrip())
    # Without Jinja, the server refuses tools and names the flag in its error.
    if any(jinja in prompt.refusal for prompt in probe.prompts):
        return ProbeAdvice(AdviceKind.JINJA, jinja)
    return None


def _better(probe: ServerProbe, flags: ParserFlags) -> str:
    """Return the flags of parsers that are better than the server's, or empty."""
    ranked, served = probe.ranking, probe.served
    if ranked is None:
        return ""

    def better(scores: Sequence[ParserScore], configured: str | None) -> str | None:
        # A server without such a parser scores 0.
        now = next((score.right for score in scores if score.name == configured), 0)
        return scores[0].name if scores and scores[0].right > now else None

    return flags.command(
        reasoning=better(ranked.reasoning, served.reasoning_parser),
        tools=better(ranked.calls, served.tool_parser),
    )

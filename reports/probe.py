"""A probe of a server, for a terminal and as JSON.

The first rows compare prompts and parsed texts with the template, such as for a llama-server:

    Prompts   4 of 4 match the template
    Texts     12 of 15 read correctly, 3 of them except for whitespace at the edges
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import convert
from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import JsonDocument, copy_fields, document_json, json_text
from autoparser.analysis.core.provenance import TemplateDocument, named_template
from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.engines.client_messages import PartDifference, PartLikeness
from autoparser.analysis.engines.probe_base import ServedModel, TextRoute
from autoparser.analysis.engines.probe_texts import (
    ComparedPrompt,
    NotAsked,
    ParserRanking,
    ParserScore,
    ProbedText,
    ReadVerdict,
)
from autoparser.analysis.engines.server_probe import (
    AdviceKind,
    InstalledParsers,
    ProbeAdvice,
    ServerProbe,
    probe_advice,
)
from autoparser.analysis.templates.chat_template import ChatTemplate

from .blocks import Block, Blocks, Excerpt, Row, heading, prose, rows, sentence
from .terminal import report_text
from .visible import marker_text, setting_words, shell_word, visible

LONGEST = 160
"""Longest text shown, in characters."""
AROUND = 30
"""Characters of a prompt shown before the departure of two."""
RANKED = 6
"""Parsers shown for each ranking."""

_RUNGS = {
    TextRoute.GIVEN: "given: the parser is called directly; nothing is generated",
    TextRoute.FORCED: "forced: the model is made to output the texts",
    TextRoute.SAMPLED: "sampled: the model writes freely",
}
_ADVICE = {
    AdviceKind.TEMPLATE: "The prompts differ: start the server with the template that was"
    " probed, or probe the one that it serves.",
    AdviceKind.CONTENT: "The server passes content as a list of parts, which the template renders"
    " differently from text: start it with",
    AdviceKind.JINJA: "The server has this template but does not render it: start it with",
    AdviceKind.INSTALLED: "Of the engine's own parsers, these read most of the template's turns:",
    AdviceKind.ENGINES: "See which of the engine's own parsers read most of the template's turns,"
    " where the engine is installed:",
    AdviceKind.PARSERS: "Other parsers of this server read more of these texts:",
    AdviceKind.PLUGIN: "Install this package beside the engine, and start it with",
    AdviceKind.EXPORT: "Or put a response_template into tokenizer_config.json, which the"
    " engine's own parser reads:",
    AdviceKind.SERVE: "Put this package's endpoint in front of the server:",
}


def probe_report(probe: ServerProbe, template: str, width: int) -> Text:
    """Report on a probe; `template` is the template's name in messages."""
    drawn: Blocks = [
        *rows([*_server(probe, template), *_summary_rows(probe)], indent=0),
        *_prompts(probe.prompts),
        *_read_otherwise(probe),
        *_at_edges(probe),
        *_streams(probe),
        *_blind(probe),
        *_ranking(probe),
        *_installed_parsers(probe),
        *_advice(probe, template),
    ]
    return report_text(drawn, width)


def _server(probe: ServerProbe, template: str) -> Iterator[Row]:
    served = probe.served
    version = f" {served.version}" if served.version else ""
    yield "Server", Text(visible(f"{served.engine}{version} at {probe.url}, model {served.model}"))
    yield "Template", Text(visible(template))
    yield "Parsers", Text(visible(_parsers(served)))


def _parsers(served: ServedModel) -> str:
    # Only some servers tell their parsers; a name of none would be a claim.
    if not served.parsers_told:
        return "; ".join(served.notes) or "not reported"
    pair = (("calls", served.tool_parser), ("reasoning", served.reasoning_parser))
    return ", ".join(f"{name or 'none'} for {part}" for part, name in pair)


def _summary_rows(probe: ServerProbe) -> Iterator[Row]:
    same = sum(prompt.same for prompt in probe.prompts)
    prompts = f"{same} of {len(probe.prompts)} match the template"
    if probe.prompts_refused:
        prompts += f"; {len(probe.prompts_refused)} that the template rejects"
    yield "Prompts", Text(prompts, style="" if probe.prompts_differ else "green")
    yield "Texts", _verdicts(probe)
    streams = [text.stream_verdict for text in probe.texts if text.stream_verdict is not None]
    if streams:
        same = streams.count(ReadVerdict.EXACT)
        words = f"{same} of {len(streams)} equal the whole answer"
        if ReadVerdict.EDGES in streams:
            words += f", {streams.count(ReadVerdict.EDGES)} except for whitespace at the edges"
        yield "Streams", Text(words, style="red" if probe.streams_differ else "green")
    # Several messages may be skipped for one reason, which is shown once.
    skipped: dict[str, list[str]] = {}
    for prompt in probe.not_asked:
        skipped.setdefault(prompt.reason, []).append(prompt.title)
    for reason, titles in skipped.items():
        yield "Skipped", Text(visible(f"{', '.join(titles)}: {reason}"))
    # The method limits what the verdicts can show, so it is part of the result.
    yield "Method", Text(_RUNGS[probe.rung])


def _verdicts(probe: ServerProbe) -> Text:
    # 0 of 0 would read as a failure of the parsers.
    if not probe.texts:
        return Text("none could be tested, so the parsers have no verdict", style="yellow")
    count = {verdict: len(probe.texts_with(verdict)) for verdict in ReadVerdict}
    # Whitespace at the edges counts as right here; `probe --edges` compares it as well.
    right = count[ReadVerdict.EXACT] + count[ReadVerdict.EDGES]
    wrong = len(probe.texts) - right
    style = "red" if wrong else "green"
    found = sentence((f"{right} of {len(probe.texts)}", style), " read correctly")
    if probe.setting:
        found.append(f" with {setting_words(probe.setting)}")
    if count[ReadVerdict.EDGES]:
        found.append(f", {count[ReadVerdict.EDGES]} of them except for whitespace at the edges")
    if count[ReadVerdict.REFUSED]:
        found.append(f"; the server fails on {count[ReadVerdict.REFUSED]}")
    return found


def _prompts(prompts: Sequence[ComparedPrompt]) -> Iterator[Block]:
    for prompt in prompts:
        # Equal prompts are counted above.
        if prompt.same:
            continue
        yield from heading(f"The prompt of {prompt.title} differs")
        if prompt.served is None:
            yield from prose(visible(prompt.refusal))
            continue
        # Prompts with tools are long, and differ late.
        start = max(0, prompt.parting - AROUND)
        pairs = [
            ("template", Text(marker_text(_shorten_text(prompt.rendered[start:])))),
            ("server", Text(marker_text(_shorten_text(prompt.served[start:])))),
        ]
        yield from rows(pairs, words=False)


def _read_otherwise(probe: ServerProbe) -> Iterator[Block]:
    for text in probe.texts:
        if text.verdict is ReadVerdict.REFUSED:
            yield from heading(f"The server fails on {text.known_text.title}")
            yield from rows([_text_row(text), ("it says", Text(visible(text.refusal)))])
        elif text.verdict is ReadVerdict.DIFFERENT:
            yield from heading(f"Misread: {text.known_text.title}")
            pairs = [_text_row(text), *_difference_rows(text.differences, "expected", "read")]
            yield from rows(pairs, words=False)


def _text_row(text: ProbedText) -> Row:
    return "text", Text(marker_text(_shorten_text(text.known_text.text)))


def _difference_rows(differences: Iterable[PartDifference], meant: str, came: str) -> Iterator[Row]:
    for difference in differences:
        yield f"{difference.part} {meant}", Text(_shown_value(difference.meant))
        yield f"{difference.part} {came}", Text(_shown_value(difference.came))


def _shown_value(value: Json) -> str:
    # Both are how a message without this part is compared.
    if value in ("", []):
        return "nothing"
    text = value if isinstance(value, str) else json_text(value)
    return marker_text(_shorten_text(text))


def _at_edges(probe: ServerProbe) -> Blocks:
    """Show the first text for each part whose edges differ."""
    # One case of each part is enough: a parser strips the edges of every text alike.
    first: dict[str, PartDifference] = {}
    for text in probe.texts:
        for found in text.differences:
            if found.likeness is PartLikeness.EDGES:
                first.setdefault(found.part, found)
    if not first:
        return []
    return [
        *heading("Whitespace at the edges, first case of each part"),
        *rows(_difference_rows(first.values(), "expected", "read"), words=False),
    ]


def _streams(probe: ServerProbe) -> Iterator[Block]:
    for text in probe.texts:
        if text.stream_refusal:
            yield from heading(f"The server fails on the stream of {text.known_text.title}")
            yield from prose(visible(text.stream_refusal))
        # Compared with the whole answer, not with the meaning: that is judged above.
        elif text.stream_differences:
            yield from heading(f"The stream differs: {text.known_text.title}")
            pairs = _difference_rows(text.stream_differences, "at once", "streamed")
            yield from rows(pairs, words=False)


def _blind(probe: ServerProbe) -> Iterator[Block]:
    if not probe.blind:
        return
    yield from heading("Limits of this method")
    for limit in probe.blind:
        yield from prose(limit, hang=2)


def _ranking(probe: ServerProbe) -> Iterator[Block]:
    ranked, served = probe.ranking, probe.served
    if ranked is None:
        return
    yield from _scores("Reasoning parsers", ranked.reasoning, served.reasoning_parser)
    yield from _scores("Tool-call parsers", ranked.calls, served.tool_parser)
    if ranked.unknown:
        yield from prose(f"{len(ranked.unknown)} names that it rejects for any text")


def _installed_parsers(probe: ServerProbe) -> Blocks:
    best = probe.installed
    if best is None:
        return []
    counts = f"{best.right} of {best.texts} correct, streamed {best.streamed}"
    named = visible(best.flags or "neither parser")
    return [
        *heading("The engine's own parsers, as installed"),
        *rows([("best", Text(named)), ("reads", Text(counts))]),
    ]


def _scores(title: str, scores: Sequence[ParserScore], configured: str | None) -> Blocks:
    shown_scores = [
        # Show the server's own parser whatever its rank.
        score
        for at, score in enumerate(scores)
        if at < RANKED or score.name == configured
    ]
    pairs = [
        (
            visible(score.name),
            sentence(
                f"{score.right} correct, {score.edges} of them except at the edges;"
                f" {score.different} misread, {score.refused} failures",
                ("  the server's" if score.name == configured else "", "bold"),
            ),
        )
        for score in shown_scores
    ]
    return [*heading(f"{title}: the best of {len(scores)}"), *rows(pairs)]


def _advice(probe: ServerProbe, template: str) -> Iterator[Block]:
    found = probe_advice(probe)
    yield from heading("What to do") if found else []
    for advised in found:
        yield from prose(_ADVICE[advised.kind])
        # Advice is made without the name by which the caller knows the template.
        command = advised.command.replace("TEMPLATE", shell_word(template))
        # Not broken, so that the command can be copied.
        yield Excerpt((Text(visible(command), style="cyan"),), 4, broken=False)


def _shorten_text(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


class ServerDocument(JsonDocument, frozen=True):
    """The server's description of itself; null if it does not state a value."""

    url: str
    """The address, without `/v1`, e.g. `"http://127.0.0.1:8000"`."""
    engine: ServerEngine
    """The engine behind it, e.g. `"vllm"`."""
    version: str | None
    """The engine's version, e.g. `"0.32.0"`."""
    model: str
    """The name of the model in requests, e.g. `"Qwen/Qwen3-8B"`."""
    template_place: str | None
    """The directory, file or model from which it takes its template, e.g. `"Qwen/Qwen3-8B"`."""
    parsers_told: bool
    """Whether it states the parsers with which it was started, e.g. `true` for SGLang."""
    tool_parser: str | None
    """The parser of tool calls, e.g. `"hermes"`."""
    reasoning_parser: str | None
    """The parser of reasoning, e.g. `"qwen3"`."""


class ProbedPromptDocument(JsonDocument, frozen=True):
    """A prompt as rendered by the template, and as made by the server."""

    title: str
    """The conversation, e.g. `"a call and its result"`."""
    same: bool
    """Whether both have the same text, e.g. `false` if the server adds a space."""
    rendered: str
    """The template's render, e.g. `"<|user|>Will it rain in Oslo?<|end|><|assistant|>"`."""
    served: str | None
    """The server's prompt, e.g. `"<|user|>Will it rain in Oslo? <|end|><|assistant|>"`; null if the
    server refuses."""
    refusal: str
    """Why the server refuses, e.g. `"500: tools param requires --jinja flag"`; else empty."""


class ProbedTextDocument(JsonDocument, frozen=True):
    """A text, and the server's reading of it."""

    title: str
    """The message that the text means, e.g. `"1 call"`."""
    text: str
    """The text, as the template renders the message, e.g. `"Here is what I found."`."""
    verdict: ReadVerdict
    """How the server reads it, e.g. `"exact"`."""
    refusal: str
    """Why the server refuses, in its words, e.g. `"500: no such thing"`; else empty."""
    differences: tuple[PartDifference, ...]
    r"""The parts that it reads differently, e.g. a content of `"\n\nHere it is."`."""
    streamed: bool
    """Whether the streamed answer was compared with the whole one, e.g. `true`."""
    stream_refusal: str
    """Why the stream failed, e.g. `"in the middle of the stream: …"`; else empty."""
    stream_differences: tuple[PartDifference, ...]
    """The parts in which the streamed answer differs from the whole one, e.g. `"content"`."""


class ProbeDocument(JsonDocument, frozen=True):
    """The results of a server's probe."""

    schema: Literal["autoparser.probe/1"]
    """The schema's name and version, `"autoparser.probe/1"`."""
    template: TemplateDocument
    """The template that the server should use, e.g. from `"Qwen/Qwen3-8B"`."""
    server: ServerDocument
    """The probed server, e.g. at `"http://127.0.0.1:8000"`."""
    ok: bool
    """Whether the server agrees with the template, e.g. `true` if only whitespace at the edges of
    parts differs."""
    prompts: tuple[ProbedPromptDocument, ...]
    """The compared prompts, e.g. of `"a question"`."""
    prompts_refused: tuple[str, ...]
    """Conversations that the template itself refuses, e.g. `["a call and its result"]`."""
    rung: TextRoute
    """The way in which texts reached the server's parser, e.g. `"given"`."""
    blind: tuple[str, ...]
    """Faults that this method cannot detect, e.g. `["the stream: …"]`."""
    texts: tuple[ProbedTextDocument, ...]
    """The texts and their readings, e.g. of `"1 call"`."""
    not_asked: tuple[NotAsked, ...]
    """Messages whose text the server did not read, e.g. `"2 calls"`, with the reason."""
    setting: dict[str, Json]
    """The variables of the template under which the texts were asked, e.g. `{"enable_thinking":
    true}`, `{}` for its defaults."""
    ranking: ParserRanking | None
    """The scores of the server's parsers, e.g. 15 texts read by `"qwen3"`; null if the server
    offers no choice of parsers."""
    template_served: bool | None
    """Whether the server uses this template, e.g. `true`; null if it does not report its text."""
    installed: InstalledParsers | None
    """The best of the engine's own parsers, e.g. `"hermes"`; null if it was not asked."""
    advice: tuple[ProbeAdvice, ...]
    """Ways out, e.g. the flags `"--tool-call-parser hermes"`; empty if there is nothing to do."""


def probe_document(probe: ServerProbe, template: ChatTemplate) -> dict[str, Json]:
    """Return everything as JSON values."""
    document = copy_fields(
        ProbeDocument,
        probe,
        schema="autoparser.probe/1",
        template=named_template(template),
        server=copy_fields(ServerDocument, probe.served, url=probe.url),
        ok=probe.ok(),
        prompts=convert(probe.prompts, tuple[ProbedPromptDocument, ...], from_attributes=True),
        texts=tuple(map(_text_document, probe.texts)),
        setting=dict(probe.setting),
        advice=probe_advice(probe),
    )
    return document_json(document)


def _text_document(text: ProbedText) -> ProbedTextDocument:
    known, streamed = text.known_text, text.streamed is not None
    return copy_fields(
        ProbedTextDocument, text, title=known.title, text=known.text, streamed=streamed
    )

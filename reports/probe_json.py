"""A probe of a server as JSON; ``docs/probe.schema.json`` is made of the classes here."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import AnyJson, Count, JsonDocument, json_of
from autoparser.analysis.core.provenance import TemplateDocument, named_template
from autoparser.analysis.decoding.answer_writers import ServerEngine
from autoparser.analysis.engines.engine_server import (
    PartDifference,
    PartLikeness,
    ReadPart,
    TextRoute,
)
from autoparser.analysis.engines.known_texts import ComparedPrompt
from autoparser.analysis.engines.probed_texts import (
    NotAsked,
    ParserRanking,
    ParserScore,
    ProbedText,
    ReadVerdict,
)
from autoparser.analysis.engines.server_probe import (
    AdviceKind,
    ProbeAdvice,
    ServerProbe,
    probe_advice,
)
from autoparser.analysis.templates.chat_template import ChatTemplate

__all__ = ["ProbeDocument", "probe_document"]

_Told = Annotated[AnyJson, Meta(description="The text, or the calls with their arguments.")]


class ServerDocument(JsonDocument, frozen=True):
    """The server, as it describes itself; null is what it does not say."""

    url: str
    engine: ServerEngine
    version: str | None
    model: str
    template_place: str | None
    """The directory, file or model that its template is taken from."""
    parsers_told: bool
    """Whether it says which parsers it was started with."""
    tool_parser: str | None
    reasoning_parser: str | None


class ProbedPromptDocument(JsonDocument, frozen=True):
    """A prompt, as the template renders it and as the server makes it."""

    title: str
    same: bool
    rendered: str
    served: str | None
    """Null where the server refuses."""
    refusal: str


class PartDifferenceDocument(JsonDocument, frozen=True):
    """A part of a message that is otherwise."""

    part: ReadPart
    likeness: PartLikeness
    meant: _Told
    came: _Told


class ProbedTextDocument(JsonDocument, frozen=True):
    """A text, and what the server makes of it."""

    title: str
    text: str
    verdict: ReadVerdict
    refusal: str
    differences: tuple[PartDifferenceDocument, ...]
    streamed: bool
    """Whether its stream was compared with the answer at once."""
    stream_refusal: str
    stream_differences: tuple[PartDifferenceDocument, ...]


class ParserScoreDocument(JsonDocument, frozen=True):
    """How many texts one parser reads as they are meant."""

    name: str
    exact: Count
    edges: Count
    """As they are meant but for whitespace at the edges of a part."""
    different: Count
    refused: Count


class RankingDocument(JsonDocument, frozen=True):
    """The parsers of a server, the best first."""

    reasoning: tuple[ParserScoreDocument, ...]
    calls: tuple[ParserScoreDocument, ...]
    unknown: tuple[str, ...]
    """Names that were asked for, and that the server refuses whatever the text."""


class NotAskedDocument(JsonDocument, frozen=True):
    """A message about whose text the server was not asked."""

    title: str
    reason: str


class AdviceDocument(JsonDocument, frozen=True):
    """A way out, and what to type."""

    kind: AdviceKind
    command: str


class ProbeDocument(JsonDocument, frozen=True):
    """All that was found out about a server."""

    schema: Literal["autoparser.probe/1"]
    template: TemplateDocument
    server: ServerDocument
    ok: bool
    """Whether all is as it is meant, whitespace at the edges of parts aside."""
    prompts: tuple[ProbedPromptDocument, ...]
    prompts_refused: tuple[str, ...]
    """Conversations that the template itself refuses."""
    rung: TextRoute
    """How the texts came before the server's parser."""
    blind: tuple[str, ...]
    """What cannot be seen so."""
    texts: tuple[ProbedTextDocument, ...]
    not_asked: tuple[NotAskedDocument, ...]
    ranking: RankingDocument | None
    """Null where the server offers no choice of parsers."""
    advice: tuple[AdviceDocument, ...]


def probe_document(probe: ServerProbe, template: ChatTemplate) -> dict[str, Json]:
    """Return everything as values that JSON can hold."""
    served = probe.served
    return json_of(
        ProbeDocument(
            schema="autoparser.probe/1",
            template=named_template(template),
            server=ServerDocument(
                probe.url,
                served.engine,
                served.version,
                served.model,
                served.template_place,
                served.parsers_told,
                served.tool_parser,
                served.reasoning_parser,
            ),
            ok=probe.ok(),
            prompts=tuple(map(_prompt, probe.prompts)),
            prompts_refused=probe.prompts_refused,
            rung=probe.rung,
            blind=probe.blind,
            texts=tuple(map(_text, probe.texts)),
            not_asked=tuple(map(_not_asked, probe.not_asked)),
            ranking=None if probe.ranking is None else _ranking(probe.ranking),
            advice=tuple(map(_advice, probe_advice(probe))),
        )
    )


def _prompt(prompt: ComparedPrompt) -> ProbedPromptDocument:
    return ProbedPromptDocument(
        prompt.title, prompt.same, prompt.rendered, prompt.served, prompt.refusal
    )


def _text(text: ProbedText) -> ProbedTextDocument:
    return ProbedTextDocument(
        title=text.known.title,
        text=text.known.text,
        verdict=text.verdict,
        refusal=text.refusal,
        differences=tuple(map(_difference, text.differences)),
        streamed=text.streamed is not None,
        stream_refusal=text.stream_refusal,
        stream_differences=tuple(map(_difference, text.stream_differences)),
    )


def _difference(found: PartDifference) -> PartDifferenceDocument:
    return PartDifferenceDocument(found.part, found.likeness, found.meant, found.came)


def _not_asked(missing: NotAsked) -> NotAskedDocument:
    return NotAskedDocument(missing.title, missing.reason)


def _ranking(ranking: ParserRanking) -> RankingDocument:
    return RankingDocument(
        tuple(map(_score, ranking.reasoning)), tuple(map(_score, ranking.calls)), ranking.unknown
    )


def _score(score: ParserScore) -> ParserScoreDocument:
    return ParserScoreDocument(score.name, score.exact, score.edges, score.different, score.refused)


def _advice(advice: ProbeAdvice) -> AdviceDocument:
    return AdviceDocument(advice.kind, advice.command)

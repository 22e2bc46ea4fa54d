"""A probe of a server: its prompts beside the template's, its readings beside what was meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json

from .client_message import (
    ReadPart,
    nearest,
)
from .engine_server import (
    EngineServer,
    Rung,
    ServedModel,
    TextNotAskedError,
    TextRefusedError,
    TextRung,
)
from .known_prompts import ComparedPrompt, compared_prompts
from .known_text import KnownText, ProbedChat
from .known_texts import KnownTexts, known_texts
from .parser_ranking import ParserRanking, ranking
from .probe_client import ProbeError
from .probed_text import NotAsked, ProbedText, ReadVerdict
from .sampled_answers import SAMPLED_BLIND, sampled_texts
from .sglang_server import SglangProbe

__all__ = ["ServerProbe", "probe_server"]


NO_TURN = "the template refuses it, or does not write it after its prompt"
_WRONG = (ReadVerdict.DIFFERENT, ReadVerdict.REFUSED)


@dataclass(frozen=True)
class ServerProbe:
    """All that was found out about a server."""

    url: str
    served: ServedModel
    prompts: tuple[ComparedPrompt, ...]
    prompts_refused: tuple[str, ...]
    """Conversations that the template itself refuses."""
    rung: Rung
    """How the texts came before the server's parser."""
    blind: tuple[str, ...]
    texts: tuple[ProbedText, ...]
    not_asked: tuple[NotAsked, ...]
    ranking: ParserRanking | None

    def texts_with(self, verdict: ReadVerdict) -> list[ProbedText]:
        """Return the texts of one verdict."""
        return [each for each in self.texts if each.verdict is verdict]

    @property
    def prompts_differ(self) -> bool:
        """Whether any prompt is otherwise, or refused."""
        return any(not each.same for each in self.prompts)

    @property
    def streams_differ(self) -> bool:
        """Whether any stream gives more than whitespace otherwise than the answer at once."""
        return any(each.stream_verdict in _WRONG for each in self.texts)

    def ok(self, *, edges: bool = False) -> bool:
        """Whether all is as it is meant; with `edges`, to the last whitespace. Nothing is no."""
        passed = {ReadVerdict.EXACT} if edges else {ReadVerdict.EXACT, ReadVerdict.EDGES}
        read = all(each.verdict in passed for each in self.texts)
        streamed = all(each.stream_verdict in {None, *passed} for each in self.texts)
        return bool(self.texts) and read and streamed and not self.prompts_differ


def probe_server(
    server: EngineServer,
    analysis: Analysis,
    *,
    url: str,
    settings: Mapping[str, Json] | None = None,
    rung: Rung | None = None,
    ranked: bool = True,
) -> ServerProbe:
    """Compare the prompts first, then have texts read whose meaning is known.

    `rung` takes one that is not the most certain; without any other, the model is asked what it
    likes to write. Raises ProbeError.
    """
    settings = settings or {}
    prompts, refused = compared_prompts(analysis, server, settings)
    known = known_texts(analysis, settings)
    reader = None if rung is Rung.SAMPLED else _reader(server, rung, url)
    if reader is None:
        blind: tuple[str, ...] = SAMPLED_BLIND
        used = Rung.SAMPLED
        texts, missing = sampled_texts(server, analysis, settings)
    else:
        blind, used = reader.blind, reader.rung
        texts, missing = _read_all(reader, known)
        missing = [*(NotAsked(each, NO_TURN) for each in known.not_asked), *missing]
    scores = None
    if ranked and isinstance(server, SglangProbe) and used is Rung.GIVEN:
        scores = ranking(server, known.texts, known.chat.tools)
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
    )


def _read_all(reader: TextRung, known: KnownTexts) -> tuple[tuple[ProbedText, ...], list[NotAsked]]:
    texts: list[ProbedText] = []
    missing: list[NotAsked] = []
    for each in known.texts:
        try:
            texts.append(_read(reader, known.chat, each))
        except TextNotAskedError as error:
            missing.append(NotAsked(each.title, str(error)))
    return tuple(texts), missing


def _reader(server: EngineServer, wanted: Rung | None, url: str) -> TextRung | None:
    rungs: Sequence[TextRung] = server.rungs()
    if wanted is None:
        return next(iter(rungs), None)
    found = next((each for each in rungs if each.rung is wanted), None)
    if found is None:
        offered = ", ".join([*(each.rung for each in rungs), Rung.SAMPLED])
        raise ProbeError(
            f"offers no way to have a text {wanted}", file=url, hint=f"it offers {offered}"
        )
    return found


def _read(reader: TextRung, chat: ProbedChat, known: KnownText) -> ProbedText:
    try:
        came = reader.read(chat, known)
    except TextRefusedError as error:
        return ProbedText(known, None, str(error))
    parts = [each for each in ReadPart if reader.sees_reasoning or each is not ReadPart.REASONING]
    seen = nearest(known.meanings, came, parts)
    if not reader.streams:
        return ProbedText(known, came, differences=seen)
    try:
        streamed = reader.streamed(chat, known)
    except TextRefusedError as error:
        return ProbedText(known, came, "", seen, None, str(error))
    return ProbedText(known, came, "", seen, streamed)

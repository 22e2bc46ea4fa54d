"""What may be done about a server that does not read as the template writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from autoparser.analysis.constraining.decode import ServerEngine

from .probed_text import ReadVerdict
from .server_probe import ServerProbe

__all__ = ["AdviceKind", "ProbeAdvice", "probe_advice"]


class AdviceKind(StrEnum):
    """A way out."""

    TEMPLATE = "template"
    """Serve the template that was probed, or probe the one that is served."""
    PARSERS = "parsers"
    """Other parsers of the same server read more of the texts."""
    PLUGIN = "plugin"
    """This package's parser inside the engine."""
    EXPORT = "export"
    """A response template, which the engine's own parser reads."""
    SERVE = "serve"
    """This package's endpoint in front of the server."""


@dataclass(frozen=True, slots=True)
class ProbeAdvice:
    """One way out, and what to type."""

    kind: AdviceKind
    command: str


PLUGIN = "--tool-call-parser autoparser --reasoning-parser autoparser"


def probe_advice(probe: ServerProbe) -> tuple[ProbeAdvice, ...]:
    """Return the ways out of what a probe has found; none where all is read as it is meant."""
    return tuple(_advice(probe))


def _advice(probe: ServerProbe) -> Iterator[ProbeAdvice]:
    if probe.prompts_differ:
        yield ProbeAdvice(AdviceKind.TEMPLATE, "--chat-template TEMPLATE")
    read = all(each.verdict in (ReadVerdict.EXACT, ReadVerdict.EDGES) for each in probe.texts)
    if read and not probe.streams_differ:
        return
    better = _better(probe)
    if better:
        yield ProbeAdvice(AdviceKind.PARSERS, better)
    engine = probe.served.engine
    if engine is ServerEngine.LLAMA_SERVER:
        command = f"autoparser serve TEMPLATE --server {probe.url} --engine {engine}"
        yield ProbeAdvice(AdviceKind.SERVE, command)
        return
    yield ProbeAdvice(AdviceKind.PLUGIN, PLUGIN)
    yield ProbeAdvice(AdviceKind.EXPORT, "autoparser export TEMPLATE")


def _better(probe: ServerProbe) -> str:
    """Return the flags of parsers that are better than those of the server; none: empty."""
    ranked, served = probe.ranking, probe.served
    if ranked is None:
        return ""
    pairs = (
        ("--reasoning-parser", ranked.reasoning, served.reasoning_parser),
        ("--tool-call-parser", ranked.calls, served.tool_parser),
    )
    flags: list[str] = []
    for flag, scores, configured in pairs:
        now = next((each.right for each in scores if each.name == configured), 0)
        if scores and scores[0].right > now:
            flags.append(f"{flag} {scores[0].name}")
    return " ".join(flags)

"""Count and log outputs of a server that are not in its format.

    OutputWatch.note(message)  ->  a counter for each kind, and one line in the log for a kind

An agent notices neither: calls in another format reach it as text, and arguments that break their
schema as a call. No line has a word of an output, since outputs are the users'.

For example, of a template that writes `<call>JSON</call>`, with a tool `f` whose `n` is an integer:

    <call>{"name": "f", "arguments": {"n": "two"}}</call>         ->  schema_errors 1
    <tool_call>{"name": "f", "arguments": {"n": 2}}</tool_call>   ->  foreign 1
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from functools import cache
from typing import Any

from autoparser.analysis.core.error_words import escape_text
from autoparser.analysis.core.schema_validation import (
    SchemaBreach,
    schema_breaches,
)
from autoparser.analysis.parsing.parsed_message import ParsedCall, ParsedMessage

_LOG = logging.getLogger("autoparser")

KEEPS_LOOKING = 3
"""Outputs in another format after which there is a line: a model may write one by accident."""
_MOST_LOGGED = 256
"""Most lines about schemas in a process; there may be any number of tools."""


class OutputWatch:
    """Counts the outputs of one process; the metrics are Prometheus' where that is installed."""

    def __init__(self, registry: object | None = None) -> None:
        """Start at zero; `registry` holds the metrics, by default the global one."""
        self.foreign = 0
        """Outputs that call a tool in another format."""
        self.schema_errors = 0
        """Calls whose arguments break the schema of their tool."""
        self._calls = 0
        self._logged: set[tuple[str, str]] = set()
        self._count_foreign = _counter(
            "autoparser_foreign_outputs",
            "Outputs that call a tool in another format than the template's.",
            registry,
        )
        self._count_schema_errors = _counter(
            "autoparser_schema_errors",
            "Calls whose arguments break the schema of their tool.",
            registry,
        )

    def note(self, message: ParsedMessage) -> None:
        """Count a whole message."""
        self._calls += len(message.tool_calls)
        if message.leaves_call:
            self.foreign += 1
            self._count_foreign()
            # `==`, so that the warning is logged once; the counter shows all later ones.
            if self.foreign == KEEPS_LOOKING:
                _LOG.warning(
                    "%d outputs call tools in another format than the chat template's, and %d calls"
                    " were parsed: check that the template is the model's",
                    self.foreign,
                    self._calls,
                )
        for call in message.tool_calls:
            breaches = _breaches(call)
            if breaches:
                self.schema_errors += 1
                self._count_schema_errors()
                self._log_breach(call.name, breaches[0])

    def _log_breach(self, name: str, breach: SchemaBreach) -> None:
        """Log a keyword of a tool's schema that arguments break, once for each."""
        # A client that sends a new schema with each request would otherwise fill the log.
        if (name, breach.keyword) in self._logged or len(self._logged) >= _MOST_LOGGED:
            return
        self._logged.add((name, breach.keyword))
        words = escape_text(f"{name} at {breach.keyword or 'its root'}")
        _LOG.warning("arguments of a call break the schema of %s; the call is passed on", words)


def _breaches(call: ParsedCall) -> tuple[SchemaBreach, ...]:
    """Return the schema violations of a call, within bounds: the schema is a client's."""
    if call.schema is None:
        return ()
    try:
        return schema_breaches(call.schema, json.loads(call.arguments), trusted=False)
    except (ValueError, RecursionError):
        return ()


def _counter(name: str, words: str, registry: object | None) -> Callable[[], Any]:
    """Return a function that increments a counter, a metric if Prometheus is installed."""
    try:
        from prometheus_client import REGISTRY, Counter  # noqa: PLC0415 - engines may have none
    except ImportError:
        return lambda: None
    metrics: Any = REGISTRY if registry is None else registry
    return Counter(name, words, registry=metrics).inc


@cache
def process_watch() -> OutputWatch:
    """Return the watch of this process, which the plugins of engines share."""
    return OutputWatch()

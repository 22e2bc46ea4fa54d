"""What the chat endpoint counts, in the words of Prometheus. No count holds what a user said."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

METRICS_TYPE = CONTENT_TYPE_LATEST


class ServeMetrics:
    """The counts of one application."""

    def __init__(self) -> None:
        """Begin at zero."""
        self._registry = CollectorRegistry()
        self._chats = Counter(
            "autoparser_chats", "Chats answered, by status.", ["status"], registry=self._registry
        )
        self._gone = Counter("autoparser_hangups", "Clients that hung up.", registry=self._registry)
        self._tokens = Counter(
            "autoparser_tokens", "Tokens, as the backend counts.", ["of"], registry=self._registry
        )
        self.running = Gauge(
            "autoparser_running", "Chats that are being answered.", registry=self._registry
        )
        self.preparing = Histogram(
            "autoparser_preparing_seconds",
            "Time to render, and to make the grammar and the parser.",
            registry=self._registry,
        )

    def answered(self, status: int, prompt: int, cached: int, written: int) -> None:
        """Count a chat, and its tokens."""
        self._chats.labels(str(status)).inc()
        counts = {"prompt": prompt, "cached": cached, "completion": written}
        for name, count in counts.items():
            self._tokens.labels(name).inc(count)

    def gone(self) -> None:
        """Count a client that hung up."""
        self._gone.inc()

    def text(self) -> bytes:
        """Return all counts as Prometheus reads them."""
        return generate_latest(self._registry)

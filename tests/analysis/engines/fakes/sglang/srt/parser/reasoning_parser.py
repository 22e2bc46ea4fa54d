from __future__ import annotations

from typing import Any

from tests.analysis.engines.tag_reading import thoughts


class ReasoningParser:
    DetectorMap = {"tags": None, "greedy": None}  # noqa: RUF012

    def __init__(self, model_type: str, *_: Any, **__: Any) -> None:
        self.detector = None
        self._greedy = model_type == "greedy"
        self._held = ""

    def parse_non_stream(self, text: str) -> tuple[str, str]:
        return (text, "") if self._greedy else thoughts(text)

    def parse_stream_chunk(self, text: str) -> tuple[str, str]:
        self._held += text
        return "", ""

    def parse_stream_end(self) -> tuple[str, str]:
        return self.parse_non_stream(self._held)

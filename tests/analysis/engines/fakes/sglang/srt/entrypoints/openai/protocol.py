from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class Tool(SimpleNamespace):
    @classmethod
    def model_validate(cls, given: dict[str, Any]) -> Tool:
        return cls(**given)


class ChatCompletionRequest(SimpleNamespace):
    pass

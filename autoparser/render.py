"""Prompts as token ids: their owners, bridges to the next turn, training samples.

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy_names import lazy_imports

if TYPE_CHECKING:
    from autoparser.analysis.history.bridge_refusals import (
        BridgeRefusal as BridgeRefusal,
        RefusalReason as RefusalReason,
    )
    from autoparser.analysis.history.rendered_tokens import RenderedTokens as RenderedTokens
    from autoparser.analysis.history.turn_response import (
        CallTokens as CallTokens,
        TrainingSample as TrainingSample,
        TrajectoryStep as TrajectoryStep,
    )
else:
    __getattr__, __dir__ = lazy_imports(__name__)

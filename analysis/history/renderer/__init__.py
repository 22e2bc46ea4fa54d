"""Rendering to token ids, reading ids back, and going on from them without rendering again."""

from .attribution import Attributed, Segment
from .prompt_tokens import RenderedTokens
from .renderer import Renderer
from .retention import BridgeRefusal, Reason, Retention
from .token_stops import TurnStop, TurnStops
from .training import TrainingTemplate, training_template
from .training_proof import MismarkedTurn, Proof, TrainingTemplateError

__all__ = [
    "Attributed",
    "BridgeRefusal",
    "MismarkedTurn",
    "Proof",
    "Reason",
    "RenderedTokens",
    "Renderer",
    "Retention",
    "Segment",
    "TrainingTemplate",
    "TrainingTemplateError",
    "TurnStop",
    "TurnStops",
    "training_template",
]

"""Rendering to token ids, reading ids back, and going on from them without rendering again."""

from .attribution import Attributed, Segment
from .prompt_tokens import RenderedTokens
from .renderer import Renderer
from .retention import BridgeRefusal, Reason, Retention
from .token_stops import TurnStop, TurnStops
from .training import Proof, TrainingTemplate, TrainingTemplateError, training_template

__all__ = [
    "Attributed",
    "BridgeRefusal",
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

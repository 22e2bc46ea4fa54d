"""Rendering to token ids, reading ids back, and going on from them without rendering again."""

from .async_renderer import AsyncRenderer
from .attribution import Attributed, Segment
from .prompt_tokens import MediaTokens, RenderedTokens
from .renderer import Renderer
from .retention import BridgeRefusal, Reason, Retention
from .token_stops import TurnStop, TurnStops
from .training import TrainingTemplate, training_template
from .training_proof import MismarkedTurn, Proof, TrainingTemplateError
from .training_sample import CallTokens, TrainingSample, TrajectoryStep

__all__ = [
    "AsyncRenderer",
    "Attributed",
    "BridgeRefusal",
    "CallTokens",
    "MediaTokens",
    "MismarkedTurn",
    "Proof",
    "Reason",
    "RenderedTokens",
    "Renderer",
    "Retention",
    "Segment",
    "TrainingSample",
    "TrainingTemplate",
    "TrainingTemplateError",
    "TrajectoryStep",
    "TurnStop",
    "TurnStops",
    "training_template",
]

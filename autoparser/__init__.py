"""A debugger for chat templates.

The public API: the names that `__init__.pyi` imports, and those of its modules `errors`, `formats`,
`grammar`, `lint`, `parsing`, `render` and `roundtrip`. Each is imported when it is first used, so
that a program which needs one does not wait for all.

    >>> from autoparser import analyze
    >>> analysis = analyze("org/model", isolate=True)  # a stranger's: in a worker, under limits
    >>> analysis.markers.reasoning_start
    '<think>'
"""

from __future__ import annotations

from typing import cast

from .lazy_names import import_part, stub_names
from .shown import Presenter, present_by

__version__ = "0.1.0"


def _presenter() -> Presenter:
    return cast("Presenter", import_part("autoparser.reports.presented").presented)


present_by(_presenter)

_MOVED = {
    "errors": (
        "GrammarError Limit=LimitKind RefusedMessageError RequestError ScenarioError "
        "TaskLimitError TemplateLimitError TemplateNeededError TemplateNotFoundError "
        "TemplateReadError TemplateRenderError TemplateSyntaxError TemplateUnusableError "
        "WorkerDiedError"
    ),
    "formats": (
        "Begun=PromptFormat Check document=analysis_document Evidence Export Failure Finding "
        "Formats Gate GateFault given_examples given_outputs MarkerRegistry Presence Provenance "
        "SCHEMA=ANALYSIS_SCHEMA Switch View=FormatView"
    ),
    "grammar": "Constraint GrammarBackend ReasoningGate",
    "parsing": "CallIds ReasoningEnd ReasoningState RequestOptions",
    "render": (
        "BridgeRefusal CallTokens Reason=RefusalReason RenderedTokens TrainingSample TrajectoryStep"
    ),
    "roundtrip": (
        "Advice advice_of Cause Difference Outcome Row=TripRow Scenario scenarios_of "
        "shipped_scenarios TokenVerdict Verdict"
    ),
}
"""Names that were here until 0.1 and that a module has now, some by a new name after the sign of
equality. They go with 0.2."""

__getattr__, __dir__ = stub_names(__name__, _MOVED)

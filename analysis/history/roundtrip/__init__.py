"""Round trips: does what the model wrote come back token for token in the next prompt."""

from .advice import (
    Advice,
    AdviceReader,
    advice_of,
    cause_advice,
    changed,
    fixing,
    fixing_settings,
)
from .cause import Cause
from .fault import Culprit
from .profiles import PROFILES, EngineProfile, engine_decides, played_by
from .round_trips import RoundTrip, Row, code_of, failing, round_trip, settings_of
from .scenario import (
    Answers,
    ArgumentsAs,
    BesideCalls,
    EngineHabits,
    Ids,
    MessagesAs,
    Next,
    Scenario,
    UnreadCalls,
)
from .scenario_files import ScenarioError, scenarios_of, shipped_scenarios
from .token_level import TokenVerdict
from .traffic import CausedLosses, PrefixLoss, Traffic, TrafficRecord, prefix_losses
from .traffic_log import TrafficLog, TrafficLogError, traffic_of
from .variations import VARIATIONS
from .verdict import Difference, Outcome, Verdict

__all__ = [
    "PROFILES",
    "VARIATIONS",
    "Advice",
    "AdviceReader",
    "Answers",
    "ArgumentsAs",
    "BesideCalls",
    "Cause",
    "CausedLosses",
    "Culprit",
    "Difference",
    "EngineHabits",
    "EngineProfile",
    "Ids",
    "MessagesAs",
    "Next",
    "Outcome",
    "PrefixLoss",
    "RoundTrip",
    "Row",
    "Scenario",
    "ScenarioError",
    "TokenVerdict",
    "Traffic",
    "TrafficLog",
    "TrafficLogError",
    "TrafficRecord",
    "UnreadCalls",
    "Verdict",
    "advice_of",
    "cause_advice",
    "changed",
    "code_of",
    "engine_decides",
    "failing",
    "fixing",
    "fixing_settings",
    "played_by",
    "prefix_losses",
    "round_trip",
    "scenarios_of",
    "settings_of",
    "shipped_scenarios",
    "traffic_of",
]

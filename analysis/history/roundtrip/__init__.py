"""Round trips: does what the model wrote come back token for token in the next prompt."""

from .advice import Advice, Reader, advice_of, changed, mending
from .cause import Cause
from .fault import Fault
from .loading import ScenarioError, scenarios_of, shipped_scenarios
from .profiles import PROFILES, EngineProfile
from .run import RoundTrip, Row, code_of, failing, round_trip, settings_of
from .scenario import Answers, ArgumentsAs, BesideCalls, Engine, Ids, Kept, Next, Scenario
from .tokens import TokenVerdict
from .variations import VARIATIONS
from .verdict import Difference, Outcome, Verdict

__all__ = [
    "PROFILES",
    "VARIATIONS",
    "Advice",
    "Answers",
    "ArgumentsAs",
    "BesideCalls",
    "Cause",
    "Difference",
    "Engine",
    "EngineProfile",
    "Fault",
    "Ids",
    "Kept",
    "Next",
    "Outcome",
    "Reader",
    "RoundTrip",
    "Row",
    "Scenario",
    "ScenarioError",
    "TokenVerdict",
    "Verdict",
    "advice_of",
    "changed",
    "code_of",
    "failing",
    "mending",
    "round_trip",
    "scenarios_of",
    "settings_of",
    "shipped_scenarios",
]

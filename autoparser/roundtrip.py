"""Round trips: the scenarios that are played, and the verdict on each turn.

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy_names import lazy_imports

if TYPE_CHECKING:
    from autoparser.analysis.history.round_trips import (
        Advice as Advice,
        TripRow as TripRow,
        advice_of as advice_of,
    )
    from autoparser.analysis.history.scenario_files import (
        scenarios_of as scenarios_of,
        shipped_scenarios as shipped_scenarios,
    )
    from autoparser.analysis.history.scenarios import Scenario as Scenario
    from autoparser.analysis.history.trip_causes import Cause as Cause
    from autoparser.analysis.history.trip_verdict import (
        Difference as Difference,
        Outcome as Outcome,
        TokenVerdict as TokenVerdict,
        Verdict as Verdict,
    )
else:
    __getattr__, __dir__ = lazy_imports(__name__)

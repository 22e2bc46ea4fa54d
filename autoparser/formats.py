"""The parts of an analysis: formats, markers, switches, verdicts, and evidence.

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy_names import lazy_imports

if TYPE_CHECKING:
    from autoparser.analysis.analysis import analysis_document as analysis_document
    from autoparser.analysis.core.conversation import Presence as Presence
    from autoparser.analysis.core.format_choice import (
        Formats as Formats,
        PromptFormat as PromptFormat,
    )
    from autoparser.analysis.core.provenance import Provenance as Provenance
    from autoparser.analysis.core.switches import Switch as Switch
    from autoparser.analysis.core.verdicts import (
        Check as Check,
        Failure as Failure,
        Gate as Gate,
        GateFault as GateFault,
    )
    from autoparser.analysis.export.export_limits import Export as Export
    from autoparser.analysis.formats.analysis_document import ANALYSIS_SCHEMA as ANALYSIS_SCHEMA
    from autoparser.analysis.formats.format_view import (
        FormatView as FormatView,
        MarkerRegistry as MarkerRegistry,
    )
    from autoparser.analysis.learning.examples import given_examples as given_examples
    from autoparser.analysis.learning.outputs import given_outputs as given_outputs
    from autoparser.analysis.learning.prober import Evidence as Evidence, Finding as Finding
else:
    __getattr__, __dir__ = lazy_imports(__name__)

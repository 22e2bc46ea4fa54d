from autoparser.analysis.analysis import (
    document as document,
)
from autoparser.analysis.core.conversation import (
    Presence as Presence,
)
from autoparser.analysis.core.provenance import (
    Provenance as Provenance,
)
from autoparser.analysis.core.switches import (
    Switch as Switch,
)
from autoparser.analysis.core.turn_format import (
    Begun as Begun,
    Formats as Formats,
)
from autoparser.analysis.core.verdicts import (
    Check as Check,
    Failure as Failure,
    Gate as Gate,
    GateFault as GateFault,
)
from autoparser.analysis.export.export_limits import (
    Export as Export,
)
from autoparser.analysis.formats.analysis_document import (
    SCHEMA as SCHEMA,
)
from autoparser.analysis.formats.format_view import (
    MarkerRegistry as MarkerRegistry,
    View as View,
)
from autoparser.analysis.learning.examples import (
    given_examples as given_examples,
)
from autoparser.analysis.learning.outputs import (
    given_outputs as given_outputs,
)
from autoparser.analysis.learning.prober import (
    Evidence as Evidence,
    Finding as Finding,
)

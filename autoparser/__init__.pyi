from autoparser.analysis.analysis import Analysis as Analysis, analyze as analyze
from autoparser.analysis.constraining.constrained import (
    Constraint as Constraint,
    GrammarBackend as GrammarBackend,
    ReasoningGate as ReasoningGate,
)
from autoparser.analysis.constraining.grammar import (
    Grammar as Grammar,
    GrammarError as GrammarError,
)
from autoparser.analysis.core.conversation import (
    Json as Json,
    Message as Message,
    Presence as Presence,
    ToolCall as ToolCall,
)
from autoparser.analysis.core.errors import (
    AutoparserError as AutoparserError,
    Limit as Limit,
    TaskLimitError as TaskLimitError,
    TemplateLimitError as TemplateLimitError,
    TemplateNeededError as TemplateNeededError,
    TemplateNotFoundError as TemplateNotFoundError,
    TemplateReadError as TemplateReadError,
    TemplateRenderError as TemplateRenderError,
    TemplateSyntaxError as TemplateSyntaxError,
    TemplateUnusableError as TemplateUnusableError,
    WorkerDiedError as WorkerDiedError,
)
from autoparser.analysis.core.format import (
    Begun as Begun,
    Formats as Formats,
    RefusedMessageError as RefusedMessageError,
    TurnFormat as TurnFormat,
)
from autoparser.analysis.core.provenance import Provenance as Provenance
from autoparser.analysis.core.switches import Switch as Switch
from autoparser.analysis.core.verdicts import (
    Check as Check,
    Failure as Failure,
    Gate as Gate,
    GateFault as GateFault,
)
from autoparser.analysis.describing.document import SCHEMA as SCHEMA, document as document
from autoparser.analysis.describing.export import (
    Export as Export,
    response_template as response_template,
)
from autoparser.analysis.describing.view import MarkerRegistry as MarkerRegistry, View as View
from autoparser.analysis.from_examples import TaughtFormat as TaughtFormat, learn as learn
from autoparser.analysis.from_outputs import (
    InferredFormat as InferredFormat,
    learn_outputs as learn_outputs,
)
from autoparser.analysis.history.renderer import (
    AsyncRenderer as AsyncRenderer,
    BridgeRefusal as BridgeRefusal,
    CallTokens as CallTokens,
    Reason as Reason,
    RenderedTokens as RenderedTokens,
    Renderer as Renderer,
    TrainingSample as TrainingSample,
    TrajectoryStep as TrajectoryStep,
    training_template as training_template,
)
from autoparser.analysis.history.roundtrip import (
    Advice as Advice,
    Cause as Cause,
    Difference as Difference,
    Outcome as Outcome,
    RoundTrip as RoundTrip,
    Row as Row,
    Scenario as Scenario,
    ScenarioError as ScenarioError,
    TokenVerdict as TokenVerdict,
    Verdict as Verdict,
    advice_of as advice_of,
    round_trip as round_trip,
    scenarios_of as scenarios_of,
    shipped_scenarios as shipped_scenarios,
)
from autoparser.analysis.inference.examples import (
    Example as Example,
    given_examples as given_examples,
)
from autoparser.analysis.inference.outputs import (
    LoggedOutput as LoggedOutput,
    given_outputs as given_outputs,
)
from autoparser.analysis.inference.phases import Evidence as Evidence, Finding as Finding
from autoparser.analysis.learnt import (
    LearntFormat as LearntFormat,
    SavedFormat as SavedFormat,
    load_format as load_format,
)
from autoparser.analysis.loading.encoders import load_encoder as load_encoder
from autoparser.analysis.loading.fetching import fetch as fetch
from autoparser.analysis.loading.isolation import (
    Limits as Limits,
    TaskOutcome as TaskOutcome,
    WorkerPool as WorkerPool,
)
from autoparser.analysis.loading.sources import load_template as load_template
from autoparser.analysis.loading.template import ChatTemplate as ChatTemplate, isolated as isolated
from autoparser.analysis.loading.tokens import load_tokenizer as load_tokenizer
from autoparser.analysis.reading.expression import (
    RequestError as RequestError,
    RequestOptions as RequestOptions,
)
from autoparser.analysis.reading.parsing import (
    CallIds as CallIds,
    Delta as Delta,
    OutputParser as OutputParser,
    ParsedCall as ParsedCall,
    ParsedMessage as ParsedMessage,
    Span as Span,
    SpanKind as SpanKind,
    Status as Status,
    StreamParser as StreamParser,
)
from autoparser.analysis.reading.parsing.reasoning_end import (
    ReasoningEnd as ReasoningEnd,
    ReasoningState as ReasoningState,
)

__version__: str

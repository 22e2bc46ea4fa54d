from autoparser.analysis.analysis import (
    Analysis as Analysis,
    analyze as analyze,
    document as document,
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
from autoparser.analysis.core.provenance import Provenance as Provenance
from autoparser.analysis.core.switches import Switch as Switch
from autoparser.analysis.core.turn_format import (
    Begun as Begun,
    Formats as Formats,
    RefusedMessageError as RefusedMessageError,
    TurnFormat as TurnFormat,
)
from autoparser.analysis.core.verdicts import (
    Check as Check,
    Failure as Failure,
    Gate as Gate,
    GateFault as GateFault,
)
from autoparser.analysis.decoding.constraints import Constraint as Constraint
from autoparser.analysis.decoding.grammar_backend import GrammarBackend as GrammarBackend
from autoparser.analysis.decoding.matcher_grammar import ReasoningGate as ReasoningGate
from autoparser.analysis.export.export_limits import Export as Export
from autoparser.analysis.export.response_template import response_template as response_template
from autoparser.analysis.formats.analysis_document import SCHEMA as SCHEMA
from autoparser.analysis.formats.format_view import MarkerRegistry as MarkerRegistry, View as View
from autoparser.analysis.formats.learned_format import LearnedFormat as LearnedFormat
from autoparser.analysis.formats.saved_format import (
    SavedFormat as SavedFormat,
    load_format as load_format,
)
from autoparser.analysis.grammar.call_writer import GrammarError as GrammarError
from autoparser.analysis.grammar.request_grammar import Grammar as Grammar
from autoparser.analysis.history.history_renders import (
    BridgeRefusal as BridgeRefusal,
    Reason as Reason,
)
from autoparser.analysis.history.prompt_tokens import RenderedTokens as RenderedTokens
from autoparser.analysis.history.renderer import (
    AsyncRenderer as AsyncRenderer,
    Renderer as Renderer,
)
from autoparser.analysis.history.round_trips import (
    Advice as Advice,
    RoundTrip as RoundTrip,
    Row as Row,
    advice_of as advice_of,
    round_trip as round_trip,
)
from autoparser.analysis.history.scenario_files import (
    ScenarioError as ScenarioError,
    scenarios_of as scenarios_of,
    shipped_scenarios as shipped_scenarios,
)
from autoparser.analysis.history.scenarios import Scenario as Scenario
from autoparser.analysis.history.training_template import training_template as training_template
from autoparser.analysis.history.trip_causes import Cause as Cause
from autoparser.analysis.history.trip_verdict import (
    Difference as Difference,
    Outcome as Outcome,
    TokenVerdict as TokenVerdict,
    Verdict as Verdict,
)
from autoparser.analysis.history.turn_response import (
    CallTokens as CallTokens,
    TrainingSample as TrainingSample,
    TrajectoryStep as TrajectoryStep,
)
from autoparser.analysis.learning.examples import (
    Example as Example,
    given_examples as given_examples,
)
from autoparser.analysis.learning.outputs import (
    LoggedOutput as LoggedOutput,
    given_outputs as given_outputs,
)
from autoparser.analysis.learning.prober import Evidence as Evidence, Finding as Finding
from autoparser.analysis.parsing.marker_tokens import (
    ReasoningEnd as ReasoningEnd,
    ReasoningState as ReasoningState,
)
from autoparser.analysis.parsing.message_collector import CallIds as CallIds
from autoparser.analysis.parsing.output_parser import (
    OutputParser as OutputParser,
    StreamParser as StreamParser,
)
from autoparser.analysis.parsing.parsed_message import (
    Delta as Delta,
    ParsedCall as ParsedCall,
    ParsedMessage as ParsedMessage,
    Status as Status,
)
from autoparser.analysis.parsing.text_tape import Span as Span, SpanKind as SpanKind
from autoparser.analysis.parsing.turn_request import (
    RequestError as RequestError,
    RequestOptions as RequestOptions,
)
from autoparser.analysis.sources.encoders import load_encoder as load_encoder
from autoparser.analysis.sources.template_loading import (
    fetch as fetch,
    load_template as load_template,
)
from autoparser.analysis.sources.tokenizer_loading import load_tokenizer as load_tokenizer
from autoparser.analysis.teaching.example_learning import (
    TaughtFormat as TaughtFormat,
    learn as learn,
)
from autoparser.analysis.teaching.output_learning import (
    InferredFormat as InferredFormat,
    learn_outputs as learn_outputs,
)
from autoparser.analysis.templates.chat_template import ChatTemplate as ChatTemplate
from autoparser.analysis.templates.encoded_template import isolated as isolated
from autoparser.analysis.templates.worker_limits import Limits as Limits
from autoparser.analysis.templates.worker_pool import (
    TaskOutcome as TaskOutcome,
    WorkerPool as WorkerPool,
)

__version__: str

from autoparser.analysis.analysis import (
    Analysis as Analysis,
    analyze as analyze,
)
from autoparser.analysis.core.conversation import (
    Json as Json,
    Message as Message,
    ToolCall as ToolCall,
)
from autoparser.analysis.core.errors import (
    AutoparserError as AutoparserError,
)
from autoparser.analysis.core.turn_format import (
    TurnFormat as TurnFormat,
)
from autoparser.analysis.export.response_template import (
    response_template as response_template,
)
from autoparser.analysis.formats.learned_format import (
    LearnedFormat as LearnedFormat,
)
from autoparser.analysis.formats.saved_format import (
    SavedFormat as SavedFormat,
    load_format as load_format,
)
from autoparser.analysis.grammar.request_grammar import (
    Grammar as Grammar,
)
from autoparser.analysis.history.renderer import (
    AsyncRenderer as AsyncRenderer,
    Renderer as Renderer,
)
from autoparser.analysis.history.round_trips import (
    RoundTrip as RoundTrip,
    round_trip as round_trip,
)
from autoparser.analysis.history.training_template import (
    training_template as training_template,
)
from autoparser.analysis.learning.examples import (
    Example as Example,
)
from autoparser.analysis.learning.outputs import (
    LoggedOutput as LoggedOutput,
)
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
from autoparser.analysis.parsing.text_tape import (
    Span as Span,
    SpanKind as SpanKind,
)
from autoparser.analysis.sources.encoders import (
    load_encoder as load_encoder,
)
from autoparser.analysis.sources.template_loading import (
    fetch as fetch,
    load_template as load_template,
)
from autoparser.analysis.sources.token_bytes import (
    OpaqueTokens as OpaqueTokens,
)
from autoparser.analysis.sources.tokenizer_loading import (
    load_tokenizer as load_tokenizer,
)
from autoparser.analysis.teaching.example_learning import (
    TaughtFormat as TaughtFormat,
    learn as learn,
)
from autoparser.analysis.teaching.output_learning import (
    InferredFormat as InferredFormat,
    learn_outputs as learn_outputs,
)
from autoparser.analysis.templates.chat_template import (
    ChatTemplate as ChatTemplate,
)
from autoparser.analysis.templates.encoded_template import (
    isolated as isolated,
)
from autoparser.analysis.templates.worker_limits import (
    Limits as Limits,
)
from autoparser.analysis.templates.worker_pool import (
    TaskOutcome as TaskOutcome,
    WorkerPool as WorkerPool,
)

from . import (
    errors as errors,
    formats as formats,
    grammar as grammar,
    lint as lint,
    parsing as parsing,
    render as render,
    roundtrip as roundtrip,
)

__version__: str

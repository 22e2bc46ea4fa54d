from autoparser.analysis.formats.output_explanation import (
    DeviationExplanation as DeviationExplanation,
    OutputReading as OutputReading,
    explain_output as explain_output,
)
from autoparser.analysis.parsing.marker_tokens import (
    ReasoningEnd as ReasoningEnd,
    ReasoningState as ReasoningState,
)
from autoparser.analysis.parsing.message_collector import (
    CallIds as CallIds,
)
from autoparser.analysis.parsing.turn_request import (
    ParserOptions as ParserOptions,
    RequestOptions as RequestOptions,
)
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of as tokenizer_of

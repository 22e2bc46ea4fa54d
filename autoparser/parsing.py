"""Details of parsing: call ids, options of a request, where reasoning ends.

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy_names import lazy_imports

if TYPE_CHECKING:
    from autoparser.analysis.formats.output_explanation import (
        DeviationExplanation as DeviationExplanation,
        OutputReading as OutputReading,
        explain_output as explain_output,
    )
    from autoparser.analysis.parsing.marker_tokens import (
        ReasoningEnd as ReasoningEnd,
        ReasoningState as ReasoningState,
    )
    from autoparser.analysis.parsing.message_collector import CallIds as CallIds
    from autoparser.analysis.parsing.turn_request import (
        ParserOptions as ParserOptions,
        RequestOptions as RequestOptions,
    )
    from autoparser.analysis.sources.tokenizer_loading import tokenizer_of as tokenizer_of
else:
    __getattr__, __dir__ = lazy_imports(__name__)

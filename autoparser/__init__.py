"""A debugger for chat templates.

The public API: the names that are imported below, and those of the modules `errors`, `formats`,
`grammar`, `lint`, `parsing`, `render` and `roundtrip`. Each is imported when it is first used, so
that a program which needs one does not wait for all.

    >>> from autoparser import analyze
    >>> analysis = analyze("fixtures/templates/j1-json-in-tags.jinja", isolate=True)  # in a worker
    >>> analysis.markers.reasoning_start
    '<think>'
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, cast

from .lazy_names import lazy_imports
from .shown import Presenter, present_by

__version__ = "0.1.0"

_FOLDER = Path(__file__).parent


class _NeighborFinder:
    """Finds the packages of a checkout that lie beside this folder.

    With their parent folder in `__path__`, `autoparser.setup` would be a module, too.
    """

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        if name not in {f"{__name__}.{package}" for package in ("analysis", "cli", "reports")}:
            return None
        folder = _FOLDER.parent / name.rpartition(".")[2]
        return spec_from_file_location(name, folder / "__init__.py")


# An installation has the three packages inside this folder.
if not (_FOLDER / "analysis").is_dir():
    sys.meta_path.append(_NeighborFinder)


def _presenter() -> Presenter:
    return cast("Presenter", import_module("autoparser.reports.presented").present_value)


present_by(_presenter)

if TYPE_CHECKING:
    from autoparser.analysis.analysis import Analysis as Analysis, analyze as analyze
    from autoparser.analysis.core.conversation import (
        Json as Json,
        Message as Message,
        ToolCall as ToolCall,
    )
    from autoparser.analysis.core.errors import AutoparserError as AutoparserError
    from autoparser.analysis.core.turn_format import TurnFormat as TurnFormat
    from autoparser.analysis.export.response_template import response_template as response_template
    from autoparser.analysis.formats.learned_format import LearnedFormat as LearnedFormat
    from autoparser.analysis.formats.saved_format import (
        SavedFormat as SavedFormat,
        load_format as load_format,
    )
    from autoparser.analysis.grammar.request_grammar import Grammar as Grammar
    from autoparser.analysis.history.renderer import (
        AsyncRenderer as AsyncRenderer,
        Renderer as Renderer,
    )
    from autoparser.analysis.history.round_trips import (
        RoundTrip as RoundTrip,
        round_trip as round_trip,
    )
    from autoparser.analysis.history.training_template import training_template as training_template
    from autoparser.analysis.learning.examples import Example as Example
    from autoparser.analysis.learning.outputs import LoggedOutput as LoggedOutput
    from autoparser.analysis.parsing.output_parser import OutputParser as OutputParser
    from autoparser.analysis.parsing.parsed_message import (
        Delta as Delta,
        ParsedCall as ParsedCall,
        ParsedMessage as ParsedMessage,
        Status as Status,
    )
    from autoparser.analysis.parsing.stream_parser import StreamParser as StreamParser
    from autoparser.analysis.parsing.text_tape import Span as Span, SpanKind as SpanKind
    from autoparser.analysis.sources.encoders import load_encoder as load_encoder
    from autoparser.analysis.sources.template_loading import (
        fetch as fetch,
        load_template as load_template,
    )
    from autoparser.analysis.sources.token_bytes import OpaqueTokens as OpaqueTokens
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
    from autoparser.analysis.templates.isolated_template import isolated as isolated
    from autoparser.analysis.templates.worker_limits import Limits as Limits
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
else:
    __getattr__, __dir__ = lazy_imports(__name__)

"""Errors that are raised on purpose. Each is an `AutoparserError`, and its text is one line.

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy_names import lazy_imports

if TYPE_CHECKING:
    from autoparser.analysis.core.errors import (
        LimitKind as LimitKind,
        TaskLimitError as TaskLimitError,
        TemplateLimitError as TemplateLimitError,
        TemplateNeededError as TemplateNeededError,
        TemplateNotFoundError as TemplateNotFoundError,
        TemplateReadError as TemplateReadError,
        TemplateRenderError as TemplateRenderError,
        TemplateSyntaxError as TemplateSyntaxError,
        TemplateUnusableError as TemplateUnusableError,
        TokenizerError as TokenizerError,
        WorkerDiedError as WorkerDiedError,
    )
    from autoparser.analysis.core.turn_format import RefusedMessageError as RefusedMessageError
    from autoparser.analysis.decoding.constraints import ConstraintError as ConstraintError
    from autoparser.analysis.decoding.matcher_grammar import MaskError as MaskError
    from autoparser.analysis.grammar.call_writer import GrammarError as GrammarError
    from autoparser.analysis.history.scenario_files import ScenarioError as ScenarioError
    from autoparser.analysis.parsing.turn_request import RequestError as RequestError
else:
    __getattr__, __dir__ = lazy_imports(__name__)

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.errors import (
    TaskLimitError,
    TemplateLimitError,
    TemplateRenderError,
    TemplateSyntaxError,
    WorkerDiedError,
)
from autoparser.analysis.lint.hit import Hit, HitCause
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.worker_limits import Limits, current_guard
from autoparser.analysis.templates.worker_pool import run_task

LIMITS = Limits(render_seconds=2.0, seconds=10.0, memory=500_000_000, characters=2_000_000)
"""Hundreds of times the cost of such a conversation in the slowest known template."""


@rule("AP904")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a question and its answer under limits: in a worker, unless this is one."""
    marks = subject.marks
    messages = [
        {"role": "user", "content": marks.user},
        {"role": "assistant", "content": marks.content},
    ]
    template = subject.template
    try:
        # A worker has limits already.
        if current_guard() is None:
            run_task(_render_template, template.text, messages, limits=LIMITS)
        else:
            template.render(messages)
            yield from _render_shapes(subject)
    except (TemplateLimitError, TaskLimitError, WorkerDiedError) as error:
        line = error.line if isinstance(error, TemplateLimitError) else None
        yield Hit(
            f"no engine can render a question and its answer: {_limit_reason(error)}",
            line=line,
            cause=HitCause("raises", line, _limit_reason(error)),
        )
    except TemplateSyntaxError as error:
        if error.limit is not None:
            yield Hit(f"no engine can compile it: {error.message}")
    # AP102 reports errors that are not limits.
    except TemplateRenderError:
        return


def _render_shapes(subject: Subject) -> Iterator[Hit]:
    """Render the analysis' conversations, too: a template may be slow only with tools."""
    failure = subject.failure
    if isinstance(failure, TemplateLimitError):
        words = _limit_reason(failure)
        yield Hit(
            f"no engine can render a conversation with every input: {words}",
            line=failure.line,
            cause=HitCause("raises", failure.line, words),
        )


def _limit_reason(error: TemplateLimitError | TaskLimitError | WorkerDiedError) -> str:
    return error.reason if isinstance(error, TemplateLimitError) else error.message


def _render_template(text: str, messages: list[dict[str, str]]) -> None:
    ChatTemplate(text).render(messages)

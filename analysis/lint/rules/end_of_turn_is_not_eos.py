from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.error_words import is_list
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import list_words, quote_text
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_answer
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.sources.local_files import read_json_object

CONFIG = "generation_config.json"
"""The file of a model that lists stop tokens; its ids override the tokenizer's token."""


@rule("AP211")
def check(subject: Subject) -> Iterator[Hit]:
    """Compare the stop strings with the end token, if it is known."""
    eos = subject.template.special_tokens.get("eos_token")
    stops = subject.format.stop_strings
    if not eos or not stops or any(eos in stop for stop in stops):
        return
    configured = _configured_stops(subject)
    # Generation stops there, whatever the tokenizer's end token is.
    if configured is not None and not configured.isdisjoint(stops):
        return
    render = render_answer(subject)
    neither = ", and the generation config does not stop there" if configured is not None else ""
    yield Hit(
        f"turns end with {list_words([quote_text(stop) for stop in stops])}, but"
        f" eos_token is {quote_text(eos)}{neither}",
        (show_render(render, "an answer"),),
        line=render.line_of(stops[0]),
        severity=Severity.WARNING if neither else None,
    )


def _configured_stops(subject: Subject) -> set[str] | None:
    """Return the tokens at which the generation config stops, or None if they are unknown."""
    directory, tokenizer = subject.directory, subject.tokenizer
    if directory is None or tokenizer is None or not (directory / CONFIG).is_file():
        return None
    ids = read_json_object(directory / CONFIG).get("eos_token_id")
    numbers = ids if is_list(ids) else [ids]
    tokens = (tokenizer.id_to_token(number) for number in numbers if isinstance(number, int))
    return {token for token in tokens if token}

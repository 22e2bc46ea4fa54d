from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.marker_pairs import last_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_answer, render_with
from autoparser.analysis.lint.subject import Subject


@rule("AP204")
def check(subject: Subject) -> Iterator[Hit]:
    """Render one user message with a generation prompt and without."""
    without = render_with(subject, (subject.user,), {})
    prompt = render_with(subject, (subject.user,), {}, generation=True)
    if not prompt.rendered or prompt.text != without.text:
        return
    header = subject.format.header.strip()
    # A model that writes its own header gets a prompt that ends before it.
    turn = render_answer(subject).text.partition(subject.marks.user)[2]
    tail = prompt.text.partition(subject.marks.user)[2].rstrip()
    severity = None
    if not header:
        message, severity = "add_generation_prompt has no effect; turns have no header", _LIGHT
    elif tail.endswith(header):
        message = (
            f"the generation prompt {quote_text(header)} is rendered even without"
            " add_generation_prompt"
        )
    elif turn.startswith(tail):
        message = (
            f"add_generation_prompt has no effect: the model has to generate {quote_text(header)}"
        )
    else:
        end = quote_text(tail.strip())
        message = f"the prompt ends with {end}, with and without add_generation_prompt"
    yield Hit(
        message,
        (compare_renders(prompt, "with a generation prompt", without, "without"),),
        line=last_line(prompt),
        severity=severity,
    )


_LIGHT = Severity.INFO

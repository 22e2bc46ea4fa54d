"""The texts agree, and the tokens do not.

The prompt ended in one token and the model began with another; rendered again, the tokenizer
joins them into one that was never there. The prefix cache ends at that place, although no letter
changed.

Before:

    {%- if add_generation_prompt %}Assistant: {% endif %}

After:

    {%- if add_generation_prompt %}Assistant:{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.history.roundtrip import Cause
from autoparser.analysis.history.roundtrip.token_level import Encoder
from autoparser.analysis.lint.hit import Confidence, Hit, HitEvidence, Severity, ShownText
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.replays import replays
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Play the usual steps in tokens."""
    if subject.tokenizer is None or subject.failure is not None:
        return
    encoder = Encoder(subject.tokenizer)
    # A stop string of several tokens may mean that this is not the model's tokenizer.
    foreign = any(encoder.size(stop) > 1 for stop in subject.format.stop_strings)
    for scenario, verdict in replays(subject, encoder):
        tokens = verdict.tokens
        if verdict.cause is Cause.RETOKENIZED and tokens is not None:
            where = (
                "at the end of the prompt"
                if tokens.prompt_reused < tokens.prompt
                else f"after {tokens.reused} of {tokens.sampled} sampled tokens"
            )
            yield Hit(
                f"rendered again, the same text is other tokens, {where} ({scenario.name})",
                (HitEvidence(ShownText("as the model wrote it", verdict.sampled)),),
                confidence=Confidence.LOW if foreign else None,
            )
            return


RULE = Rule(
    "AP606",
    "retokenized-at-a-boundary",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.TOKENIZER,
    fix="end the generation prompt and begin the answer at special tokens",
    concerns=(Concern.TRAINING, Concern.CACHE),
)

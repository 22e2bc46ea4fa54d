from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.history.trip_causes import Cause
from autoparser.analysis.history.trip_verdict import Encoder
from autoparser.analysis.lint.hit import Confidence, Hit, HitEvidence, ShownText
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import replay_steps
from autoparser.analysis.lint.subject import Subject


@rule("AP606", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Replay the usual steps in tokens."""
    if subject.tokenizer is None or subject.failure is not None:
        return
    encoder = Encoder(subject.tokenizer)
    # A stop string of several tokens suggests that the tokenizer is not the model's.
    foreign = any(encoder.size(stop) > 1 for stop in subject.format.stop_strings)
    for scenario, verdict in replay_steps(subject, encoder):
        tokens = verdict.tokens
        if verdict.cause is Cause.RETOKENIZED and tokens is not None:
            where = (
                "at the end of the prompt"
                if tokens.prompt_reused < tokens.prompt
                else f"after {tokens.reused} of {tokens.sampled} sampled tokens"
            )
            yield Hit(
                f"the same text has different tokens if rendered again, {where} ({scenario.name})",
                (HitEvidence(ShownText("as the model generated it", verdict.sampled)),),
                confidence=Confidence.LOW if foreign else None,
            )

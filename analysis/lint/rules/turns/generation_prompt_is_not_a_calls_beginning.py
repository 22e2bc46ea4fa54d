r"""The generation prompt does not begin a turn of calls, though it begins others.

The model goes on from a text that turns of calls do not have. It calls less well than it was
trained to, and in a tool loop the prefix cache ends at every call.

Before:

    {{ '<|assistant|>' if message.tool_calls else '<|assistant|>\n' }}

After:

    {{ '<|assistant|>\n' }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.prompts import beginnings, beginnings_of_calls
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Hold each prompt that begins a turn of content against turns of calls."""
    pairs = zip(beginnings(subject), beginnings_of_calls(subject), strict=True)
    for plain, each in pairs:
        begins_others = plain.begins_plain or plain.begins_reasoned
        begins = each.begins_plain or each.begins_reasoned
        if begins_others and each.known and not begins:
            yield each.departing(subject, "a turn of calls")
            return


RULE = Rule(
    "AP207",
    "generation-prompt-is-not-a-calls-beginning",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.CALLS,
    fix="begin turns of calls with the very text of the generation prompt",
    concerns=(Concern.TRAINING, Concern.CACHE),
    unfixed=NoFix.NOTATION,
)

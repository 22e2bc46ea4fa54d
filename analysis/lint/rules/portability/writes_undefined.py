"""What is written does not exist: a name or a field that nothing defines.

Jinja writes nothing for it, so a misspelt field goes unseen. Other engines raise, or write the
word for nothing.

Before:

    {{- message.contents }}

After:

    {{- message.content }}
"""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import Undefined

from autoparser.analysis.lint.engines import elsewhere, environment
from autoparser.analysis.lint.finding import Hit, Severity
from autoparser.analysis.lint.renders import alone
from autoparser.analysis.lint.rule import Rule
from autoparser.analysis.lint.subject import Subject

_written: dict[str, None] = {}


class Recorded(Undefined):
    """Nothing, which remembers that it was written."""

    def __str__(self) -> str:
        _written[str(self._undefined_name)] = None
        return super().__str__()


def check(subject: Subject) -> Iterator[Hit]:
    """Render ordinary conversations with a nothing that remembers."""
    for each in elsewhere(subject, environment(undefined=Recorded)):
        names = [*_written]
        _written.clear()
        if names and each.usual.rendered:
            yield Hit(
                f"in {each.what} nothing is written for {', '.join(names)}: it is not defined",
                (alone(each.usual, each.what),),
            )
            return


RULE = Rule("AP805", "writes-undefined", __doc__, Severity.INFO, check)

"""A system message raises.

Most clients and agents begin with one. Servers pass it on, so every such request fails, unless
the caller knows the model and puts the words into the user's message.

Before:

    {%- if message.role == 'system' %}{{ raise_exception('No system role.') }}{% endif %}

After:

    {%- if message.role == 'system' %}{% set first = message.content %}{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import said
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.quoting import failed
from autoparser.analysis.lint.raising_hit import raising_hit
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render a user message alone, and after a system message."""
    bare = subject.play((subject.user,), generation=True)
    led = subject.play((subject.user,), system=subject.marks.system, generation=True)
    if not bare.rendered or led.error is None:
        return
    as_text = subject.render(
        [said("system", subject.marks.system), *bare.messages],
        generation=True,
        setting=subject.usual_setting,
    )
    if not as_text.rendered:
        message = f"a system message {failed(led)}"
        yield raising_hit(
            message, led, "with a system message", bare, "without", crashed=Severity.WARNING
        )


RULE = Rule(
    "AP107",
    "system-role-refused",
    __doc__,
    Severity.INFO,
    check,
    fix="write a system message, if only before the first user message's text",
    concerns=(Concern.ENGINES,),
    unfixed=NoFix.MEANT,
)

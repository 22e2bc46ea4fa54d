"""A conversation without a user message, or one that an assistant begins, raises.

Agents start from a system message alone, clients cut old messages away until an answer comes
first, and trainers render parts of conversations. Each fails where a template insists on a
user's message.

Before:

    {%- if messages[0].role != 'user' %}{{ raise_exception('A user must begin.') }}{% endif %}

After:

    {%- for message in messages %}{{ '<|' + message.role + '|>' + message.content }}{% endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import Chat, question, said
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.quoting import failed
from autoparser.analysis.lint.raising_hit import raising_hit
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render conversations that do not begin with a user."""
    shape, marks = subject.shape, subject.marks
    system = said("system", shape.user_text(marks.system))
    user = said("user", shape.user_text(marks.user))
    answer = said("assistant", marks.content)
    setting = subject.usual_setting
    usual = subject.play((subject.user,), system=marks.system, generation=True)
    cases: list[tuple[str, Chat]] = [("that an assistant begins", [answer, user])]
    if usual.rendered:
        cases.insert(0, ("of a system message alone", [system]))
    else:
        usual = subject.render(question(subject), generation=True, setting=setting)
    if not usual.rendered:
        return
    for words, messages in cases:
        render = subject.render(messages, generation=True, setting=setting)
        if render.error is not None:
            yield raising_hit(
                f"a conversation {words} {failed(render)}",
                render,
                words,
                usual,
                "a user message first",
                crashed=Severity.WARNING,
            )


RULE = Rule(
    "AP114",
    "no-user-message-raises",
    __doc__,
    Severity.INFO,
    check,
    fix="let any role begin",
    concerns=(Concern.ENGINES,),
    unfixed=NoFix.MEANT,
)

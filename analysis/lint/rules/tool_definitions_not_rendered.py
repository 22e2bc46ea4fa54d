from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders, parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP502")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a question with and without tools, wrapped and bare, and with a system text."""
    names = subject.marks.names
    taken = False
    bare = [tool["function"] for tool in subject.tools if isinstance(tool, dict)]
    for system in ("", subject.marks.system):
        for tools in (subject.tools, bare):
            messages = subject.shape.messages((subject.user,), subject.marks.system)
            if system and not subject.shape.system:
                first = {"role": "system", "content": subject.shape.user_text(system)}
                messages = [first, *messages]
            given = subject.render(messages, tools=tools, generation=True)
            if any(name in given.text for name in names):
                return
            taken = taken or given.rendered
    if not taken:
        # A failing request is the subject of another rule.
        return
    alone = subject.play((subject.user,), generation=True)
    given = subject.play((subject.user,), tools=True, generation=True)
    if alone.rendered and given.rendered:
        key = next(filter(given.text.__contains__, subject.marks.keys), "")
        yield Hit(
            "the prompt has the parameters of offered tools, but not their names"
            if key
            else "offered tools are not described in the prompt",
            (compare_renders(given, "with tools", alone, "without tools"),),
            line=given.line_of(key) if key else parting_line(given, alone),
            fix="render the name of each tool" if key else "",
        )

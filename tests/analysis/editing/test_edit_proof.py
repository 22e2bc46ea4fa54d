"""What passes the proof of an edit, and what does not: the template's own renders say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.editing.edit_proof import EditProof, ProvenEdit
from autoparser.analysis.editing.lint_fixes import fixes_apart
from autoparser.analysis.lint.registry import rule_of
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.template_edits import TemplateEdit

HEAD = "{{- '<|' + m.role + '|>' }}"
SYSTEM = "{% if messages[0].role == 'system' %}{{ messages[0].content }}\n{% endif %}"
TEMPLATE = f"""{{%- for m in messages %}}
{HEAD}
{{%- if m.reasoning_content and (loop.last or keep) %}}
{{{{- '(r)' + m.reasoning_content + '(/r)' }}}}{{% endif %}}
{{{{- (m.content or '')|trim if m.role == 'assistant' else m.content }}}}
{{%- for call in m.tool_calls or [] %}}<call>{{{{ call.function|tojson }}}}</call>{{% endfor %}}
{{{{- '<|end|>' }}}}
{{%- endfor %}}
{{%- if add_generation_prompt %}}<|assistant|>{{% endif %}}"""
LAST = "m.reasoning_content and (loop.last or keep)"
EDITS = {
    # what is edited, what it becomes, whether something is better, or None where it may not be
    "nothing": ("<|end|>", "<|end|>", False),
    "content is kept as it is": ("(m.content or '')|trim if", "(m.content or '') if", True),
    "reasoning is kept by default": (
        LAST,
        "m.reasoning_content and (loop.last or keep is not defined or keep)",
        True,
    ),
    "a switch has no effect any more": (LAST, "m.reasoning_content", None),
    "reasoning is dropped": (LAST, "false", None),
    "another end": ("'<|end|>'", "'<|end|>' if loop.last else '<|stop|>'", None),
    "the users' texts are trimmed": ("else m.content }}", "else m.content|trim }}", None),
    "a prompt that nobody asked for": ("if add_generation_prompt", "if true", None),
    "content is written twice": ("(m.content or '')|trim if", "(m.content or '')*2 if", None),
    "content is written where there is none": ("(m.content or '')", "(m.content or '-')", None),
    "calls are escaped": ("call.function|tojson", "call.function|tojson|e", None),
    "the name is left out of calls": (
        "call.function|tojson",
        "call.function.arguments|tojson",
        None,
    ),
    "it raises": ("m.role == 'assistant' else", "m.nothing.at_all else", None),
}


@cache
def proof() -> EditProof:
    return EditProof(Subject(ChatTemplate(TEMPLATE)))


@pytest.mark.parametrize("title", EDITS)
def test_an_edit_passes_where_nothing_gets_worse(title: str) -> None:
    old, new, better = EDITS[title]
    assert TEMPLATE.count(old) == 1
    edited = ChatTemplate(TEMPLATE.replace(old, new))
    found = proof().proven(edited)
    at = TEMPLATE.index(old)
    # Where its place is known, what does not reach it is not rendered, and nothing else is proven.
    assert proof().proven(edited, [TemplateEdit(at, at + len(old), new)]) == found
    assert (found is None) == (better is None)
    if found is not None:
        assert (found.better > 0) == (found.changed > 0) == better
        assert found.conversations == len(proof().conversations) > 200


def test_each_kind_of_conversation_is_among_them() -> None:
    names = {each.name.partition(":")[0] for each in proof().conversations}
    assert {
        "content of null",
        "no content",
        "content as a list of parts",
        "reasoning of null",
        "many messages",
        "long texts",
        "an empty list of calls",
        "calls of null",
        "arguments in their other form",
        "a developer's message",
        "an empty list of tools",
        "whitespace around an answer",
        "whitespace around a user's message",
        "all in the content",
        "user parts",
    } <= names
    plain = {each.plainly is None for each in proof().conversations}
    assert plain == {True, False}


def test_what_does_not_reach_an_edit_is_not_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    old = "call.function|tojson"
    at = TEMPLATE.index(old)
    rendered: list[str] = []
    render = ChatTemplate.render_prepared

    def counted(self: ChatTemplate, variables: Mapping[str, object]) -> str:
        rendered.append(self.text)
        return render(self, variables)

    monkeypatch.setattr(ChatTemplate, "render_prepared", counted)
    counts: list[int] = []
    for edits in ([], [TemplateEdit(at, at + len(old), f"{old} ")]):
        text = TEMPLATE.replace(old, f"{old} ")
        assert proof().proven(ChatTemplate(text), edits) is not None
        counts.append(rendered.count(text))
        rendered.clear()
    assert 0 < counts[1] < counts[0]


def test_an_edit_is_proven_once_for_all_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    proven = EditProof.proven

    def counted(
        self: EditProof, template: ChatTemplate, edits: Sequence[TemplateEdit] = ()
    ) -> ProvenEdit | None:
        asked.extend([template.text] if edits else [])
        return proven(self, template, edits)

    monkeypatch.setattr(EditProof, "proven", counted)
    text = "{% for m in messages %}{{ '<' + m.role + '>' + m.content|trim + '<e>' }}{% endfor %}"
    rules = [rule_of(code) for code in ("AP301", "AP302")]
    fixes = [fix for found in fixes_apart(ChatTemplate(text), rules) for fix in found.fixes]
    assert [fix.finding.code for fix in fixes] == ["AP301", "AP302"]
    assert len(asked) == len(set(asked)) > 0

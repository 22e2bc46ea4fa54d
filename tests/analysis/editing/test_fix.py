"""Findings fixed by the smallest edits, and findings that stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoparser import AutoparserError, ChatTemplate, load_encoder
from autoparser.analysis.editing.lint_fixes import FixedTemplate, UnfixedReason, fix_template
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.registry import all_rules, rule_of
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.environment import GENERATION_CLOSE, GENERATION_OPEN

FIXTURES = Path(__file__).parents[3] / "fixtures" / "lint"


def fixed(text: str, *codes: str, unsafe: bool = True) -> FixedTemplate:
    template = ChatTemplate(text)
    findings = lint(Subject(template), [rule_of(code) for code in codes]).findings
    return fix_template(template, findings, unsafe=unsafe)


def shipped(code: str) -> str:
    return (FIXTURES / code / "fires.jinja").read_text("utf-8")


CHANGED = {
    "AP401": ("message.reasoning_content and loop.last", "message.reasoning_content"),
    "AP109": ("message.content }}", "message.content or '' }}"),
    "AP113": ("if message.tool_calls is not defined", "if not message.tool_calls"),
}


@pytest.mark.parametrize("code", CHANGED)
def test_the_smallest_edit_is_made(code: str) -> None:
    old, new = CHANGED[code]
    text = shipped(code)
    found = fixed(text, code)
    assert found.template.text == text.replace(old, new)
    (fix,) = found.fixes
    assert fix.reason is None
    assert fix.proof is not None
    assert fix.finding.code == code


REWRITTEN = ("AP306", "AP311", "AP313", "AP317")
"""What fires there would have to be written anew; `planted.yaml` has what small edits mend. Where a
system message in parts raises, a developer's would, which AP313 drops and renders."""


@pytest.mark.slow
@pytest.mark.parametrize("code", [rule.code for rule in all_rules() if rule.fixable])
def test_every_fixable_rule_is_fixed_where_it_fires(code: str) -> None:
    found = fixed(shipped(code), code)
    assert {fix.reason is None for fix in found.fixes} == {code not in REWRITTEN}
    assert found.changed is (code not in REWRITTEN)


def test_markers_change_no_text_and_hold_what_the_model_writes() -> None:
    found = fixed(shipped("AP701"), "AP701")
    (fix,) = found.fixes
    assert fix.proof is not None
    assert fix.proof.changed == 0
    messages = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}]
    given = found.template.variables(messages)
    marked = found.template.render_generation(given)
    assert marked.split(GENERATION_OPEN)[1].split(GENERATION_CLOSE)[0] == "So.<|end|>"


def test_what_is_right_is_left_alone() -> None:
    text = (FIXTURES / "AP401" / "quiet.jinja").read_text("utf-8")
    found = fixed(text, "AP401")
    assert (found.template.text, found.fixes, found.changed) == (text, (), False)


def test_a_finding_stays_where_no_edit_is_right() -> None:
    # Turns have no header, so that there is nothing that a generation prompt could write.
    text = "{% for m in messages %}{{ m.content + '\\n' }}{% endfor %}"
    found = fixed(text, "AP204")
    (fix,) = found.fixes
    assert isinstance(fix.reason, UnfixedReason)
    assert (fix.proof, fix.edits, found.changed) == (None, (), False)
    assert fix.tried > 0


def test_a_developers_message_is_read_where_none_raises_by_that() -> None:
    text = shipped("AP313").replace(
        "'|>' + message.content + '<|end|>' }}", "'|>' }}{{ message.content }}<|end|>"
    )
    found = fixed(text, "AP313")
    assert [fix.reason for fix in found.fixes] == [None]
    asked = [{"role": "developer", "content": "Be brief."}]
    assert "Be brief." in found.template.render(asked)


def test_an_edit_by_which_a_conversation_raises_is_not_made() -> None:
    (fix,) = fixed(shipped("AP313"), "AP313").fixes
    assert fix.reason is UnfixedReason.NOT_PROVEN


def test_lines_end_as_they_ended() -> None:
    text = shipped("AP109").replace("\n", "\r\n")
    found = fixed(text, "AP109")
    assert found.changed
    assert found.template.text.count("\r\n") == found.template.text.count("\n") == text.count("\n")


def test_an_encoder_in_python_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "encoder.py"
    path.write_text("def encode(messages, **given):\n    return str(messages)\n", encoding="utf-8")
    with pytest.raises(AutoparserError, match="no template that could be edited"):
        fix_template(load_encoder(f"{path}:encode"), ())


def test_what_begins_a_turn_behind_the_question_is_written_where_it_is_asked_for() -> None:
    text = (
        "{% for m in messages %}{% if m.role == 'user' %}{{ 'Q: ' + m.content + '\\n--\\nA: ' }}"
        "{% else %}{{ m.content + '\\n--\\n' }}{% endif %}{% endfor %}"
    )
    template = fixed(text, "AP204").template
    asked = [{"role": "user", "content": "Why?"}]
    assert template.render(asked) == "Q: Why?\n--\n"
    assert template.render(asked, add_generation_prompt=True) == "Q: Why?\n--\nA: "
    said = [*asked, {"role": "assistant", "content": "So."}]
    assert template.render(said) == "Q: Why?\n--\nA: So.\n--\n"


@pytest.mark.parametrize("asked", ["<|user|>", "<|answer|>: "])
def test_no_turn_is_begun_behind_what_asks_for_another(asked: str) -> None:
    text = (
        "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + '<|end|>' }}{% endfor %}"
        f"{asked}"
    )
    found = fixed(text, "AP204")
    assert [fix.edits for fix in found.fixes] == [()]


MARKED = {
    # Alone, content may be what could not be put together with a text.
    "{% for m in messages %}{% if m.role == 'system' %}{{ m.content + '\n\n' }}"
    "{% elif m.role == 'user' %}{{ '## Q\n' + m.content + '\n\n' }}"
    "{% elif m.role == 'assistant' %}{{ '## A\n' + m.content + '\n\n' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '## A\n' }}{% endif %}": "So.",
    # The stop is what the next question begins with.
    "{% for m in messages %}{% if m.role == 'user' %}{{ '<|user|>' }}{{ m.content }}"
    "{% else %}{{ '<|said|>' }}{{ m.content }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|said|>' }}{% endif %}": "So.<|user|>",
}


@pytest.mark.parametrize("text", MARKED)
def test_what_the_model_writes_is_marked_where_another_place_writes_it(text: str) -> None:
    found = fixed(text, "AP701")
    assert [fix.reason for fix in found.fixes] == [None]
    said = [
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "content": "So."},
        {"role": "user", "content": "Oh."},
    ]
    marked = found.template.render_generation(found.template.variables(said))
    pieces = [each.split(GENERATION_CLOSE)[0] for each in marked.split(GENERATION_OPEN)[1:]]
    assert "".join(pieces) == MARKED[text]

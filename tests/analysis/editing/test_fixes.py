"""Findings fixed by the smallest edits, findings that stay, and what passes the proof of an edit.

`planted.yaml` has mistakes planted into sound templates, of the kinds that there are edits for; the
sound template judges the fixed one.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from autoparser import AutoparserError, ChatTemplate, analyze, load_encoder
from autoparser.analysis.editing.edit_proof import EditProof
from autoparser.analysis.editing.lint_fixes import FixedTemplate, fix_template
from autoparser.analysis.editing.preserving_edits import preserving_template
from autoparser.analysis.learning.plain_words import plain_words
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.registry import all_rules, find_rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.environment import GENERATION_CLOSE, GENERATION_OPEN
from autoparser.analysis.templates.reached_bodies import ReachedBodies
from autoparser.analysis.templates.template_edits import TemplateEdit, in_line_ends
from tests.analysis.history.test_bridge import spied
from tests.case_tables import load_cases
from tests.lanes import sampled

FIXTURES = Path(__file__).parents[3] / "fixtures"
read_table = partial(load_cases, __file__)


def shipped(code: str, which: str = "fires") -> str:
    return (FIXTURES / "lint" / code / f"{which}.jinja").read_text("utf-8")


def fixed(text: str, code: str) -> FixedTemplate:
    template = ChatTemplate(text)
    findings = lint(Subject(template), [find_rule(code)]).findings
    return fix_template(template, findings, unsafe=True)


@pytest.mark.parametrize(
    "case", sampled(read_table("fixes.yaml"), 6), ids=lambda case: case["rule"]
)
def test_finding_gets_the_smallest_edit_or_a_reason(case: dict[str, Any]) -> None:
    text = shipped(case["template"]) if case["template"].startswith("AP") else case["template"]
    text = text.replace(*case.get("with", ("", "")))
    found = fixed(text, case["rule"])
    (fix,) = found.fixes
    assert fix.tried > 0
    if "reason" in case:
        assert fix.reason is not None
        assert case["reason"].strip(".") in fix.reason
        assert (fix.proof, fix.edits, found.template.text) == (None, (), text)
        return
    assert fix.reason is None
    assert fix.proof is not None
    if "becomes" in case:
        assert found.template.text == text.replace(*case["becomes"])
        return
    template = found.template
    rendered = template.render(case["renders"], add_generation_prompt=case.get("prompted", False))
    assert rendered == case.get("is", rendered)
    assert case.get("holds", "") in rendered
    if "marked" in case:
        assert fix.proof.changed == fix.proof.crashed
        marked = template.render_generation(template.variables(case["renders"]))
        pieces = [part.split(GENERATION_CLOSE)[0] for part in marked.split(GENERATION_OPEN)[1:]]
        assert "".join(pieces) == case["marked"]


REWRITTEN = ("AP306", "AP311", "AP313", "AP317")
"""Rules whose firing examples need a rewrite; `planted.yaml` has examples that small edits fix. In
AP313's, rendering a developer's message in parts would raise, as for a system message."""


@pytest.mark.slow
@pytest.mark.parametrize("code", [rule.code for rule in all_rules() if rule.fixable])
def test_every_fixable_rule_is_fixed_where_it_fires(code: str) -> None:
    found = fixed(shipped(code), code)
    assert {fix.reason is None for fix in found.fixes} == {code not in REWRITTEN}
    assert found.changed is (code not in REWRITTEN)


def test_sound_template_is_not_edited() -> None:
    text = shipped("AP401", "quiet")
    found = fixed(text, "AP401")
    assert (found.template.text, found.fixes, found.changed) == (text, (), False)


@pytest.mark.slow
def test_fix_keeps_windows_line_ends() -> None:
    text = shipped("AP109").replace("\n", "\r\n")
    found = fixed(text, "AP109")
    assert found.changed
    assert found.template.text.count("\r\n") == found.template.text.count("\n") == text.count("\n")


def test_edited_text_keeps_mixed_line_ends() -> None:
    edited = in_line_ends("a\nnew\nmore\nc\nd", "a\r\nb\nc\rd")
    assert edited == "a\r\nnew\r\nmore\r\nc\rd"


def test_python_encoder_cannot_be_edited() -> None:
    encoder = load_encoder(f"{FIXTURES / 'encoders' / 'dashes.py'}:encode_messages")
    for edit in (fix_template, lambda host, given: preserving_template(analyze(host), given)):
        with pytest.raises(AutoparserError, match="no template to edit"):
            edit(encoder, ())


ASKED = read_table("conversations.yaml")


@pytest.mark.slow
@pytest.mark.parametrize(
    "row", read_table("planted.yaml"), ids=lambda row: f"{row['in']}: {row['kind']}"
)
def test_planted_bug_is_fixed(row: dict[str, Any]) -> None:
    sound = (FIXTURES / "templates" / f"{row['in']}.jinja").read_text(encoding="utf-8")
    assert sound.count(row["replace"]) == 1
    found = fixed(sound.replace(row["replace"], row["with"]), row["rule"])
    assert [fix.reason for fix in found.fixes] == [None]
    rendered = [
        [
            template.render(messages, tools, add_generation_prompt=generation)
            for messages, tools, generation in product(
                ASKED["conversations"], (None, ASKED["tools"]), (False, True)
            )
        ]
        for template in (ChatTemplate(sound), found.template)
    ]
    assert (rendered[0] == rendered[1]) is row.get("restored", True)


PROOFS = read_table("proofs.yaml")


@cache
def proof() -> EditProof:
    return EditProof(Subject(ChatTemplate(PROOFS["template"])))


@pytest.mark.parametrize("title", PROOFS["edits"])
def test_edit_is_proven_if_no_render_gets_worse(title: str) -> None:
    old, new, better = PROOFS["edits"][title]
    assert PROOFS["template"].count(old) == 1
    edited = ChatTemplate(PROOFS["template"].replace(old, new))
    found = proof().prove_edits(edited)
    words = plain_words(edited.text)
    at = PROOFS["template"].index(old)
    # Passing the place of the edit gives the same proof.
    assert proof().prove_edits(edited, [TemplateEdit(at, at + len(old), new)]) == found
    assert (found is None) == (better is None)
    if found is not None:
        assert (found.better > 0) == (found.changed > 0) == better
        assert found.conversations == len(proof().conversations) > 200
        texts = [text for example in found.examples for text in (example.before, example.after)]
        # The examples in a proof use plain words.
        assert not any(words.text(text) != text for text in texts if text)


def test_conversations_that_miss_the_edit_are_not_rendered() -> None:
    old = "call.function|tojson"
    edited = ChatTemplate(PROOFS["template"].replace(old, f"{old} "))
    at = PROOFS["template"].index(old)
    assert proof().prove_edits(edited) is not None
    with spied(ChatTemplate, "render_prepared") as renders:
        assert proof().prove_edits(edited, [TemplateEdit(at, at + len(old), f"{old} ")]) is not None
    rendered = [call.args[0].text for call in renders.call_args_list]
    assert 0 < rendered.count(edited.text) < len(proof().conversations)


def test_proof_covers_every_kind_of_conversation() -> None:
    names = {conversation.name.partition(":")[0] for conversation in proof().conversations}
    assert {
        *("null content", "no content", "content as a list of parts", "null reasoning"),
        *("many messages", "long texts", "an empty list of calls", "null tool_calls"),
        *(
            "the other type of arguments (string or object)",
            "a developer's message",
            "an empty list of tools",
        ),
        *("whitespace around an answer", "whitespace around a user's message"),
        *("all in the content", "user parts"),
    } <= names


@pytest.mark.slow
def test_edit_is_proven_once_for_all_findings() -> None:
    text = "{% for m in messages %}{{ '<' + m.role + '>' + m.content|trim + '<e>' }}{% endfor %}"
    template = ChatTemplate(text)
    found = lint(Subject(template), [find_rule(code) for code in ("AP301", "AP302")]).findings
    with spied(EditProof, "prove_edits") as proofs:
        fixes = fix_template(template, found).fixes
    assert [(fix.finding.code, fix.hidden) for fix in fixes] == [("AP301", True), ("AP302", True)]
    asked = [call.args[1].text for call in proofs.call_args_list if any(call.args[2:])]
    assert len(asked) == len(set(asked)) > 0


@pytest.mark.parametrize("row", PROOFS["reached"], ids=lambda row: row["place"])
def test_body_is_reached_only_if_its_tag_allows_it(row: dict[str, Any]) -> None:
    text = PROOFS["bodies"]
    template, start = ChatTemplate(text), text.index(row["place"])
    bodies = ReachedBodies(template)
    around = bodies.around([TemplateEdit(start, start + len(row["place"]), "")])
    for role in ("user", "assistant", None):
        said = {"role": role, "content": "Why?"}
        variables = {**template.variables([said]), "messages": [said] if role else []}
        found = bodies.of(variables, template.render_prepared(variables))
        assert bool(around & found) is (role in row["by"])
        # If rendering again gives another text, every body counts as reached.
        assert bodies.of(variables, "another text") >= around

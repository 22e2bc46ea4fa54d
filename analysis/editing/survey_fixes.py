"""Try `fix` on a few templates of a survey, as examples of a page about many templates.

Contract: a finding is fixed alone, and nothing is written: the outcome is kept in the record.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.lint.linting import FindingFilter
from autoparser.analysis.lint.project_run import LintRequest
from autoparser.analysis.lint.project_settings import ProjectSettings
from autoparser.analysis.lint.registry import find_rule
from autoparser.analysis.lint.rule import Profile
from autoparser.analysis.overview.survey import SurveyRecord, TriedFix
from autoparser.analysis.overview.template_state import (
    distinct_texts,
    fault_examples,
    frequent_codes,
)
from autoparser.analysis.templates.worker_limits import Limits

from .lint_fixes import fix_sources


def untried_examples(records: Sequence[SurveyRecord]) -> list[tuple[SurveyRecord, str]]:
    """Return the examples of the most frequent faults, with the rule, that no fix was tried on."""
    linted = [record for record in distinct_texts(records) if record.found is not None]
    return [
        (record, code)
        for code, _, _ in frequent_codes(linted)
        if find_rule(code).fixable
        for record in fault_examples(code, linted)
        # A survey that is resumed keeps the outcomes of the run before.
        if all(fix.code != code for fix in record.fixes or ())
    ]


def try_fix(record: SurveyRecord, code: str, limits: Limits | None) -> SurveyRecord:
    """Return the record with the outcome of `fix` for this rule: fixed if all its findings are.

    The record of a template that cannot be read any more is returned as it is.
    """
    request = LintRequest(
        (record.source,),
        (find_rule(code),),
        ProjectSettings(),
        finding_filter=FindingFilter(Profile.RELEASE),
        limits=limits,
    )
    try:
        found = fix_sources(request).fixes
    except AutoparserError:
        return record
    if not found:
        return record
    # One remaining finding means that the template is not fixed for the rule.
    stays = next((fix for fix in found if fix.reason is not None), found[0])
    proof = 0 if stays.proof is None or stays.reason else stays.proof.conversations
    outcome = TriedFix(code, stays.finding.line, stays.why, proof, stays.tried)
    return replace(record, fixes=(*(record.fixes or ()), outcome))

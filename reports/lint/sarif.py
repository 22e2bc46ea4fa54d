"""SARIF 2.1.0, the format of code scanning services; GitHub shows each result at its line.

GitHub's "SARIF support for code scanning" documents its use of the members: a result needs a rule,
a message and a place whose region has a start line; a rule's help is shown beside it; `precision`
and `problem.severity` sort results. For example, a file below the root of the sources is

    _artifact("models/a b.jinja")  ->  {"uri": "models/a%20b.jinja", "uriBaseId": "%SRCROOT%"}
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import PurePath
from urllib.parse import quote

from autoparser.analysis.lint.baselines import finding_digest
from autoparser.analysis.lint.hit import Confidence, Severity
from autoparser.analysis.lint.inspection import InspectedTemplate, LintRun
from autoparser.analysis.lint.linting import LintFinding
from autoparser.analysis.lint.project_sources import InputProblem
from autoparser.analysis.lint.rule import Rule
from autoparser.reports.places import FilePlace
from autoparser.reports.visible import visible

from .page import page_file, page_markdown
from .words import line_place, message_words, problem_place, problem_words

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PRECISION = {
    Confidence.HIGH: "very-high",
    Confidence.MEDIUM: "medium",
    Confidence.LOW: "low",
}
_PROBLEM_SEVERITY = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "recommendation",
}


def sarif_report(run: LintRun, version: str, pages: str | None = None) -> str:
    """Return a SARIF log in ASCII.

    `version` is autoparser's own; `pages` is the address of the rules' pages, without a slash at
    its end, or None if it is unknown.
    """
    # A result refers to its rule by its place in the list.
    indices = {rule.code: at for at, rule in enumerate(run.rules)}
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "autoparser",
                        "semanticVersion": version,
                        "rules": [_rule(rule, pages) for rule in run.rules],
                    }
                },
                "invocations": [
                    {
                        "executionSuccessful": not run.problems,
                        "toolExecutionNotifications": [
                            _notification(problem) for problem in run.problems
                        ],
                    }
                ],
                # Columns count characters, as Python does, not the code units of UTF-16.
                "columnKind": "unicodeCodePoints",
                "results": [
                    _result(template, finding, indices) for template, finding in run.findings
                ],
            }
        ],
    }
    # NaN is not valid JSON, although Python would write it.
    return json.dumps(log, indent=1, allow_nan=False) + "\n"


def _rule(rule: Rule, pages: str | None) -> Mapping[str, object]:
    why = " ".join(rule.why.split())
    fix = f" Fix: {rule.fix}." if rule.fix else ""
    found: dict[str, object] = {
        "id": rule.code,
        # SARIF asks for names in Pascal case.
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": f"{rule.summary}."},
        "fullDescription": {"text": f"{rule.summary}. {why}"},
        "help": {"text": f"{rule.summary}. {why}{fix}", "markdown": page_markdown(rule)},
        "defaultConfiguration": {"level": _LEVELS[rule.severity], "enabled": rule.default},
        "properties": {
            "tags": ["chat template", rule.group.value],
            "precision": _PRECISION[rule.confidence],
            "problem.severity": _PROBLEM_SEVERITY[rule.severity],
        },
    }
    if pages is not None:
        found["helpUri"] = f"{pages}/{quote(page_file(rule))}"
    return found


def _result(
    template: InspectedTemplate, finding: LintFinding, indices: Mapping[str, int]
) -> Mapping[str, object]:
    """Return a finding as a result, with a fingerprint that survives moved lines."""
    fix = f"; {visible(finding.fix)}" if finding.fix else ""
    # Without the line, so that a finding that only moved stays the same result.
    identity = "\0".join((template.name or "", finding.code, finding_digest(finding)))
    found: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": indices[finding.code],
        "level": _LEVELS[finding.severity],
        "message": {"text": _escape_placeholders(f"{message_words(template, finding)}{fix}")},
        "locations": [_location(template.path, line_place(template, finding.line, finding.column))],
        "partialFingerprints": {
            "autoparserFinding/v1": hashlib.sha256(
                identity.encode("utf-8", "surrogatepass")
            ).hexdigest()[:32]
        },
        "properties": {
            "confidence": finding.confidence.value,
            "also": [*finding.also],
            "setting": {**finding.hit.setting},
        },
    }
    return found


def _notification(problem: InputProblem) -> Mapping[str, object]:
    return {
        "level": "error",
        "message": {"text": _escape_placeholders(problem_words(problem))},
        "locations": [_location(problem.path, problem_place(problem))],
    }


_PLACEHOLDER = re.compile(r"\{(\d+)\}")
_LINK = re.compile(r"\[([^\[\]]*)\](?=\()")


def _escape_placeholders(text: str) -> str:
    """Escape characters that SARIF would read as a placeholder or a link.

    Other braces and brackets stay single: GitHub shows the text verbatim.
    """
    return _LINK.sub(r"\\[\1\\]", _PLACEHOLDER.sub(r"{{\1}}", text))


def _location(path: str, place: FilePlace | None) -> Mapping[str, object]:
    # GitHub refuses a result without a line.
    region = {"startLine": 1}
    if place is not None:
        region = {"startLine": place.line, "startColumn": place.column}
    return {"physicalLocation": {"artifactLocation": _artifact(path), "region": region}}


def _artifact(path: str) -> Mapping[str, object]:
    """Return a place relative to the root of the sources, or an absolute one outside of it."""
    # The name of a file that is not UTF-8 has lone surrogates in Python.
    encoded = quote(path.encode("utf-8", "surrogatepass"))
    if PurePath(path).is_absolute():
        return {"uri": f"file://{encoded}"}
    return {"uri": encoded, "uriBaseId": "%SRCROOT%"}

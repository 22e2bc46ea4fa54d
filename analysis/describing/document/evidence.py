"""What the phases and the self-check found, as JSON."""

from __future__ import annotations

from autoparser.analysis.constraining.gate import Gate
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.inference.check import Check, Crash, Failure
from autoparser.analysis.inference.phases import Evidence, Finding
from autoparser.analysis.inference.probing import Probe, Shape

from .plain import plain_mapping


def finding_document(
    finding: Finding, shape: Shape, system: str, markers: dict[str, str]
) -> dict[str, Json]:
    """Return what a phase concluded, and from which renders."""
    return {
        "phase": finding.phase,
        "title": finding.title,
        "conclusion": finding.conclusion,
        "confirmed": finding.confirmed,
        "markers": {name: markers[name] for name in finding.markers if markers.get(name)},
        "evidence": [_evidence(evidence, shape, system) for evidence in finding.evidence],
    }


def _evidence(evidence: Evidence, shape: Shape, system: str) -> dict[str, Json]:
    split = evidence.split
    return {
        "difference": evidence.difference,
        "left": _probe(evidence.left, shape, system),
        "right": _probe(evidence.right, shape, system),
        "split": {
            "prefix": split.prefix,
            "left": split.left,
            "right": split.right,
            "suffix": split.suffix,
        },
    }


def _probe(probe: Probe, shape: Shape, system: str) -> dict[str, Json]:
    error = probe.error
    messages = shape.messages(probe.dialogue, system)
    return {
        "messages": [plain_mapping(message) for message in messages],
        "tools": probe.tools,
        "add_generation_prompt": probe.generation,
        "setting": plain_mapping(probe.setting),
        "text": None if error is not None else probe.text,
        "error": None
        if error is None
        else {"reason": error.reason, "line": error.line, "refused": error.refused},
    }


def check_document(check: Check) -> dict[str, Json]:
    """Return the verdict, with every failure."""
    return {
        **check_counts(check),
        "crashes": [_crash(crash) for crash in check.crashes],
        "failures": [_failure(failure) for failure in check.failures],
    }


def check_counts(check: Check) -> dict[str, Json]:
    """Return the verdict in figures: what passed, and what it rests on."""
    return {
        "passed": check.passed,
        "total": check.total,
        "equal": check.equal,
        "refused": check.refused,
        "crashed": check.crashed,
        "not_asked": check.not_asked,
        "different": len(check.different),
    }


def sandbox_document(check: Check, file: str | None) -> Json:
    """Return what transformers' sandbox alone forbids; null where it forbids nothing."""
    crash = check.forbidden
    if crash is None:
        return None
    return {"file": file, "line": crash.line, "reason": crash.reason, "right": check.freed}


def _crash(crash: Crash) -> dict[str, Json]:
    return {
        "titles": list(crash.titles),
        "line": crash.line,
        "reason": crash.reason,
        "needed": crash.needed,
        "forbidden": crash.forbidden,
        "sandbox_alone": crash.sandbox_alone,
    }


def _failure(failure: Failure) -> dict[str, Json]:
    return {
        "title": failure.title,
        "reason": failure.reason,
        "message": plain_mapping(failure.message.to_dict()),
        "written": failure.written,
        "rendered": failure.rendered,
        "crash": None if failure.crash is None else _crash(failure.crash),
        "foretold": failure.foretold,
    }


def gate_document(gate: Gate) -> dict[str, Json]:
    """Return what became of the texts that the template writes after its prompts."""
    return {
        "asked": gate.asked,
        "passed": gate.passed,
        "not_asked": gate.not_asked,
        "faults": [
            {
                "question": fault.question.value,
                "setting": plain_mapping(fault.setting),
                "title": fault.title,
                "text": fault.text,
                "detail": fault.detail,
            }
            for fault in gate.faults
        ],
    }

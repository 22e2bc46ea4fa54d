"""Hostile templates: each ends in a clear finding, within its limits, without harm."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser import (
    Analysis,
    AutoparserError,
    ChatTemplate,
    Limits,
    TaskOutcome,
    WorkerPool,
    analyze,
)
from autoparser.analysis.core.documents import json_text
from autoparser.analysis.templates.worker_pool import close_workers
from autoparser.errors import (
    LimitKind,
    TemplateRenderError,
    TemplateSyntaxError,
    TemplateUnusableError,
    WorkerDiedError,
)
from autoparser.formats import analysis_document
from autoparser.reports.analysis import analysis_report
from tests.fixture_analyses import TEMPLATES

FIXTURES = TEMPLATES.parent
pytestmark = pytest.mark.slow

CHAT = """{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
"""The text that `with: chat` puts before the attack."""


def text_of(
    template: str,
    *,
    repeat: Mapping[str, Any] | None = None,
    numbered: Mapping[str, Any] | None = None,
    **more: str,
) -> str:
    """Return the text of an attack; its repeated part goes where the template has an `@`."""
    if repeat is not None:
        before, after = repeat["before"] * repeat["times"], repeat.get("after", "")
        # The hole is between the two sides; without a second side, a repeated text fills it.
        template = template.replace("@", before + ("x" if after else "") + after * repeat["times"])
    if numbered is not None:
        parts = (numbered["text"].replace("#", f"{n:05}") for n in range(numbered["times"]))
        template = template.replace("@", "".join(parts))
    return CHAT + template if "with" in more else template


ATTACKS: dict[str, Mapping[str, Any]] = {
    name: members
    for path in sorted((FIXTURES / "attacks").glob("*.yaml"))
    for name, members in yaml.safe_load(path.read_bytes()).items()
}
LIMITS = Limits(render_seconds=0.1, seconds=3, memory=200_000_000, characters=1_000_000)

CANARY = "canary-5f2c71"
"""The secret in the environment and in a file, which must never come out."""

MOST_GROWTH = 100_000_000
"""Bytes by which this process may have grown after all of them; one worker may take twice that."""

TIMES = {LimitKind.RENDER_TIME, LimitKind.TASK_TIME}


@dataclass(frozen=True)
class Aftermath:
    """Whatever remains after all attacks."""

    outcomes: dict[str, TaskOutcome[Analysis]]
    growth: int
    files: dict[str, str]


@pytest.fixture(scope="module")
def aftermath(tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    """Run all attacks, by two workers in an empty directory, with canaries set out."""
    folder = tmp_path_factory.mktemp("attacked")
    (folder / "canary.txt").write_text(CANARY, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("AUTOPARSER_CANARY", CANARY)
        # The pooled workers of other tests would be measured, too.
        close_workers()
        before = resident_bytes()
        with WorkerPool(2, limits=LIMITS) as pool:
            templates = [
                ChatTemplate(text_of(**members), origin=name) for name, members in ATTACKS.items()
            ]
            found = list(pool.map(analyze, templates, name=lambda template: str(template.origin)))
        growth = resident_bytes() - before
    files = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    return Aftermath(dict(zip(ATTACKS, found, strict=True)), growth, files)


def resident_bytes() -> int:
    """Return the bytes that this process has in memory; 0 where the system does not say."""
    status = Path("/proc/self/status")
    found = re.search(r"VmRSS:\s*(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) * 1024 if found else 0


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_ends_as_expected_and_prints_no_control_characters(
    name: str, aftermath: Aftermath
) -> None:
    assert len(ATTACKS) >= 60
    attack, outcome = ATTACKS[name], aftermath.outcomes[name]
    # Whether memory or time runs out first depends on the machine, hence two possible ends.
    assert {*attack["ends"].split(" or ")} & {end_of(outcome.error), "any"}, outcome.error
    assert attack.get("says", "") in str(outcome.error)
    if outcome.value is None:
        shown = [str(outcome.error)]
        assert shown[0].startswith((f"{name}: ", "template: "))
    else:
        report = analysis_report(outcome.value, 80, diffs=True)
        shown = [report.plain, json_text(analysis_document(outcome.value), indent=2)]
    for text in shown:
        assert not [character for character in {*text} - {"\n"} if is_hidden(character)]
        assert CANARY not in text


def end_of(error: AutoparserError | None) -> str:
    """Name the way in which an analysis ended, as the fixtures do."""
    limit = getattr(error, "limit", None)
    if limit is not None:
        # Constants are computed while a template is compiled, which may run into a limit, too.
        return "time" if limit in TIMES else str(limit.value)
    names = {TemplateSyntaxError: "syntax", WorkerDiedError: "died", type(None): "analyzed"}
    refused = {TemplateRenderError: "refused", TemplateUnusableError: "refused"}
    return {**names, **refused}[type(error)]


def is_hidden(character: str) -> bool:
    """Whether a character is one that a terminal obeys, or that shows nothing."""
    category = unicodedata.category(character)
    return category.startswith("C") or category in {"Zl", "Zp"} or character in "\u3164\u115f\ufe0f"


def test_attacks_leave_no_file_memory_or_process(aftermath: Aftermath) -> None:
    assert aftermath.files == {"canary.txt": CANARY}
    assert aftermath.growth < MOST_GROWTH
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)

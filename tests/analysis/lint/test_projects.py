"""Lint of whole projects: files, rules, settings, caches and baselines."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import tomllib
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest
from msgspec import structs

from autoparser import AutoparserError, ChatTemplate, Limits
from autoparser.analysis.lint import template_inspection
from autoparser.analysis.lint.baselines import Ignore
from autoparser.analysis.lint.hit import Confidence, Hit, HitCause, HitEvidence, Severity, ShownText
from autoparser.analysis.lint.inspection import InspectionTask, LintRun, SeenHits
from autoparser.analysis.lint.other_renders import OtherJinja
from autoparser.analysis.lint.project_run import (
    DAY,
    DECIDING,
    UNUSED,
    InspectionCache,
    InspectionKeys,
    LintRequest,
    answers_in_order,
    engine_digest,
    lint_project,
)
from autoparser.analysis.lint.project_settings import (
    FailOn,
    ProjectSettings,
    RuleChoice,
    SettingsError,
    find_settings,
    is_pattern,
    matches_glob,
    read_settings,
)
from autoparser.analysis.lint.project_sources import InputProblem, gather_sources, load_targets
from autoparser.analysis.lint.registry import all_rules, find_rule
from autoparser.analysis.lint.rule import Profile, RuleNeed
from autoparser.analysis.lint.template_inspection import inspect_template
from autoparser.analysis.templates.sandbox_kind import SandboxKind
from tests.analysis.sources.test_written_files import NO_SPACE
from tests.case_tables import case_tables, load_cases

LINT = Path(__file__).parents[3] / "fixtures" / "lint"
RUN = "autoparser.analysis.lint.project_run"
TABLE = case_tables(__file__, "projects.yaml")


# Arguments.

TREE: dict[str, str] = load_cases(__file__, "projects.yaml")["tree"]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in TREE.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("tree")
@TABLE("found")
def test_arguments_resolve_to_sources(case: dict[str, str]) -> None:
    sources, problems = gather_sources(case["arguments"].split(), case.get("exclude", "").split())
    assert sorted(Path(source.argument).as_posix() for source in sources) == case["sources"].split()
    assert problems == ()


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("argument", ["empty", "plain", "no*thing", "."])
def test_argument_without_templates_is_a_problem(argument: str) -> None:
    exclude = ("*.j*", "model", "legacy", "old") if argument == "." else ()
    sources, problems = gather_sources([argument], exclude)
    targets, more = load_targets(sources)
    assert targets == ()
    assert [problem.path for problem in (*problems, *more)] == [argument]


@TABLE("kinds")
def test_non_template_file_problem_names_its_kind(case: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / case["name"]
    if case["bytes"] is not None:
        file.write_bytes(case["bytes"].encode("latin-1"))
    targets, problems = load_targets(gather_sources([str(file)])[0])
    assert targets == ()
    assert [problem.path for problem in problems] == [str(file)]
    assert case["words"] in problems[0].message


@TABLE("globs")
def test_glob_matches_only_its_paths(case: dict[str, Any]) -> None:
    paths = (*case["meets"], *case["misses"])
    assert [path for path in paths if matches_glob(case["pattern"], path)] == case["meets"]


def test_only_wildcards_make_a_pattern() -> None:
    assert all(map(is_pattern, ("a*", "a?", "[a]")))
    assert not any(map(is_pattern, ("a", "org/name", "https://a.example/?b=c")))


# Which rules run, and the settings that decide it.


@TABLE("choices")
def test_most_specific_selector_decides_whether_a_rule_runs(case: dict[str, Any]) -> None:
    given = {key: tuple(case[key]) for key in ("select", "ignore", "extend_select") if key in case}
    wanted = [
        rule.code
        for rule in all_rules()
        if rule.code.startswith(tuple(case["plus"])) or ("DEFAULT" in case["plus"] and rule.default)
        if not rule.code.startswith(tuple(case.get("minus", ())))
    ]
    assert [rule.code for rule in RuleChoice(**given).rules] == wanted


FULL = load_cases(__file__, "projects.yaml")["full"]


def test_every_settings_key_is_read(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(FULL, encoding="utf-8")
    assert find_settings(tmp_path) == ProjectSettings(
        ("AP1", "AP3"),
        ("AP306",),
        ("does-not-compile",),
        {"legacy/**": ("AP3",)},
        FailOn.WARNING,
        Profile.CACHE,
        Severity.WARNING,
        ("vendor", "old/*.jinja"),
        str(tmp_path / "models/tokenizer.json"),
        file,
        tmp_path,
    )


def test_nearest_settings_file_upward_is_used(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    outer, own = tmp_path / "pyproject.toml", tmp_path / "a" / "autoparser.toml"
    outer.write_text(FULL, encoding="utf-8")
    (below / "pyproject.toml").write_text("[tool.other]\nx = 1\n", encoding="utf-8")
    assert find_settings(below).file == outer
    own.write_text('[lint]\nignore = ["AP1"]\n', encoding="utf-8")
    (own.parent / "pyproject.toml").write_text(FULL, encoding="utf-8")
    found = find_settings(below)
    assert (found.file, found.ignore, found.root) == (own, ("AP1",), tmp_path / "a")
    own.write_text("", encoding="utf-8")
    assert (find_settings(below).file, find_settings(below).select) == (own, None)


@TABLE("wrong_settings")
def test_invalid_settings_error_names_the_place(case: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / case.get("file", "pyproject.toml")
    head = "" if "file" in case else "[tool.autoparser.lint]\n"
    file.write_text(f"{head}{case['text']}\n", encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        find_settings(tmp_path)
    error = caught.value
    assert error.file == str(file)
    assert case["place"] in (error.place or "")
    assert case["words"] in error.message
    assert case["hint"] in (error.hint or "")


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "cannot be read"), (b"[tool.other]\n", "no table"), (b"\xff", "UTF-8")],
)
def test_named_settings_file_without_settings_is_an_error(
    content: bytes | None, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "pyproject.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingsError, match=words):
        read_settings(file)


# A run on two templates with a finding each, one of which is in two files.

BROKEN, DROPS = LINT / "AP101" / "fires.jinja", LINT / "AP306" / "fires.jinja"
RULES = (find_rule("AP101"), find_rule("AP306"))
EVERY = [("again.jinja", "AP306"), ("broken.jinja", "AP101"), ("drops.jinja", "AP306")]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(BROKEN, tmp_path / "broken.jinja")
    shutil.copy(DROPS, tmp_path / "drops.jinja")
    shutil.copy(DROPS, tmp_path / "again.jinja")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def request(project: Path, *sources: str, **changes: Any) -> LintRequest:
    settings = ProjectSettings(root=project)
    return structs.replace(LintRequest(sources or (".",), RULES, settings), **changes)


def found(run: LintRun) -> list[tuple[str, str]]:
    return [(template.path, finding.code) for template, finding in run.findings]


@pytest.mark.slow
def test_findings_are_sorted_by_path_with_any_jobs(project: Path) -> None:
    run = lint_project(request(project, jobs=2))
    assert found(run) == EVERY
    assert run == lint_project(request(project))


def test_identical_templates_are_inspected_once(project: Path, recorded: Any) -> None:
    looked = recorded(template_inspection, "inspect_template")
    assert found(lint_project(request(project))) == EVERY
    assert len(looked) == len({task.template.text for (task,) in looked}) == 2


def test_less_confident_findings_can_be_excluded(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unsure = SeenHits((("AP306", Hit("x", confidence=Confidence.MEDIUM)),))
    monkeypatch.setattr(template_inspection, "inspect_template", lambda _: unsure)
    counts = [
        len(found(lint_project(request(project, min_confidence=confidence))))
        for confidence in Confidence
    ]
    assert counts == [0, 3, 3]


def test_tokenizer_order_is_argument_neighbor_settings(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking = Mock(return_value=SeenHits())
    monkeypatch.setattr(template_inspection, "inspect_template", looking)
    needing = (msgspec.structs.replace(RULES[1], needs=RuleNeed.TOKENIZER),)
    settings = ProjectSettings(tokenizer="usual.json")
    asked = request(project, "drops.jinja", rules=needing, settings=settings)
    lint_project(asked)
    (project / "tokenizer.json").write_text("{}", encoding="utf-8")
    lint_project(asked)
    lint_project(structs.replace(asked, tokenizer=Path("named.json")))
    tokenizers = [Path(call.args[0].tokenizer).name for call in looking.call_args_list]
    assert tokenizers == ["usual.json", "tokenizer.json", "named.json"]


def test_unsearchable_folder_is_a_problem(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(folder: str, onerror: Callable[[OSError], None]) -> list[object]:
        onerror(PermissionError(13, "Permission denied", f"{folder}/secret"))
        return [(folder, [], ["drops.jinja"])]

    monkeypatch.setattr("os.walk", refusing)
    run = lint_project(request(project))
    assert found(run) == [("drops.jinja", "AP306")]
    assert run.problems[0].message == "cannot be searched (Permission denied)"


def test_crash_is_a_problem_of_its_template(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_inspection, "run_rules", {}.__getitem__)
    (problem,) = lint_project(request(project, "drops.jinja")).problems
    assert "report it" in problem.hint


HANGS = "{%- for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


@pytest.mark.slow
def test_endless_template_does_not_block_others(project: Path) -> None:
    (project / "hangs.jinja").write_text(f"{HANGS}{{{{ messages }}}}", encoding="utf-8")
    limits = Limits(seconds=3.0, render_seconds=0.2)
    run = lint_project(request(project, limits=limits, jobs=2))
    assert [row for row in found(run) if row[0] != "hangs.jinja"] == EVERY
    seen = {problem.path for problem in run.problems} | {
        template.path for template in run.templates
    }
    assert "hangs.jinja" in seen


def square(value: int) -> int | str:
    if value == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    while value == 8:
        pass
    return value * value


def failed(error: AutoparserError) -> int | str:
    return type(error).__name__


@pytest.mark.slow
@pytest.mark.parametrize(
    ("jobs", "limits", "values", "answers"),
    [
        (1, None, [5, 3, 1, 4, 2], [25, 9, 1, 16, 4]),
        (4, None, [5, 3, 1, 4, 2], [25, 9, 1, 16, 4]),
        (1, Limits(), [5, 3, 1, 4, 2], [25, 9, 1, 16, 4]),
        (2, Limits(seconds=0.5), [6, 7, 8, 9], [36, "WorkerDiedError", "TaskLimitError", 81]),
        (2, Limits(), [], []),
    ],
)
def test_answers_keep_order_and_a_killed_task_loses_only_its_own(
    jobs: int, limits: Limits | None, values: list[int], answers: list[int | str]
) -> None:
    steps: list[int] = []

    def progress(total: int) -> Callable[[], object]:
        return lambda: steps.append(total)

    given = answers_in_order(square, values, jobs, limits=limits, failed=failed, progress=progress)
    assert [*given] == answers
    assert steps == [len(values)] * len(values)


# The cache returns answers unchanged or not at all; its key covers everything they depend on.

KEY = "ab" + "0" * 62
MESSAGE = {"role": "user", "content": ["é", 1, 1.0, True, None, {"big": 2**63}]}
SHOWN = ShownText("a render", "text with ↵\n and \x00", "", (MESSAGE,), ((0, 1), (5, 3)))
EVIDENCE = (HitEvidence(SHOWN), HitEvidence(SHOWN, ShownText("no", error="it raises")))
CAUSE = HitCause("raises", 3, "words")
SETTING = {"enable_thinking": False, "level": None}
HIT = Hit("lost", EVIDENCE, 3, "keep it", Severity.ERROR, Confidence.LOW, CAUSE, SETTING)
SEEN = SeenHits(
    (("AP301", HIT), ("AP101", Hit("nothing else"))),
    (("AP606", RuleNeed.TOKENIZER),),
    (),
    (Ignore(("AP3",), "meant so", 2),),
    (InputProblem("", "no such verb", "write ignore", "", 4),),
)


@pytest.fixture
def cache(tmp_path: Path) -> InspectionCache:
    return InspectionCache(tmp_path / "cache")


def entries(folder: Path) -> list[Path]:
    return [path for path in folder.glob("cache/??/*") if path.is_file()]


def test_cached_answer_equals_the_stored_one(cache: InspectionCache) -> None:
    cache.put(KEY, SEEN)
    found = cache.get(KEY)
    # Compare the representation, too: 1, 1.0 and True are equal, and origins are not compared.
    assert (found, repr(found)) == (SEEN, repr(SEEN))
    frozen = SeenHits((("AP301", Hit("it is lost", setting=MappingProxyType({"on": 1}))),))
    cache.put(KEY, frozen)
    assert cache.get(KEY) == frozen


@pytest.mark.parametrize("troubles", [(), (InputProblem("", "the tokenizer cannot be read"),)])
def test_answer_with_problems_is_not_cached(
    troubles: tuple[InputProblem, ...], cache: InspectionCache, tmp_path: Path
) -> None:
    cache.put(KEY, SeenHits(troubles=troubles, looked=bool(troubles)))
    assert (cache.get(KEY), entries(tmp_path)) == (None, [])


@pytest.mark.parametrize("value", ["a lone \ud800", 2**80, {1}], ids=ascii)
def test_non_json_value_is_cached_unchanged_or_not_at_all(
    value: object, cache: InspectionCache
) -> None:
    shown = ShownText("", messages=({"at": value},))
    seen = SeenHits((("AP101", Hit("", (HitEvidence(shown),))),))
    cache.put(KEY, seen)
    assert repr(cache.get(KEY)) in {repr(seen), "None"}


def damaged(damage: str, content: bytes) -> bytes:
    """Spoil an entry, or sign another body."""
    match damage:
        case "cut":
            return content[:-1]
        case "a byte is another":
            return content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]
        case _:
            return hashlib.sha256(BODIES[damage]).digest() + BODIES[damage]


BODIES = {
    "not compressed": b"nothing",
    "no message": zlib.compress(b"\xc1"),
    "another value": zlib.compress(b"\x93\x01\x02\x03"),
    "not UTF-8": zlib.compress(b"\x81\xa4hits\xa1\xff"),
}


@pytest.mark.parametrize("damage", ["cut", "a byte is another", *BODIES])
def test_damaged_cache_entry_is_a_miss(damage: str, cache: InspectionCache, tmp_path: Path) -> None:
    cache.put(KEY, SEEN)
    (entry,) = entries(tmp_path)
    entry.write_bytes(damaged(damage, entry.read_bytes()))
    assert cache.get(KEY) is None
    cache.put(KEY, SEEN)
    assert cache.get(KEY) == SEEN


def test_folder_as_entry_or_file_as_cache_folder_does_not_crash(tmp_path: Path) -> None:
    (tmp_path / "cache" / KEY[:2] / KEY[2:]).mkdir(parents=True)
    (tmp_path / "file").write_text("here")
    for folder in ("cache", "file"):
        cache = InspectionCache(tmp_path / folder)
        cache.put(KEY, SEEN)
        cache.sweep()
        assert cache.get(KEY) is None
    assert (tmp_path / "file").read_text() == "here"


def test_full_disk_leaves_no_partial_entry(
    cache: InspectionCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put(KEY, SEEN)
    monkeypatch.setattr(os, "fsync", NO_SPACE)
    cache.put("cd" + KEY[2:], SEEN)
    cache.put(KEY, SeenHits())
    assert len(entries(tmp_path)) == 1
    assert cache.get(KEY) == SEEN


def test_unused_entries_are_removed_once_a_day(cache: InspectionCache, tmp_path: Path) -> None:
    old, asked = "ab" + "1" * 62, "cd" + "2" * 62
    for key in (KEY, old, asked):
        cache.put(key, SEEN)
    month = tmp_path.stat().st_mtime - UNUSED - DAY
    for entry in entries(tmp_path):
        if entry.name != KEY[2:]:
            os.utime(entry, (month, month))
    assert cache.get(asked) == SEEN
    cache.sweep()
    assert {entry.parent.name + entry.name for entry in entries(tmp_path)} == {KEY, asked}
    for entry in entries(tmp_path):
        os.utime(entry, (month, month))
    cache.sweep()
    assert len(entries(tmp_path)) == 2


def test_current_time_does_not_change_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    class Asked:
        @staticmethod
        def now() -> None:
            raise AssertionError

    for module in ("templates.environment", "history.history_renders"):
        monkeypatch.setattr(f"autoparser.analysis.{module}.datetime", Asked)
    text = "{{- strftime_now('%d %b %Y') }}{% for m in messages %}{{ m.content }}{% endfor %}"
    seen = inspect_template(InspectionTask(ChatTemplate(text), ("AP603", "AP605", "AP901")))
    assert [code for code, _ in seen.hits] == ["AP603"]


# Keys.


@pytest.fixture
def task(tmp_path: Path) -> InspectionTask:
    for name in ("tokenizer.json", "generation_config.json"):
        (tmp_path / name).write_text("{}")
    template = ChatTemplate("{{ messages }}", {"bos_token": "<s>"}, name="default", origin="a")
    return InspectionTask(template, ("AP101",), str(tmp_path / "tokenizer.json"), tmp_path)


def test_every_input_of_an_answer_changes_its_cache_key(task: InspectionTask) -> None:
    def key(limits: Limits | None = None, *, template: Any = (), **changes: Any) -> str | None:
        changed = replace(task.template, **dict(template))
        return InspectionKeys(limits).task_key(structs.replace(task, template=changed, **changes))

    keys = [key(limits) for limits in (None, Limits(), Limits(seconds=1), Limits(memory=10**8))]
    keys += [
        key(template={"text": "{{ messages }} "}),
        key(template={"text": "{{ messages }}\ud800"}),
        key(template={"special_tokens": {"bos_token": "<t>"}}),
        key(template={"special_tokens": {"eos_token": "<s>"}}),
        key(template={"sandbox": SandboxKind.MUTABLE}),
        key(rules=("AP101", "AP102")),
        key(tokenizer=None),
        key(directory=None),
    ]
    assert len(set(keys)) == len(keys)
    assert key(template={"name": "tool_use", "origin": "b"}) == keys[0]
    # There is no key for inputs whose changes cannot be detected.
    assert key(jinjas=(OtherJinja("minijinja", "2.0", ("python",)),)) is None
    assert key(tokenizer="some/model") is None


def test_changed_model_files_change_the_cache_key(task: InspectionTask, tmp_path: Path) -> None:
    tokenizer, config = tmp_path / "tokenizer.json", tmp_path / "generation_config.json"

    def key() -> str | None:
        return InspectionKeys(None).task_key(task)

    keys = [key()]
    assert keys == [key()]
    now = tokenizer.stat().st_mtime_ns
    os.utime(tokenizer, ns=(now, now + 1))
    keys.append(key())
    then = config.stat()
    config.unlink()
    config.write_text("[]")
    os.utime(config, ns=(then.st_atime_ns, then.st_mtime_ns))  # same size and modification time
    keys.append(key())
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "rag.jinja").write_text("x")
    keys.append(key())
    assert len(set(keys)) == len(keys)


def test_changed_package_changes_the_engine_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = tmp_path / "lint" / "rule.py"
    (tmp_path / "__pycache__").mkdir()
    rule.parent.mkdir()

    def digest(text: str) -> str:
        rule.write_text(text)
        engine_digest.cache_clear()
        return engine_digest()

    with monkeypatch.context() as patch:
        patch.setattr(f"{RUN}.HOME", tmp_path)
        one, two = digest("one"), digest("two")
        os.utime(rule, ns=(1, 1))
        (tmp_path / "__pycache__" / "rule.pyc").write_text("anything")
        assert digest("one") == one != two
        patch.setattr(f"{RUN}.__version__", "9.9")
        assert digest("one") not in {one, two}
    assert digest("") not in {one, two}


def test_engine_digest_is_cached_until_a_file_changes(
    tmp_path: Path, recorded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, folder = tmp_path / "home", tmp_path / "cache"
    home.mkdir()
    rule = home / "rule.py"

    def digest(text: str | None = None) -> str:
        if text is not None:
            rule.write_text(text)
        engine_digest.cache_clear()
        return engine_digest(folder)

    with monkeypatch.context() as patch:
        patch.setattr(f"{RUN}.HOME", home)
        first = digest("one")
        read = recorded(Path, "read_bytes")
        assert (digest(), read) == (first, [])
        # Same size and modification time, but another file.
        then = rule.stat()
        assert digest("two") != first
        os.utime(rule, ns=(then.st_atime_ns, then.st_mtime_ns))
        assert digest() == digest("two") != first
        (folder / "engine").write_bytes(b"\xff damaged")
        assert digest("one") == first
    engine_digest.cache_clear()


OF_NO_PART = {"huggingface-hub", "httpx2", "llguidance", "msgspec", "packaging", "platformdirs"}
OF_NO_PART |= {"pyyaml", "rich", "typer"}
"""Packages without which rules would find the same."""


def test_every_dependency_is_in_the_cache_key_or_excluded() -> None:
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    needed = tomllib.loads(text)["project"]["dependencies"]
    assert {re.split(r"[^\w-]", line)[0] for line in needed} == {*DECIDING} | OF_NO_PART

"""A run over many templates: load them, inspect them, and separate accepted and known findings.

For a folder with one file, `chat.jinja`, that strips all content, passes lists of parts to `strip`,
and has the comment `{#- autoparser: ignore AP108 text only -#}`:

    run = lint_project(LintRequest((".",), rules, settings))
    (template,) = run.templates
    [finding.code for finding in template.findings]  # ['AP301', 'AP302']
    [finding.code for finding in template.ignored]  # ['AP108']
    run.failed  # False: AP301 is a warning, and `fail_on` is ERROR
"""

from __future__ import annotations

import hashlib
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, TypeVar

from msgspec import MsgspecError, Struct, msgpack
from msgspec.structs import replace

from autoparser import __version__
from autoparser.analysis.core.conversation import Tool
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.sources.local_files import (
    HOME,
    cached_file,
    files_below,
    read_path,
)
from autoparser.analysis.sources.written_files import cache_file
from autoparser.analysis.templates.worker_limits import NO_LIMITS, Limits

from .baselines import Baseline, Ignore, KnownFinding, finding_digest, unused_ignores
from .hit import Confidence
from .inspection import (
    InspectedTemplate,
    InspectionTask,
    LintRun,
    SeenHits,
)
from .linting import SHOWING_ALL, FindingFilter, LintFinding, merge_findings
from .project_settings import (
    FailOn,
    ProjectSettings,
    matches_glob,
    plain_folder,
    selected_codes,
)
from .project_sources import InputProblem, LintTarget, gather_sources, load_targets, relative_to
from .registry import find_rule, import_checks
from .rule import Rule, RuleNeed

if TYPE_CHECKING:
    from .other_renders import OtherJinja

# Cached results of inspections, for the next run over the same templates. A cached result gives the
# same reports, byte for byte; an entry that is damaged, truncated or of another kind is ignored.
# Entries are plain values, verified by a digest and never executed. Entries unused for a month are
# removed.


# The key of a result: equal keys mean equal results. It covers the task, the content of the files
# that it names, the limits, the engine and the packages that render, parse and encode for it. The
# engine is identified by its source text, not by dates: editing a rule invalidates its results, and
# another machine with the same engine has the same keys. Rules render at a fixed time, so the date
# is not part of it.


DECIDING = ("jinja2", "jiter", "jsonschema", "markupsafe", "referencing", "tokenizers")
"""Packages that influence findings."""

Stamp = tuple[str, int, int, int, int]
"""A path with the attributes by which a changed file is recognized."""


class InspectionKeys:
    """The keys of one run, which lists each directory once."""

    def __init__(self, limits: Limits | None, folder: Path | None = None) -> None:
        """Store the limits of the inspections, and the cache's folder."""
        self._limits = limits
        self._folder = folder
        self._stamps: dict[Path, tuple[Stamp, ...]] = {}

    def task_key(self, task: InspectionTask) -> str | None:
        """Return the key of a task, or None if its result must not be cached."""
        if task.jinjas:
            # Other implementations read the real clock, and their environment may change.
            return None
        stamps: tuple[Stamp, ...] = ()
        if task.tokenizer is not None:
            path = Path(task.tokenizer)
            if not path.exists():
                # A model on the Hub may change.
                return None
            stamps += self._directory_stamps(path if path.is_dir() else path.parent)
        if task.directory is not None:
            stamps += self._directory_stamps(task.directory)
        saved = None if task.saved_format is None else read_path(Path(task.saved_format))
        template = task.template
        tokens = sorted(template.special_tokens.items())
        parts = (
            engine_digest(self._folder),
            template.text,
            tokens,
            template.sandbox,
            task.rules,
            self._limits,
        )
        places = (task.tokenizer, str(task.directory), stamps, saved, task.tools)
        # Strings may hold lone surrogates, which UTF-8 cannot encode.
        content = repr((parts, places)).encode("utf-8", "backslashreplace")
        return hashlib.sha256(content).hexdigest()

    def _directory_stamps(self, directory: Path) -> tuple[Stamp, ...]:
        if directory not in self._stamps:
            self._stamps[directory] = tuple(map(_stamp, sorted(files_below(directory, depth=1))))
        return self._stamps[directory]


@cache
def engine_digest(folder: Path | None = None) -> str:
    """Return a digest of the engine and the packages that influence it.

    It is stored in the cache's `folder` and recomputed only if a file's stamp changes: reading the
    engine takes longer than reading the cache.
    """
    files = sorted(files_below(HOME))
    places = (*files, *_package_places())
    stamps = repr((__version__, sys.version, [_stamp(place) for place in places]))
    known_stamps = hashlib.sha256(stamps.encode("utf-8", "backslashreplace")).hexdigest()
    entry = None if folder is None else folder / "engine"
    kept = b"" if entry is None else cached_file(entry) or b""
    match kept.decode("ascii", "replace").split():
        case [stamped, digest] if stamped == known_stamps and len(digest) == len(stamped):
            return digest
        case _:
            digest = _engine_digest(files)
    if entry is not None:
        cache_file(entry, f"{known_stamps} {digest}".encode())
    return digest


def _package_places() -> Iterator[str]:
    """Yield the folders whose stamps change if a package is installed, updated or removed."""
    for name in DECIDING:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            package = Path(spec.origin).parent
            yield from (spec.origin, str(package), str(package.parent))


def _engine_digest(files: Iterable[str]) -> str:
    found = hashlib.sha256(repr((__version__, sys.version)).encode())
    for name in DECIDING:
        found.update(f"{name} {_version(name)}\n".encode())
    for path in files:
        found.update(repr(os.path.relpath(path, HOME)).encode())
        found.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return found.hexdigest()


def _version(name: str) -> str:
    # Imported here: it is slow to import, and needed only if results are cached.
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _stamp(path: str) -> Stamp:
    try:
        found = Path(path).stat()
    except OSError:
        return path, 0, 0, 0, 0
    return path, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


DAY = 24 * 3600.0
UNUSED = 30 * DAY
"""The age in seconds after which an unused entry is removed."""

_DIGEST = hashlib.sha256().digest_size

_LARGEST, _LARGEST_UNPACKED = 1 << 20, 16 << 20
"""The maximum size of an entry, packed and unpacked, in bytes; real ones have some thousands. The
main process reads entries, and no limit protects it."""


class InspectionCache:
    """The results in one folder."""

    def __init__(self, folder: Path) -> None:
        """Store the folder, which need not exist."""
        self._folder = folder
        self._decoder = msgpack.Decoder(SeenHits)

    def get(self, key: str) -> SeenHits | None:
        """Return the cached result for a key, or None."""
        entry = self._entry(key)
        found = cached_file(entry, largest=_LARGEST)
        if found is None:
            return None
        digest, body = found[:_DIGEST], found[_DIGEST:]
        if hashlib.sha256(body).digest() != digest:
            return None
        try:
            unpacked = zlib.decompressobj()
            seen = self._decoder.decode(unpacked.decompress(body, _LARGEST_UNPACKED))
        except (MsgspecError, RecursionError, UnicodeDecodeError, zlib.error):
            return None
        # The last use is stored to the day, which suffices for entries kept for a month.
        if _age(entry) > DAY:
            with suppress(OSError):
                os.utime(entry)
        return seen

    def put(self, key: str, seen_hits: SeenHits) -> None:
        """Cache a result, unless it had problems, which may be temporary."""
        if seen_hits.troubles or not seen_hits.looked:
            return
        try:
            content = msgpack.encode(seen_hits, enc_hook=dict)
            read = self._decoder.decode(content)
            # 1 and True are equal but encode differently; a set and a list encode alike.
            same = read == seen_hits and msgpack.encode(read) == content
        except (MsgspecError, OverflowError, TypeError, ValueError):
            # Some strings and numbers cannot be encoded.
            return
        if same:
            body = zlib.compress(content, 1)
            cache_file(self._entry(key), hashlib.sha256(body).digest() + body)

    def sweep(self) -> None:
        """Remove entries unused for a month, at most once a day."""
        marker = self._folder / "swept"
        if _age(marker) < DAY:
            return
        cache_file(marker, b"")
        for entry in self._folder.glob("??/*"):
            if _age(entry) > UNUSED:
                with suppress(OSError):
                    entry.unlink()

    def _entry(self, key: str) -> Path:
        return self._folder / key[:2] / key[2:]


def _age(path: Path) -> float:
    """Return the seconds since a file was last written or used; infinity if it does not exist."""
    try:
        return time() - path.stat().st_mtime
    except OSError:
        return float("inf")


# Work on many values in worker processes, with results in the order of the values. No other module
# starts workers.


_Value = TypeVar("_Value")
_Answer = TypeVar("_Answer")


def answers_in_order(
    work: Callable[[_Value], _Answer],
    values: Sequence[_Value],
    jobs: int,
    *,
    limits: Limits | None,
    failed: Callable[[AutoparserError], _Answer],
    progress: Callable[[int], Callable[[], object]],
) -> Iterator[_Answer]:
    """Yield the results for all values, in order.

    With `limits`, each value runs in a worker within them; without, workers run only for several
    jobs. `failed` gives the result if a limit is reached or a worker dies. `progress` receives the
    number of values and returns a callback for each finished one.
    """
    if not values:
        return
    if limits is None and min(jobs, len(values)) <= 1:
        advance = progress(len(values))
        for value in values:
            yield work(value)
            advance()
        return
    from autoparser.analysis.templates.worker_pool import WorkerPool  # noqa: PLC0415 - multiprocessing

    with WorkerPool(min(jobs, len(values)) or 1, limits=limits or NO_LIMITS) as pool:
        # Call `progress` after forking: it may start a thread, and a process with threads must not
        # fork.
        advance = progress(len(values))
        for outcome in pool.map(work, values):
            advance()
            yield failed(outcome.error) if outcome.error is not None else outcome.result()


_CONFIDENCES = [*Confidence]


class LintRequest(Struct, frozen=True):
    """The templates to inspect, the rules to run, and the findings that count."""

    sources: tuple[str, ...]
    """Paths, patterns, Hub names or ``-``."""
    rules: tuple[Rule, ...]
    """The rules to run, e.g. AP101 ``does-not-compile``."""
    settings: ProjectSettings
    """The settings of the project, e.g. those with ``extend-select = ["AP701"]``."""
    fail_on: FailOn = FailOn.ERROR
    """The severity from which findings fail the run, e.g. ``FailOn.ERROR``."""
    min_confidence: Confidence = Confidence.LOW
    """The lowest confidence that counts, e.g. ``Confidence.LOW``."""
    finding_filter: FindingFilter = SHOWING_ALL
    """The findings to show, e.g. ``FindingFilter(Profile.STRICT, Severity.INFO, frozenset())``."""
    tokenizer: Path | None = None
    """A tokenizer that replaces those beside the templates, e.g. ``models/base/tokenizer.json``;
    the settings' one is only a fallback."""
    baseline: Baseline | None = None
    """The known findings, e.g. from ``--baseline lint-baseline.json``, or None without a
    baseline."""
    revision: str | None = None
    """The revision of models on the Hub, e.g. ``main``."""
    template_place: str | None = None
    """The path of a saved format's template, or None for its original place."""
    jobs: int = 1
    """The number of worker processes, e.g. 2."""
    limits: Limits | None = None
    """The limits for inspecting one template, e.g. ``Limits(render_seconds=5.0, seconds=60.0, …)``,
    or None if the templates are trusted."""
    jinjas: tuple[OtherJinja, ...] = ()
    """Other Jinja implementations to compare renders with, e.g. minijinja 3.0.5."""
    cache: Path | None = None
    """The folder of cached results, e.g. that of ``--cache-dir``, or None without a cache."""
    tools: tuple[Tool, ...] = ()
    """Functions to render with instead of the rules' own, without wrappers, e.g. ``get_weather`` of
    ``--tools``."""


def lint_project(
    request: LintRequest, progress: Callable[[int], Callable[[], object]] | None = None
) -> LintRun:
    """Inspect all templates of the sources.

    `progress` receives the number of distinct templates and returns a callback for each finished
    one. Errors of sources and templates are not raised but reported in the run.
    """
    settings = request.settings
    sources, wrong_sources = gather_sources(request.sources, settings.exclude, settings.root)
    targets, wrong_files = load_targets(sources, request.revision, request.template_place)
    tasks = [_task(target, request) for target in targets]
    # Copies of one template, as in a folder of models, are inspected once.
    distinct = {task.identity: task for task in tasks}
    seen = _find_answers(distinct, request, progress or (lambda _: lambda: None))
    problems = [*(source for source in wrong_sources if not source.in_folder), *wrong_files]
    templates: list[InspectedTemplate] = []
    for target, task in zip(targets, tasks, strict=True):
        template, wrong = _inspect_target(target, seen[task.identity], request)
        problems += wrong
        if template is not None:
            templates.append(template)
    run = LintRun(
        tuple(templates),
        _with_shown_paths(problems),
        request.rules,
        request.fail_on,
        request.finding_filter,
        left_out=_with_shown_paths(source for source in wrong_sources if source.in_folder),
        unmatched=tuple(_unmatched_patterns(request, targets)),
    )
    return run if request.baseline is None else _less_known(run, request.baseline)


def _with_shown_paths(problems: Iterable[InputProblem]) -> tuple[InputProblem, ...]:
    return tuple(replace(problem, path=shown_path(problem.path)) for problem in problems)


def _find_answers(
    tasks: Mapping[object, InspectionTask],
    request: LintRequest,
    progress: Callable[[int], Callable[[], object]],
) -> dict[object, SeenHits]:
    """Return the result of each task, from the cache if possible."""
    cache = None if request.cache is None else InspectionCache(request.cache)
    keys = InspectionKeys(request.limits, request.cache)
    found: dict[object, SeenHits] = {}
    waiting: dict[object, str | None] = {}
    for identity, task in tasks.items():
        key = None if cache is None else keys.task_key(task)
        seen = None if cache is None or key is None else cache.get(key)
        if seen is None:
            waiting[identity] = key
        else:
            found[identity] = seen
    if not waiting:
        # If all results are cached, do not import the engine, which takes longer than the rest.
        return found
    from .template_inspection import inspect_template  # noqa: PLC0415

    # Import the checks before forking, so that no task's time limit includes it.
    import_checks(request.rules)
    answers = answers_in_order(
        inspect_template,
        [tasks[identity] for identity in waiting],
        request.jobs,
        limits=request.limits,
        failed=_answer_beyond,
        progress=progress,
    )
    for (identity, key), seen in zip(waiting.items(), answers, strict=True):
        found[identity] = seen
        if cache is not None and key is not None:
            cache.put(key, seen)
    if cache is not None:
        cache.sweep()
    return found


def _answer_beyond(error: AutoparserError) -> SeenHits:
    """Return the result for a template that exceeded a limit."""
    return SeenHits(troubles=(InputProblem("", error.message, error.hint or ""),), looked=False)


def watched_places(sources: Sequence[str], settings: ProjectSettings) -> list[Path]:
    """Return the files and folders whose changes affect a run."""
    found, _ = gather_sources(sources, settings.exclude, settings.root)
    places = [Path(source) for source in sources]
    for source in found:
        path = Path(source.argument)
        if path.exists():
            places.append(path if source.within is None or path.is_dir() else path.parent)
    return [*dict.fromkeys(places)]


def shown_path(path: str) -> str:
    """Return a path as reports show it: relative to the working directory if below it."""
    with suppress(OSError, ValueError):
        if Path(path).exists():
            return relative_to(path, Path.cwd().resolve()) or Path(path).as_posix()
    return path


def make_baseline(run: LintRun) -> Baseline:
    """Return a baseline that knows every finding of a run."""
    return Baseline(tuple(_known_finding(*finding) for finding in run.findings))


def _task(target: LintTarget, request: LintRequest) -> InspectionTask:
    needs = {rule.needs for rule in request.rules}
    # The request's tokenizer was chosen for this run; the settings' tokenizer is a fallback.
    tokenizer = request.tokenizer or target.tokenizer or request.settings.tokenizer
    return InspectionTask(
        target.template,
        tuple(rule.code for rule in request.rules),
        str(tokenizer) if tokenizer is not None and RuleNeed.TOKENIZER in needs else None,
        target.directory if RuleNeed.DIRECTORY in needs else None,
        request.jinjas if RuleNeed.OTHER_JINJAS in needs else (),
        target.saved_format,
        request.tools,
    )


def _inspect_target(
    target: LintTarget, seen_hits: SeenHits, request: LintRequest
) -> tuple[InspectedTemplate | None, tuple[InputProblem, ...]]:
    """Apply settings, ignore comments and the profile to the hits in a template."""
    if not seen_hits.looked:
        return None, tuple(replace(trouble, path=target.path) for trouble in seen_hits.troubles)
    ignores = seen_hits.ignores
    problems = tuple(replace(comment, path=target.path) for comment in seen_hits.wrong_comments)
    if not target.in_lines:
        problems = tuple(
            replace(problem, line=None, place=f"line {problem.line} of the template")
            for problem in problems
        )
    accepted = _accepted_codes(target, ignores, request.settings)
    seen = seen_hits.findings
    # Set findings aside before merging: an ignored finding must not hide another of its cause.
    findings, ignored = _split_findings(
        [finding for finding in seen if _is_sure(finding, request)],
        lambda finding: finding.code in accepted,
    )
    shown, folded = _split_findings(
        merge_findings(findings, request.finding_filter),
        lambda finding: not request.finding_filter.shows(finding),
    )
    looked = {rule.code for rule in request.rules} - {code for code, _ in seen_hits.left_out}
    met = frozenset(finding.code for finding in seen)
    template = InspectedTemplate(
        shown_path(target.path),
        target.name,
        target.template,
        target.in_lines,
        shown,
        ignored=merge_findings(ignored),
        folded=folded,
        # A rule that was skipped might have found something.
        unused=tuple(ignore for ignore in unused_ignores(ignores, met) if ignore.codes <= looked),
        remarks=tuple(
            f"{trouble.path or target.path}: {trouble.message}" for trouble in seen_hits.troubles
        ),
        left_out=tuple((find_rule(code), need) for code, need in seen_hits.left_out),
        evidence=seen_hits.evidence,
        unwritten=seen_hits.unwritten,
        linked_out=target.linked_out,
    )
    return template, problems


def _accepted_codes(
    target: LintTarget, ignores: Sequence[Ignore], settings: ProjectSettings
) -> frozenset[str]:
    codes = {code for ignore in ignores for code in ignore.codes}
    path = _path_in_project(target, settings)
    for pattern, selectors in settings.per_file_ignores.items():
        if matches_glob(pattern, path):
            codes |= selected_codes(selectors)
    return frozenset(codes)


def _path_in_project(target: LintTarget, settings: ProjectSettings) -> str:
    below = relative_to(target.path, settings.root)
    return target.path if below is None else below


def _unmatched_patterns(request: LintRequest, targets: Sequence[LintTarget]) -> Iterator[str]:
    """Yield the patterns of `per-file-ignores` that match no template.

    A pattern of files elsewhere, which this run did not look at, is none of them.
    """
    settings = request.settings
    paths = [_path_in_project(target, settings) for target in targets]
    folders = [Path(source).resolve() for source in request.sources if Path(source).is_dir()]
    for pattern in settings.per_file_ignores:
        if any(matches_glob(pattern, path) for path in paths):
            continue
        folder = settings.root / plain_folder(pattern)
        if not folder.exists() or any(folder.is_relative_to(searched) for searched in folders):
            yield pattern


def _is_sure(finding: LintFinding, request: LintRequest) -> bool:
    order = _CONFIDENCES.index
    return order(finding.confidence) <= order(request.min_confidence)


def _split_findings(
    findings: Sequence[LintFinding], aside: Callable[[LintFinding], bool]
) -> tuple[tuple[LintFinding, ...], tuple[LintFinding, ...]]:
    """Return the findings that stay, and those that are set aside."""
    return (
        tuple(finding for finding in findings if not aside(finding)),
        tuple(finding for finding in findings if aside(finding)),
    )


def _less_known(run: LintRun, baseline: Baseline) -> LintRun:
    findings = [_known_finding(*finding) for finding in run.findings]
    known = iter(baseline.match(findings))
    templates: list[InspectedTemplate] = []
    for template in run.templates:
        marks = [(finding, next(known)) for finding in template.findings]
        templates.append(
            replace(
                template,
                findings=tuple(finding for finding, is_known in marks if not is_known),
                baseline_findings=tuple(finding for finding, is_known in marks if is_known),
            )
        )
    looked_at = {
        (template.path, template.name or "", rule.code)
        for template in run.templates
        for rule in run.rules
    }
    # A hidden finding still exists, so its baseline entry is not obsolete.
    folded = [
        _known_finding(template, finding)
        for template in run.templates
        for finding in template.folded
    ]
    vanished = baseline.count_vanished([*findings, *folded], looked_at)
    return replace(run, templates=tuple(templates), baseline=True, vanished=vanished)


def _known_finding(template: InspectedTemplate, finding: LintFinding) -> KnownFinding:
    name, digest = template.name or "", finding_digest(finding)
    return KnownFinding(template.path, name, finding.code, digest, finding.message)

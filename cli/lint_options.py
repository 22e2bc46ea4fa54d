"""What `lint` shows of which templates, as options and settings say; `fix` fixes just that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import AutoparserError, spelling_hint
from autoparser.analysis.templates.worker_limits import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoparser.analysis.core.conversation import Tool
    from autoparser.analysis.lint.baselines import Baseline
    from autoparser.analysis.lint.linting import FindingFilter
    from autoparser.analysis.lint.other_jinjas import OtherJinja
    from autoparser.analysis.lint.project_run import LintRequest
    from autoparser.analysis.lint.project_settings import ProjectSettings, RuleChoice
    from autoparser.analysis.lint.rule import Profile


def lint_cache(given: Path | None, *, wanted: bool) -> Path | None:
    """Return the folder of the cache. Raises AutoparserError for one that there cannot be."""
    if not wanted:
        return None
    if given is None:
        from platformdirs import user_cache_path

        return user_cache_path("autoparser", appauthor=False) / "lint"
    try:
        given.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AutoparserError(
            f"this cannot be the folder of the cache ({error.strerror or type(error).__name__})",
            file=str(given),
            hint="name another one with --cache-dir, or give --no-cache",
        ) from None
    return given


def lint_settings(config: Path | None, *, isolated: bool) -> ProjectSettings:
    """Return the settings that a project has, or none."""
    # Imported here so that help does without the engine.
    from autoparser.analysis.lint.project_settings import (
        ProjectSettings,
        find_settings,
        read_settings,
    )

    if isolated:
        return ProjectSettings()
    return find_settings(Path.cwd()) if config is None else read_settings(config)


def lint_request(
    sources: Sequence[str],
    settings: ProjectSettings,
    chosen: tuple[Sequence[str] | None, Sequence[str] | None, Sequence[str] | None],
    *,
    min_confidence: str,
    shown: tuple[str | None, str | None],
    template_place: str | None,
    tokenizer: Path | None,
    baseline: Path | None,
    revision: str | None,
    jobs: int | None,
    limits: Limits | None,
    cache: Path | None,
    fail_on: str | None = None,
    jinjas: tuple[OtherJinja, ...] = (),
    tools: tuple[Tool, ...] = (),
) -> LintRequest:
    """Return what is to be looked at and what of it counts, as options and settings say.

    `chosen` are the rules to select, to ignore and to add, `shown` the profile and the severity.
    Raises AutoparserError where that contradicts itself, or leaves no rule.
    """
    from autoparser.analysis.lint.hit import Confidence
    from autoparser.analysis.lint.project_run import LintRequest
    from autoparser.analysis.lint.project_settings import FailOn, RuleChoice
    from autoparser.analysis.lint.registry import all_rules, rules_for
    from autoparser.analysis.lint.rule import RuleNeed
    from autoparser.analysis.sources.tokenizer_loading import load_tokenizer
    from autoparser.analysis.templates.worker_pool import usual_jobs

    select, ignore, extend = chosen
    selected = settings.select if select is None else _listed(select)
    profile = _profile(settings, shown[0], chosen=selected is not None)
    beside = [each.code for each in all_rules() if jinjas and each.needs is RuleNeed.OTHER_JINJAS]
    if selected is None:
        beside += [each.code for each in rules_for(profile)]
    choice = RuleChoice(
        selected,
        settings.ignore if ignore is None else _listed(ignore),
        (*settings.extend_select, *_listed(extend or []), *beside),
    )
    rules = choice.rules
    if not rules:
        raise AutoparserError("no rule is left to look", hint="select more, or ignore less")
    for given in (tokenizer, settings.tokenizer):
        if given is not None:
            # Read once here, so that it is an error of its own and not one of every template.
            load_tokenizer(given)
    usual = settings.fail_on or FailOn.ERROR
    return LintRequest(
        tuple(sources),
        rules,
        settings,
        usual if fail_on is None else FailOn(_one_of(fail_on, [*FailOn], "--fail-on")),
        Confidence(_one_of(min_confidence, [*Confidence], "--min-confidence")),
        _filter(settings, profile, shown[1], choice),
        tokenizer,
        None if baseline is None else _baseline(baseline),
        revision,
        template_place,
        jobs or usual_jobs(),
        limits,
        jinjas,
        cache,
        tools,
    )


def _profile(settings: ProjectSettings, given: str | None, *, chosen: bool) -> Profile:
    """Return whose findings are shown: whoever selects rules and names none wants all they find."""
    from autoparser.analysis.lint.rule import Profile

    if given is not None:
        return Profile(_one_of(given, [*Profile], "--profile"))
    return settings.profile or (Profile.STRICT if chosen else Profile.RELEASE)


def _filter(
    settings: ProjectSettings, profile: Profile, severity: str | None, choice: RuleChoice
) -> FindingFilter:
    """Return what is shown."""
    from autoparser.analysis.lint.hit import Severity
    from autoparser.analysis.lint.linting import FindingFilter
    from autoparser.analysis.lint.project_settings import codes_of

    return FindingFilter(
        profile,
        settings.min_severity or Severity.INFO
        if severity is None
        else Severity(_one_of(severity, [*Severity], "--min-severity")),
        codes_of(choice.extend_select),
    )


def _listed(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(each.strip() for text in given for each in text.split(",") if each.strip())


def _one_of(given: str, known: Sequence[str], option: str) -> str:
    if given in known:
        return given
    hint = spelling_hint(given, known, f"there are {', '.join(known)}")
    raise AutoparserError(f"{option} cannot be {given!r}", hint=hint)


def _baseline(file: Path) -> Baseline:
    from autoparser.analysis.lint.baselines import read_baseline

    return read_baseline(file)

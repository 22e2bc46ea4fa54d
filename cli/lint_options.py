"""The options that lint and fix share, and the request that they describe beside the settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autoparser.analysis.core.errors import AutoparserError, spelling_hint

from . import wings
from .options import (
    BaselineOption,
    CacheDirOption,
    ConfigOption,
    ExtendSelectOption,
    IgnoreOption,
    IsolatedOption,
    JobsOption,
    MinConfidenceOption,
    MinSeverityOption,
    NoCacheOption,
    ProfileOption,
    RevisionOption,
    SelectOption,
    TemplateOption,
    TokenizerOption,
)


@dataclass(frozen=True, slots=True)
class LintOptions:
    """The options of lint and fix: how templates are read, by which rules, and what counts."""

    select: SelectOption = None
    ignore: IgnoreOption = None
    extend_select: ExtendSelectOption = None
    config: ConfigOption = None
    isolated: IsolatedOption = False
    baseline: BaselineOption = None
    profile: ProfileOption = None
    min_severity: MinSeverityOption = None
    min_confidence: MinConfidenceOption = "low"
    template_place: TemplateOption = None
    tokenizer: TokenizerOption = None
    revision: RevisionOption = None
    jobs: JobsOption = None
    no_cache: NoCacheOption = False
    cache_dir: CacheDirOption = None

    def check(self) -> None:
        """Raise AutoparserError for options that contradict each other."""
        if self.isolated and self.config is not None:
            raise AutoparserError(
                "--config and --isolated contradict each other", hint="leave one out"
            )

    def settings(self) -> wings.ProjectSettings:
        """Return the settings of the project, or empty ones."""
        if self.isolated:
            return wings.ProjectSettings()
        return (
            wings.find_settings(Path.cwd())
            if self.config is None
            else wings.read_settings(self.config)
        )

    def cache_folder(self) -> Path | None:
        """Return the folder of the cache, made where it is named. Raises AutoparserError."""
        if self.no_cache:
            return None
        if self.cache_dir is None:
            return wings.user_cache_path("autoparser", appauthor=False) / "lint"
        try:
            self.cache_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise AutoparserError(
                f"this cannot be the folder of the cache ({reason})",
                file=str(self.cache_dir),
                hint="name another one with --cache-dir, or give --no-cache",
            ) from None
        return self.cache_dir

    def request(
        self,
        sources: Sequence[str],
        settings: wings.ProjectSettings,
        cache: Path | None,
        limits: wings.Limits | None,
        *,
        fail_on: str | None = None,
        jinjas: tuple[wings.OtherJinja, ...] = (),
        tools: tuple[wings.Tool, ...] = (),
    ) -> wings.LintRequest:
        """Return which templates are looked at and what of it counts.

        Raises AutoparserError where options and settings contradict each other, or leave no rule.
        """
        selected = settings.select if self.select is None else _split_list(self.select)
        profile = _finding_profile(settings, self.profile, chosen=selected is not None)
        beside = [
            each.code
            for each in wings.all_rules()
            if jinjas and each.needs is wings.RuleNeed.OTHER_JINJAS
        ]
        if selected is None:
            beside += [each.code for each in wings.rules_for(profile)]
        choice = wings.RuleChoice(
            selected,
            settings.ignore if self.ignore is None else _split_list(self.ignore),
            (*settings.extend_select, *_split_list(self.extend_select or []), *beside),
        )
        rules = choice.rules
        if not rules:
            raise AutoparserError("no rule is left to look", hint="select more, or ignore less")
        for given in (self.tokenizer, settings.tokenizer):
            if given is not None:
                # Read once here, so that it is an error of its own and not one of every template.
                wings.load_tokenizer(given)
        usual = settings.fail_on or wings.FailOn.ERROR
        return wings.LintRequest(
            tuple(sources),
            rules,
            settings,
            usual
            if fail_on is None
            else wings.FailOn(_known_value(fail_on, [*wings.FailOn], "--fail-on")),
            wings.Confidence(
                _known_value(self.min_confidence, [*wings.Confidence], "--min-confidence")
            ),
            _finding_filter(settings, profile, self.min_severity, choice),
            self.tokenizer,
            None if self.baseline is None else _load_baseline(self.baseline),
            self.revision,
            self.template_place,
            self.jobs or wings.usual_jobs(),
            limits,
            jinjas,
            cache,
            tools,
        )


def _finding_profile(
    settings: wings.ProjectSettings, given: str | None, *, chosen: bool
) -> wings.Profile:
    """Return whose findings are shown: whoever selects rules and names none wants all they find."""
    if given is not None:
        return wings.Profile(_known_value(given, [*wings.Profile], "--profile"))
    return settings.profile or (wings.Profile.STRICT if chosen else wings.Profile.RELEASE)


def _finding_filter(
    settings: wings.ProjectSettings,
    profile: wings.Profile,
    severity: str | None,
    choice: wings.RuleChoice,
) -> wings.FindingFilter:
    """Return what is shown."""
    return wings.FindingFilter(
        profile,
        settings.min_severity or wings.Severity.INFO
        if severity is None
        else wings.Severity(_known_value(severity, [*wings.Severity], "--min-severity")),
        wings.codes_of(choice.extend_select),
    )


def _split_list(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(each.strip() for text in given for each in text.split(",") if each.strip())


def _known_value(given: str, known: Sequence[str], option: str) -> str:
    if given in known:
        return given
    hint = spelling_hint(given, known, f"there are {', '.join(known)}")
    raise AutoparserError(f"{option} cannot be {given!r}", hint=hint)


def _load_baseline(file: Path) -> wings.Baseline:
    return wings.read_baseline(file)

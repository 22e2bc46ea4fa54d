"""The options that lint and fix share, and the request that they describe beside the settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from autoparser.analysis.core.errors import AutoparserError

from . import wings
from .options import (
    JobsOption,
    RevisionOption,
    TemplateOption,
    TokenizerOption,
    known_name,
)

Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class LintOptions:
    """The options of lint and fix: how templates are read, by which rules, and what counts."""

    select: Annotated[
        list[str] | None,
        "RULES",
        "Only these rules: codes, beginnings of codes such as AP3, names, or ALL;"
        " several with commas.",
    ] = None
    ignore: Annotated[list[str] | None, "RULES", "Not these rules."] = None
    extend_select: Annotated[list[str] | None, "RULES", "These rules, too."] = None
    config: Annotated[
        Path | None,
        "FILE",
        "The settings: a pyproject.toml with [tool.autoparser.lint], or an"
        " autoparser.toml. [default: the nearest from here upward]",
    ] = None
    isolated: Annotated[bool, "Read no settings."] = False
    baseline: Annotated[
        Path | None, "FILE", "Findings in this file are known, and do not fail."
    ] = None
    profile: Annotated[
        str | None,
        "PROFILE",
        "Whose findings are shown and count: release, strict (all), engines, training or"
        " cache. [default: release; strict with --select]",
    ] = None
    min_severity: Annotated[
        str | None, "SEVERITY", "Findings from here on: info, warning or error. [default: info]"
    ] = None
    min_confidence: Annotated[str, "CONFIDENCE", "Findings from here on: low, medium or high."] = (
        "low"
    )
    template_place: TemplateOption = None
    tokenizer: TokenizerOption = None
    revision: RevisionOption = None
    jobs: JobsOption = None
    no_cache: Annotated[
        bool,
        typer.Option(
            "--no-cache",
            envvar="AUTOPARSER_NO_CACHE",
            help="Look at every template anew, and leave nothing for the next run.",
        ),
    ] = False
    cache_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            envvar="AUTOPARSER_CACHE_DIR",
            help="Where what was found is cached for the next run. [default: where the system has"
            " caches]",
            show_default=False,
        ),
    ] = None

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
        # Whoever selects rules and names no profile wants all that they find.
        usual = wings.Profile.RELEASE if selected is None else wings.Profile.STRICT
        profile = _value_of(self.profile, "--profile", settings.profile or usual)
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
        lowest = settings.min_severity or wings.Severity.INFO
        severity = _value_of(self.min_severity, "--min-severity", lowest)
        return wings.LintRequest(
            tuple(sources),
            rules,
            settings,
            _value_of(fail_on, "--fail-on", settings.fail_on or wings.FailOn.ERROR),
            _value_of(self.min_confidence, "--min-confidence", wings.Confidence.LOW),
            wings.FindingFilter(profile, severity, wings.codes_of(choice.extend_select)),
            self.tokenizer,
            None if self.baseline is None else wings.read_baseline(self.baseline),
            self.revision,
            self.template_place,
            self.jobs or wings.usual_jobs(),
            limits,
            jinjas,
            cache,
            tools,
        )


def _split_list(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(each.strip() for text in texts for each in text.split(",") if each.strip())


def _value_of(value: str | None, option: str, usual: Choice) -> Choice:
    """Return the value that an option names, or the usual one if it is not given."""
    if value is None:
        return usual
    kind = type(usual)
    return kind(known_name(value, [*kind], f"{option} cannot be {value!r}"))

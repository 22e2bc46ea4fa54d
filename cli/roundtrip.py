"""``autoparser roundtrip``: whether the model's output is repeated exactly in the next prompt."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from . import wings
from .options import (
    OptionRule,
    ResultOptions,
    TokenizerOption,
    complete_from,
    excludes,
    known_name,
    option_rules,
    refuse_full,
)
from .output import open_outlet, print_report, print_warning, report_width
from .request import SwitchOptions, file_value, read_log, warn_of_check, warn_of_switches
from .source import NamedSource

FOUND = 1
"""The exit code if a verdict of --fail-on was found."""


INCOMPLETE = 2
"""The exit code if a limit ended renders, so that some scenarios are missing."""


DOUBT = "sampled outputs may differ from a model's"

LEVELS = ("any", "string", "tokens")
"""The verdicts of `--fail-on` that are not causes."""


def _none_beside(option: str, others: str) -> list[OptionRule]:
    return [excludes(other, option) for other in others.split()]


@option_rules(
    *_none_beside("--edit", "--json --fail-on --full --chat-template-kwargs --switch"),
    *_none_beside(
        "--log",
        "--fail-on --full --profile --edit --chat-template-kwargs --switch --scenario",
    ),
)
def roundtrip(
    *,
    source: NamedSource,
    tokenizer: TokenizerOption = None,
    scenario: Annotated[
        list[str] | None, "NAME", "Play only this scenario, and show it in full. Can be repeated."
    ] = None,
    scenarios: Annotated[Path | None, "FILE", "Also play the scenarios of this YAML file."] = None,
    profile: Annotated[
        str | None,
        "ENGINE",
        complete_from(lambda: wings.PROFILES),
        "Put turns into the history as this engine does: vllm, sglang or transformers.",
    ] = None,
    switch_options: SwitchOptions,
    full: Annotated[bool, "Show every scenario, and a broken one for each cause."] = False,
    fail_on: Annotated[
        list[str] | None,
        "WHAT",
        "Exit with 1 on this verdict: any (also if OpenAI-style messages lose text),"
        " string, tokens, or a cause such as json-spacing. Can be repeated.",
    ] = None,
    log: Annotated[
        Path | None,
        "FILE",
        "Read an engine's prompts and completions instead of playing scenarios, as JSON Lines"
        " with text or token ids; shows what its prefix cache lost, and why.",
    ] = None,
    edit: Annotated[
        bool,
        "Write the smallest edit of the template that makes the scenarios pass, as a unified"
        " diff, or the whole template with --output.",
    ] = False,
    result: ResultOptions,
) -> int:
    """Check that sampled turns re-render exactly (prefix-cache safe).

    In each scenario the model writes a turn as the format has it, or deviates from it; the turn is
    parsed and put into the history, and the next prompt is rendered. If that does not begin with
    the last prompt and the sampled text, the prefix cache is lost: the report shows where, why,
    and what would fix it. --full shows every scenario.

    Exit code: 0; 1 if --fail-on finds its verdict, or something breaks and --edit finds no
    edit; 2 if there is nothing to play, or a limit ended renders.
    """
    if full and result.is_json:
        raise refuse_full("JSON")
    verdicts = [*LEVELS, *map(wings.cause_code, wings.Cause)]
    wanted = [
        known_name(verdict, verdicts, f"unknown verdict {verdict!r}") for verdict in fail_on or []
    ]
    chosen = _choose_scenarios(scenarios, scenario or [])
    engine = None
    if profile is not None:
        engine = wings.PROFILES[known_name(profile, wings.PROFILES, f"unknown engine {profile!r}")]
    setting = switch_options.values()
    source.check()
    if log is not None:
        return _report_log(source, log, tokenizer, result)
    template = source.template(tokenizer, noted=False)
    needed = "--fail-on tokens needs a tokenizer" if "tokens" in wanted else None
    # Prefix caches compare token ids, so the segmentation has to be the model's own.
    loaded = source.tokenizer(tokenizer, template, segmenting=True, needed=needed)
    analysis = source.analysis(template)
    warn_of_check(source.label, analysis, DOUBT)
    warn_of_switches(source.label, template, setting)
    if edit:
        return _write_edit(analysis, chosen, engine, result.output)
    found = wings.round_trip(
        analysis,
        chosen,
        tokenizer=loaded,
        setting=setting or None,
        profile=engine,
        progress=_count_scenarios,
    )
    report = partial(wings.roundtrip_screen, analysis, found)
    if full or scenario:
        # A scenario that was chosen by name is shown even if it passes.
        report = partial(wings.roundtrip_report, analysis, found, in_full=bool(scenario))
    result.write(partial(wings.roundtrip_document, analysis, found), report)
    # Reported first, since the verdicts that --fail-on looks at are incomplete.
    if found.beyond:
        return INCOMPLETE
    spoiled = "any" in wanted and analysis.spoiled is not None
    return FOUND if spoiled or wings.failing_rows(found.rows, wanted) else 0


def _report_log(
    source: NamedSource, log: Path, tokenizer: Path | None, result: ResultOptions
) -> int:
    """Report on an engine's traffic: its prompts are rendered, so a saved format is enough.

    With a template, the settings that would avoid losses are found, too.
    """
    learned = source.learned_format(tokenizer, noted=False)
    loaded = source.tokenizer(tokenizer, learned.template, segmenting=True)
    warn_of_check(source.label, learned, DOUBT)
    logged = wings.read_traffic(read_log(log), str(log), tokenizer=loaded)
    if logged.left_out:
        count = len(logged.left_out)
        lines = "1 line skipped" if count == 1 else f"{count} lines skipped, the first"
        print_warning(log, f"{lines}: {logged.left_out[0].message} ({logged.left_out[0].place})")
    found = wings.prefix_losses(learned, logged.records, tokenizer=loaded)
    causes = {loss.cause for loss in found.losses}
    settings = {}
    # Settings are tried by renders, which needs a template, and a loss that they could fix.
    if causes and isinstance(learned, wings.Analysis):
        played = wings.round_trip(learned, wings.shipped_scenarios(), progress=_count_scenarios)
        settings = wings.fixing_settings(played.rows, causes)
    result.write(
        partial(wings.traffic_document, found, logged.left_out, settings),
        partial(wings.traffic_report, found, settings=settings),
    )
    return 0


def _write_edit(
    analysis: wings.Analysis,
    scenarios: Sequence[wings.Scenario],
    profile: wings.EngineProfile | None,
    output: Path | None,
) -> int:
    """Write the edited template or its diff; the fixed round trips go to standard error."""
    if profile is not None:
        # A profile replaces the engine's habit that such a scenario tests.
        played = (scenario for scenario in scenarios if not scenario.about_engine)
        scenarios = [replace(scenario, engine=profile.engine) for scenario in played]
    found = wings.preserving_template(analysis, scenarios)
    with open_outlet(output) as outlet:
        original = analysis.template
        outlet.text(
            wings.template_diff(original, found.template) if output is None else found.template.text
        )
    # On standard error, so that the output is a diff and nothing else.
    print_report(wings.preserving_report(found, report_width()), beside=True)
    return FOUND if found.left and not found.edits else 0


def _choose_scenarios(file: Path | None, names: Sequence[str]) -> Sequence[wings.Scenario]:
    """Return the scenarios to play. Raises AutoparserError for an unknown name."""
    known = list(wings.shipped_scenarios())
    if file is not None:
        own = wings.scenarios_of(file_value(file, "the scenarios"), str(file))
        replaced = {scenario.name for scenario in own}
        # A scenario of the file replaces a shipped one of the same name.
        known = [*(scenario for scenario in known if scenario.name not in replaced), *own]
    by_name = {scenario.name: scenario for scenario in known}
    for name in names:
        known_name(name, by_name, f"unknown scenario {name!r}", f"--full lists all {len(by_name)}")
    return [by_name[name] for name in names] or known


def _count_scenarios(counted: int, total: int) -> None:
    """Count on standard error, if that is a terminal; the last count erases itself."""
    if sys.stderr.isatty():
        line = f"\r{counted} of {total} scenarios" if counted < total else "\r\033[K"
        typer.echo(line, nl=False, err=True)

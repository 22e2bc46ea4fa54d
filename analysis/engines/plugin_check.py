"""Check that the engines of an environment find the plugins, and that versions fit.

For example, of an environment without an engine

    plugin_check("venv/bin/python").points
    ->  autoparser-chat                  yes      0.1.0
        an engine                        no       none is installed
        vllm                             unknown  not installed
        sglang                           unknown  not installed
        llguidance fits autoparser-chat  yes      1.9.1, autoparser-chat wants <2,>=1.7.6
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from msgspec import Struct, ValidationError, convert
from packaging.requirements import InvalidRequirement, Requirement

from autoparser.analysis.core.error_words import one_line
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.server_engines import ParserFlags

from .environment_worker import NAME, PACKAGE, PLUGINS

WORKER = Path(__file__).with_name("environment_worker.py")
OURS = {engine: f"autoparser.analysis.engines.{engine}_plugin:register" for engine in PLUGINS}
CHECKOUT = "path/to/autoparser"
"""The argument of pip while no package index has this package."""
SHOWN = 300
"""Most characters of a failing Python's output that are shown."""


class CheckState(StrEnum):
    """The outcomes of a question."""

    YES = "yes"
    """It works."""
    NO = "no"
    """It does not work, and `way_out` names a remedy."""
    PARTLY = "partly"
    """It works with restrictions."""
    UNKNOWN = "unknown"
    """It was not checked, or does not apply."""


@dataclass(frozen=True, slots=True)
class CheckedPoint:
    """One question about an environment, and its answer."""

    what: str
    """The question, e.g. `"vllm finds the plugin"`."""
    state: CheckState
    """The outcome, e.g. `"yes"`."""
    found: str
    """The finding, e.g. `"no entry point in vllm.general_plugins"`."""
    way_out: str = ""
    """The remedy for a no or a partly, e.g. a command; else empty."""


@dataclass(frozen=True)
class PluginCheck:
    """The check of one environment."""

    python: str
    """Its interpreter, e.g. `"venv/bin/python"`."""
    points: tuple[CheckedPoint, ...]
    """The questions in the order of the report, e.g. first `"autoparser-chat"`."""

    @property
    def ok(self) -> bool:
        """Whether no outcome is a no."""
        return all(point.state is not CheckState.NO for point in self.points)


class _PointThere(Struct):
    value: str
    """The function, e.g. `"autoparser.analysis.engines.vllm_plugin:register"`."""
    package: str
    """The distribution that it belongs to, e.g. `"autoparser-chat"`."""


class _EngineThere(Struct):
    version: str | None
    """The engine's version, e.g. `"0.32.0"`, or None if it is not installed."""
    needs: list[str]
    """Its requirements, e.g. `["llguidance<2,>=1.7"]`."""
    points: list[_PointThere]
    """The entry points of this package's name in the engine's group, e.g. 1."""
    allowed: str | None
    """The value of the variable that restricts plugins, e.g. `"others"`, or None if it is not
    set."""
    registered: dict[str, bool] | None
    """Whether it knows the names of both parsers, e.g. `{"calls": True, "reasoning": True}`, or
    None if it was not imported."""
    moved: dict[str, str | None]
    """Missing hooks, e.g. `"…:ParserManager._compose_parser (not there)"`, and the effect of each,
    or None if nothing works without it."""
    own_prompts: list[str]
    """Kinds of tokenizers whose prompts it renders by its own code, without the template, e.g.
    `["mistral"]`."""
    failure: str
    """The error of importing it or of loading its plugins, e.g.
    `"ModuleNotFoundError: No module named 'other'"`; empty for none."""


class _Environment(Struct):
    python: str
    """The version of Python, e.g. `"3.12.3"`."""
    package: str | None
    """The version of this package there, e.g. `"0.1.0"`, or None if it is not installed."""
    needs: list[str]
    """The requirements of this package, e.g. `["llguidance<2,>=1.7.6", …]`."""
    libraries: dict[str, str | None]
    """The versions of libraries that several of them use: `{"llguidance": "1.9.0", …}`."""
    engines: dict[str, _EngineThere]
    """The engines by their modules, e.g. `"vllm"`."""


def plugin_check(
    python: str | None = None, *, imports: bool = True, timeout: float = 300.0
) -> PluginCheck:
    """Check an interpreter's environment, by default this one's; with `imports` import its engines.

    Raises AutoparserError if it is not a Python, or does not answer in time.
    """
    python = python or sys.executable
    found = _inspect_environment(python, imports=imports, timeout=timeout)
    return PluginCheck(python, tuple(_points(python, found, imports=imports)))


def _inspect_environment(python: str, *, imports: bool, timeout: float) -> _Environment:
    """Run the worker in another Python, and return its facts. Raises AutoparserError."""
    # The other Python may lack this package, so it gets the program as text.
    command = [python, "-c", WORKER.read_text("utf-8"), *(["--import"] if imports else [])]
    try:
        ran = subprocess.run(  # noqa: S603 - the interpreter that a person named
            command, capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        raise AutoparserError(
            f"does not answer within {timeout:g} seconds",
            file=python,
            hint="add --no-import, or raise --import-timeout",
        ) from None
    except OSError as error:
        raise AutoparserError(
            f"cannot be run: {error.strerror}",
            file=python,
            hint="name an interpreter, such as path/to/venv/bin/python",
        ) from None
    try:
        return convert(json.loads(ran.stdout), _Environment)
    except (ValueError, ValidationError):
        output = _one_line(ran.stderr or ran.stdout) or "nothing"
        raise AutoparserError(
            f"unexpected output: {output}",
            file=python,
            hint="name an interpreter of Python 3.10 or newer",
        ) from None


def _one_line(text: str) -> str:
    """Return the output of a Python in one line, without line ends and tabs."""
    return one_line(" ".join(text.split()), SHOWN)


def _answer(what: str, holds: bool, finding: str, way_out: str) -> CheckedPoint:
    """Return a yes, or a no with the way out."""
    state = CheckState.YES if holds else CheckState.NO
    return CheckedPoint(what, state, finding, "" if holds else way_out)


def _points(python: str, environment: _Environment, *, imports: bool) -> Iterator[CheckedPoint]:
    """Check the package, each engine, and the llguidance that they share."""
    install = f"{python} -m pip install {CHECKOUT}"
    version = environment.package
    yield _answer(PACKAGE, version is not None, version or "not installed", install)
    there = {
        name: facts for name, facts in environment.engines.items() if facts.version is not None
    }
    if not there:
        names = " or ".join(environment.engines)
        way_out = f"name the Python of {names}: --python"
        yield _answer("an engine", False, "none is installed", way_out)
    for engine, facts in environment.engines.items():
        if facts.version is None:
            # Not a fault, since one engine is enough.
            yield CheckedPoint(engine, CheckState.UNKNOWN, "not installed")
            continue
        yield CheckedPoint(engine, CheckState.YES, facts.version)
        yield from _engine_points(engine, facts, install, imports=imports)
    # This package and the engines share one llguidance, whose bounds they set apart.
    yield from _llguidance(environment, there)


def _engine_points(
    engine: str, engine_facts: _EngineThere, install: str, *, imports: bool
) -> Iterator[CheckedPoint]:
    """Check one engine's plugin: its entry point, whether it may load, and its registered names."""
    yield _entry_point(engine, engine_facts, install)
    if engine_facts.allowed is not None:
        named = NAME in [name.strip() for name in engine_facts.allowed.split(",")]
        variable = PLUGINS[engine].allowed
        yield CheckedPoint(
            f"{variable} lets it load",
            CheckState.YES if named or not engine_facts.allowed else CheckState.NO,
            f"{variable}={engine_facts.allowed}",
            "" if named else f"add {NAME} to {variable}, or unset it",
        )
    has_names = f"{engine} accepts the plugin's names"
    if not imports:
        yield CheckedPoint(has_names, CheckState.UNKNOWN, "not imported")
    elif engine_facts.failure:
        way_out = f"check whether {engine} itself starts in this environment"
        yield _answer(has_names, False, _one_line(engine_facts.failure), way_out)
    else:
        yield _hooks(engine, engine_facts.moved, install)
        way_out = f"check what {engine} logs when it loads plugins; {install} --upgrade"
        flags = ParserFlags()
        for option, part in ((flags.tools, "calls"), (flags.reasoning, "reasoning")):
            known = bool(engine_facts.registered and engine_facts.registered.get(part))
            words = "registered" if known else "not registered"
            yield _answer(f"{engine} {option} {NAME}", known, words, way_out)
        if engine_facts.own_prompts:
            own = ", ".join(engine_facts.own_prompts)
            # This depends on the model, which an environment does not determine.
            words = PLUGINS[engine].own_prompts_words.format(own)
            yield CheckedPoint(f"{engine} renders with the template", CheckState.UNKNOWN, words)


def _hooks(engine: str, moved: Mapping[str, str | None], install: str) -> CheckedPoint:
    """Check for moved hooks: without some of them the plugin does less."""
    state = CheckState.YES
    if moved:
        state = CheckState.NO if None in moved.values() else CheckState.PARTLY
    found = [place if less is None else f"{place}: {less}" for place, less in moved.items()]
    return CheckedPoint(
        f"{engine} has the functions that the plugin hooks",
        state,
        "; ".join(found) or f"{len(PLUGINS[engine].hooks)} places",
        f"{install} --upgrade, or the {engine} version in docs/engines/{engine}.md"
        if moved
        else "",
    )


def _entry_point(engine: str, engine_facts: _EngineThere, install: str) -> CheckedPoint:
    what = f"{engine} finds the plugin"
    values = {point.value for point in engine_facts.points}
    if not values:
        missing = f"no entry point in {PLUGINS[engine].group}"
        return _answer(what, False, missing, f"{install} --force-reinstall")
    named = ", ".join(sorted(values))
    # Another entry point of this name may be loaded in place of ours.
    if values == {OURS[engine]}:
        return CheckedPoint(what, CheckState.YES, named)
    owners = ", ".join(sorted({point.package for point in engine_facts.points}))
    return _answer(
        what, False, f"{named}, of {owners}", f"{install} --upgrade, and no other package"
    )


def _llguidance(
    environment: _Environment, engines: Mapping[str, _EngineThere]
) -> Iterator[CheckedPoint]:
    """Check llguidance against the requirements of this package and of each engine."""
    version = environment.libraries.get("llguidance")
    wanted = {PACKAGE: environment.needs, **{name: facts.needs for name, facts in engines.items()}}
    held = {name: _requirement_on(needs, "llguidance") for name, needs in wanted.items()}
    if version is None:
        if any(held.values()):
            yield _answer("llguidance", False, "not installed", "pip install llguidance")
        return
    for name, requirement in held.items():
        if requirement is not None:
            bounds = requirement.specifier
            yield _answer(
                f"llguidance fits {name}",
                # A pre-release that is installed was chosen by somebody.
                bounds.contains(version, prereleases=True),
                f"{version}, {name} wants {bounds or 'any'}",
                f"pip install '{requirement.name}{bounds}'",
            )


def _requirement_on(needs: list[str], name: str) -> Requirement | None:
    for need in needs:
        try:
            requirement = Requirement(need)
        except InvalidRequirement:
            continue
        # A requirement may apply to another platform or Python, according to its marker.
        here: Any = requirement.marker
        if requirement.name == name and (here is None or here.evaluate()):
            return requirement
    return None

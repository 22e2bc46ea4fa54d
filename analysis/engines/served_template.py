"""Find and learn the template of a server: once for all of its processes, from a shared cache.

    served_template (environment, command line, tokenizer)  ->  learn_served  ->  ServedSource

An engine's front end, its core and its workers each load the plugin. The first of them that needs
the format learns it in an isolated worker and writes it to a file, whose name has the template and
the version of all that decides; the others wait for that and read it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import AutoparserError, TemplateNotFoundError, is_mapping
from autoparser.analysis.core.turn_format import Begun
from autoparser.analysis.core.verdicts import Gate
from autoparser.analysis.formats.format_file import file_read, file_text
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.formats.saved_format import SavedFormat, load_format, saved_format
from autoparser.analysis.sources.local_files import (
    HOME,
    cache_file,
    cached_file,
    files_below,
)
from autoparser.analysis.sources.template_loading import (
    held_special_tokens,
    is_template_text,
    load_template,
)

if TYPE_CHECKING:
    from autoparser.analysis.analysis import Analysis
    from autoparser.analysis.templates.chat_template import ChatTemplate

_LOG = logging.getLogger(__name__)

# The template of a server.


TEMPLATE_VARIABLE = "AUTOPARSER_TEMPLATE"
"""Names the template in any form that `load_template` accepts; it has precedence."""

OPTION = "--chat-template"
"""The option of both engines for a template; their other processes have it, too."""


def served_template(
    tokenizer: object,
    *,
    environment: Mapping[str, str] = os.environ,
    arguments: Sequence[str] | None = None,
) -> ChatTemplate:
    """Return the template of the environment, the command line, or the tokenizer.

    Special tokens are the tokenizer's if the source of the template has none.
    Raises TemplateNotFoundError if none has one, and as `load_template` does.
    """
    # A process that no request reaches, or that reads what another one learned, imports no learner.
    from autoparser.analysis.templates.chat_template import ChatTemplate  # noqa: PLC0415

    known = held_special_tokens(tokenizer)
    named = environment.get(TEMPLATE_VARIABLE)
    given = named or _option(sys.argv if arguments is None else arguments)
    if given:
        if not named and is_template_text(given):
            return ChatTemplate(given, known)
        found = load_template(given)
        return replace(found, special_tokens={**known, **found.special_tokens})
    held = _template_of(tokenizer)
    if isinstance(held, str) and held:
        return ChatTemplate(held, known)
    raise TemplateNotFoundError(
        "the server's tokenizer has no chat template",
        hint=f"start the server with {OPTION} file, or name one by {TEMPLATE_VARIABLE}",
    )


def _option(arguments: Sequence[str]) -> str | None:
    """Return the option's value; the last one counts, as for the engines."""
    found = None
    for at, argument in enumerate(arguments):
        if argument.startswith(f"{OPTION}="):
            found = argument.partition("=")[2]
        elif argument == OPTION and at + 1 < len(arguments):
            found = arguments[at + 1]
    return found


# The analysis, shared between the processes of a server.


def analyze_isolated(template: ChatTemplate) -> Analysis:
    """Analyze in a worker process, since the template may be a stranger's."""
    from autoparser.analysis.analysis import analyze  # noqa: PLC0415 - as above

    return analyze(template, isolate=True)


CACHE_VARIABLE = "AUTOPARSER_CACHE"
"""Names the folder in which analyses are shared; if it is empty, none are."""

UNUSED = 30 * 24 * 3600.0
"""Seconds after which a shared analysis is removed when another one is written."""


@dataclass(frozen=True, repr=False)
class SharedFormat(SavedFormat):
    """An analysis that another process made; what it did not learn is learned here."""

    source: ChatTemplate

    @cached_property
    def _analysis(self) -> Analysis:
        return analyze_isolated(self.source)

    @property
    def gate(self) -> Gate:
        """What becomes of the template's own texts; the shared file does not hold it."""
        return self._analysis.gate

    def _learn(self, setting: Mapping[str, Json], *, tools: bool) -> Begun:
        return self._analysis.under(setting, tools=tools)


_NO_GATE = Gate(asked=0, passed=0, not_asked=0, faults=())


def _cache_folder() -> Path | None:
    named = os.environ.get(CACHE_VARIABLE)
    if named is not None:
        return Path(named) if named else None
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a user without a home
        return None
    return Path(home) / "autoparser" / "served"


def _engine_stamp() -> str | None:
    """Return by what one sees that the engine, or what renders for it, is another one.

    The times of its files do, on one machine; to read all of them takes as long as some analyses.
    None if they cannot be seen, as in an archive.
    """
    try:
        files = [(path, Path(path).stat()) for path in sorted(files_below(HOME))]
    except OSError:  # another version is being installed
        return None
    stamps = [(path, found.st_mtime_ns, found.st_size) for path, found in files]
    return repr((sys.version, version("jinja2"), stamps)) if stamps else None


@lru_cache(maxsize=4)
def learn_shared(template: ChatTemplate) -> LearnedFormat:
    """Return the analysis of a template, or what another process wrote of it.

    Raises AutoparserError as `analyze` does; a cache that cannot be used is none.
    """
    folder, stamp = _cache_folder(), _engine_stamp()
    if folder is None or stamp is None:
        return analyze_isolated(template)
    parts = (template.text, sorted(template.special_tokens.items()), template.sandbox)
    text = f"{stamp} {parts!r}"
    # Texts may hold what UTF-8 has no bytes for.
    name = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    file = folder / f"{name}.json"
    with _alone(file.with_suffix(".lock")):
        return _read_shared(file, template) or _learn_and_share(file, template)


def _read_shared(file: Path, template: ChatTemplate) -> LearnedFormat | None:
    content = cached_file(file)
    if content is None:
        return None
    try:
        found = saved_format(file_read(content, str(file)), str(file))
    except AutoparserError:  # cut, or of something else: it is written anew
        return None
    return SharedFormat(
        **{each.name: getattr(found, each.name) for each in fields(found)}, source=template
    )


def _learn_and_share(file: Path, template: ChatTemplate) -> LearnedFormat:
    found = analyze_isolated(template)
    # No answer is read by the gate, and to run it takes as long as to analyze.
    cache_file(file, file_text(found.to_file(gate=_NO_GATE)).encode("ascii"))
    with suppress(OSError):
        for old in file.parent.iterdir():
            if time() - old.stat().st_mtime > UNUSED:
                old.unlink()
    return found


@contextmanager
def _alone(lock: Path) -> Generator[None]:
    """Let one process at a time learn; where there is no lock, each of them learns and writes."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows, where no engine runs

        lock.parent.mkdir(parents=True, exist_ok=True)
        stream = lock.open("wb")
    except (ImportError, OSError):
        yield
        return
    with stream:
        with suppress(OSError):  # of file systems without locks
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


# What was learned, and from where.


FORMAT_VARIABLE = "AUTOPARSER_FORMAT"
"""Names a saved format; with it no template is read or rendered."""

_loaded = lru_cache(maxsize=4)(load_format)


@dataclass
class ServedSource:
    """What was learned of a server's template, and where it is from: it may change meanwhile."""

    learned: LearnedFormat
    held: object = None
    """The tokenizer's own template, if that was learned."""
    file: Path | None = None
    """The file that was read instead."""
    stamp: tuple[int, int] | None = field(init=False)
    """By what one sees that the file is another one."""

    def __post_init__(self) -> None:
        """See the file as it is now."""
        self.stamp = self._file_stamp()

    def _file_stamp(self) -> tuple[int, int] | None:
        try:
            found = None if self.file is None else self.file.stat()
        except (OSError, ValueError):  # not a file's name: a model's, or the template itself
            return None
        return None if found is None else (found.st_mtime_ns, found.st_size)

    def has_other_template(self, tokenizer: object) -> bool:
        """Return whether the tokenizer's own template was learned, and is another one now.

        A copy of the tokenizer without any has none that an engine would render by.
        """
        held = _template_of(tokenizer)
        return self.file is None and bool(held) and held != self.held

    def tell_of_changes(self) -> None:
        """Log, once, that the file is another one: the engine, too, goes on with what it read."""
        stamp = self._file_stamp()
        if stamp != self.stamp:
            self.stamp = stamp
            _LOG.warning(
                "%s has changed since the server read it: answers are read by what it was then,"
                " until the server is started again",
                self.file,
            )


def _template_of(tokenizer: object) -> object:
    held: object = getattr(tokenizer, "chat_template", None)
    return held.get("default") if is_mapping(held) else held


def learn_served(tokenizer: object) -> ServedSource:
    """Learn the template of a server, or load what `FORMAT_VARIABLE` names.

    Raises AutoparserError if the template is not found or cannot be analyzed.
    """
    file = os.environ.get(FORMAT_VARIABLE)
    if file:
        return ServedSource(_loaded(file), file=Path(file))
    template = served_template(tokenizer)
    named = os.environ.get(TEMPLATE_VARIABLE) or _option(sys.argv)
    if named:
        return ServedSource(learn_shared(template), file=Path(named))
    return ServedSource(learn_shared(template), held=_template_of(tokenizer))

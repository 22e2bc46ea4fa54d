"""The revisions of a template, newest first: of a file or model directory in git, or on the Hub.

    source -> commits that touched its files -> template at each -> revisions with another template

Git is asked by its own command, which has the user's settings for a checkout (worktrees, partial
clones, rewritten dates); a library such as dulwich would read the store without them.

For example, a file that was added as `t.jinja`, renamed to `u.jinja`, and then changed twice, the
last time without a commit:

    template_history("u.jinja")
    ->  "not committed",
        "Keep reasoning", from dae1eda5962b:u.jinja,
        "Add the template", from c554817bf986:t.jinja     (the rename changed no text)
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from msgspec import Struct

from autoparser.analysis.core.errors import AutoparserError, TemplateNotFoundError
from autoparser.analysis.templates.chat_template import ChatTemplate

from .hub_listing import list_commits
from .hub_requests import HubName, hub_name
from .local_files import path_exists
from .template_loading import load_template
from .template_sources import ADDITIONAL_TEMPLATES, CONFIG_FILE, MAP_FILE, READ_FILES
from .written_files import write_scratch

GIT_SECONDS = 60
"""The time that one git command may take."""


class TemplateRevision(Struct, frozen=True):
    """A commit, and the template as it was after it."""

    commit: str
    """The full hash, e.g. `"4f1c2d9…"`; empty for changes that are not committed."""
    date: str
    """The author's date, e.g. `"2026-11-20"`; empty for changes that are not committed."""
    author: str
    """The author's name, e.g. `"Ada"`; empty if unknown."""
    subject: str
    """The first line of the message, e.g. `"Keep reasoning of earlier turns"`."""
    template: ChatTemplate | None
    """The template, e.g. `<ChatTemplate of …/a3-invoke-parameter.jinja: 55 lines>`, or None if the
    commit has none that can be read."""
    problem: str = ""
    """The reason if there is no template, e.g. `"the template 'default' is empty"`."""


def template_history(source: str, *, name: str | None = None) -> tuple[TemplateRevision, ...]:
    """Return the revisions that changed a template or its special tokens, the newest first.

    `source` is a file or a model directory in a git checkout, whose uncommitted changes are a
    revision too, or a model on the Hub. Raises TemplateNotFoundError if neither is there or no
    revision has a template, and AutoparserError if git fails.
    """
    if source and path_exists(Path(source)):
        found = _git_revisions(Path(source), name)
    else:
        hub = hub_name(source)
        if hub is None:
            raise TemplateNotFoundError(
                "no such file or directory",
                file=source,
                hint="pass a file or directory of a git checkout, or a model on the Hub",
            )
        found = _hub_revisions(hub, source, name)
    changed = tuple(_changed_revisions(list(found)))
    if not any(revision.template for revision in changed):
        raise TemplateNotFoundError(
            "no revision has a chat template",
            file=source,
            hint="commit the template, or name its file",
        )
    return changed


def _changed_revisions(revisions: Sequence[TemplateRevision]) -> Iterator[TemplateRevision]:
    """Yield the revisions whose template differs from the one before, the newest first."""
    for revision, older in zip(revisions, [*revisions[1:], None], strict=True):
        # Nothing is known before the oldest commit, so it counts as a change.
        if older is None or _identity(revision) != _identity(older):
            yield revision


def _identity(revision: TemplateRevision) -> tuple[object, ...]:
    template = revision.template
    if template is None:
        return (revision.problem,)
    return template.text, tuple(sorted(template.special_tokens.items()))


def _git_revisions(path: Path, name: str | None) -> Iterator[TemplateRevision]:
    """Yield the state of the working tree, then the commits that touched the template's files."""
    directory = path if path.is_dir() else path.parent
    root = Path(_git(directory, "rev-parse", "--show-toplevel").strip())
    files = [path] if path.is_file() else [path / file for file in READ_FILES]
    files += [directory / ADDITIONAL_TEMPLATES] if path.is_dir() else []
    # Git can follow renames of a single file only.
    follow = ["--follow"] if path.is_file() else []
    # Control characters separate the fields, since a subject may hold any punctuation.
    form = "--format=%x00%H%x1f%as%x1f%an%x1f%s"
    names = ["--", *(str(file.resolve()) for file in files)]
    current = load_template(path, name=name)
    log = _git(directory, "log", *follow, "--name-only", form, *names)
    if not log:
        raise TemplateNotFoundError(
            "git has no commit of this file", file=str(path), hint="commit the template first"
        )
    yield TemplateRevision("", "", "", "not committed", current)
    inside = PurePosixPath(path.resolve().relative_to(root.resolve()).as_posix())
    for record in log.split("\0")[1:]:
        head, *touched = record.splitlines()
        commit, date, author, subject = head.split("\x1f")
        # Use the file's name in this commit, before later renames.
        if follow:
            inside = next((PurePosixPath(file) for file in touched if file), inside)
        template, problem = _template_at(root, commit, inside, name, is_file=path.is_file())
        yield TemplateRevision(commit, date, author, subject, template, problem)


def _template_at(
    root: Path, commit: str, inside: PurePosixPath, name: str | None, *, is_file: bool
) -> tuple[ChatTemplate | None, str]:
    """Load a template as of a commit, from the files that it is read from; or return why not."""
    folder = inside.parent if is_file else inside
    wanted = {inside.name, CONFIG_FILE, MAP_FILE} if is_file else {*READ_FILES}
    prefix = "" if str(folder) == "." else f"{folder}/"
    listed = _git(root, "ls-tree", "-r", "-z", "--name-only", commit, "--", prefix or ".")
    # Load from files, like a directory, so that the same rules choose among them.
    with TemporaryDirectory() as scratch:
        for file in filter(None, listed.split("\0")):
            part = file.removeprefix(prefix)
            additional = not is_file and part.startswith(f"{ADDITIONAL_TEMPLATES}/")
            if part in wanted or (additional and part.endswith(".jinja")):
                write_scratch(Path(scratch, part), _git_bytes(root, "show", f"{commit}:{file}"))
        place = Path(scratch, inside.name) if is_file else Path(scratch)
        try:
            found = load_template(place, name=name)
        except AutoparserError as error:
            return None, error.message
    # Name it as Git does, since the scratch file is gone.
    origin = f"{commit[:12]}:{inside}"
    return ChatTemplate(found.text, found.special_tokens, found.name, origin), ""


def _git(directory: Path, *arguments: str) -> str:
    return _git_bytes(directory, *arguments).decode(errors="replace")


def _git_bytes(directory: Path, *arguments: str) -> bytes:
    """Run git in a directory; raises AutoparserError with git's own message if it fails."""
    # No hook, pager or filter of the checkout's own settings runs for these commands.
    command = ["git", "-C", str(directory), "-c", "core.fsmonitor=false", *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and paths come after `--`
            command, capture_output=True, timeout=GIT_SECONDS, check=False
        )
    except FileNotFoundError:
        raise AutoparserError(
            "git is not installed", hint="install git, or name a model on the Hub"
        ) from None
    except subprocess.TimeoutExpired:
        raise AutoparserError(
            f"git did not answer within {GIT_SECONDS} seconds", file=str(directory)
        ) from None
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise AutoparserError(
            f"git failed: {words[-1] if words else done.returncode}",
            file=str(directory),
            hint="a history needs a git checkout; to compare two files, pass both",
        )
    return done.stdout


def _hub_revisions(hub: HubName, source: str, name: str | None) -> Iterator[TemplateRevision]:
    """Yield the commits of a model on the Hub."""
    for commit in list_commits(hub.repository):
        try:
            template, problem = load_template(source, name=name, revision=commit.id), ""
        except TemplateNotFoundError as error:
            template, problem = None, error.message
        yield TemplateRevision(
            commit.id, commit.date, ", ".join(commit.authors), commit.title, template, problem
        )

"""A bar on standard error while a long command runs, where a person watches."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

__all__ = ["doing", "progress_of"]


@contextmanager
def progress_of(total: int, words: str = "decoding") -> Generator[Callable[[], object]]:
    """Show a bar of `total` steps on a terminal, with words beside it.

    Gives what is to be called after each step.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda: None
        return
    from rich.progress import Progress

    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(words, total=total)
        yield lambda: bar.advance(task)


@contextmanager
def doing(first: str) -> Generator[Callable[[str], object]]:
    """Say on a terminal what is being done; return what is to be called with the next words."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda words: None  # noqa: ARG005 - nobody watches
        return
    with console.status(f"{first} …") as status:
        yield lambda words: status.update(f"{words} …")

"""The command line: ``autoparser``, and ``python -m autoparser``."""

import gc

RARELY = 50_000
"""New objects between two runs of the cycle collector; the default, 700 or 2,000 by the version of
Python, runs it dozens of times in a `lint`."""


def main() -> None:
    """Run the command line."""
    # A start makes much that stays, from its first import on, and no garbage worth looking for.
    gc.set_threshold(RARELY)
    from autoparser.cli.main import main as run  # noqa: PLC0415

    run()


if __name__ == "__main__":
    main()

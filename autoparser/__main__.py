"""``python -m autoparser``: the command line."""

from autoparser.cli.main import main

if __name__ == "__main__":
    main()

"""The command line: parse options, call the engine, hand its value to a report."""

DISTRIBUTION = "autoparser-chat"
"""The name in the package index; the import name and the command are `autoparser`."""

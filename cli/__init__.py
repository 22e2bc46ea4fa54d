"""The command line: parse options, call the engine, hand its value to a report."""

DISTRIBUTION = "autoparser-chat"
"""What the package index calls this package; what is imported and run is `autoparser`."""

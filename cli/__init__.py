"""The command line: parse options, call the engine, hand its value to a report."""

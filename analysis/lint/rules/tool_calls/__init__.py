"""Rules about tools, calls and their results."""

"""Standalone programs: each renders with another Jinja, in a process of its own."""

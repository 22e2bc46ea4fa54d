"""Programs that stand alone: each renders by another Jinja, in a process of its own."""

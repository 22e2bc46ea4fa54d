"""The rules: a page each, and a module of the same name for its check."""

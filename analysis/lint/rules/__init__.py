"""The rules: a page each, and beside it the module of its check."""

"""Formats learned from labeled examples, from outputs, and files of model repositories."""

"""Formats learned from labelled examples, from outputs, and from what a model repository says."""

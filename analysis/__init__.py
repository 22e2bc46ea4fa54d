"""The engine: from a chat template to its format, its markers and the evidence."""

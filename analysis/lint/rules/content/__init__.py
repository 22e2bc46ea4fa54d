"""Rules about what becomes of the text of messages."""

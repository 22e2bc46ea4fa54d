"""Rules about how turns begin and end."""

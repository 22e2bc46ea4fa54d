"""Rules about other engines and older versions."""

"""Rules about what becomes of reasoning."""

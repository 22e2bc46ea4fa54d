"""Rules about what is trained on."""

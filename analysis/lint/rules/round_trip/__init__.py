"""Rules about whether a prompt stays what it was."""

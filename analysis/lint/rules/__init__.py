"""The rules, a folder a group, a module a rule."""

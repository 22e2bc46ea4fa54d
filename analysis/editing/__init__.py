"""Edited templates: findings fixed, round trips preserved, each edit proven."""

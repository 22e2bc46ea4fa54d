"""A corpus at a glance: one record a template, and what a set of records adds up to."""

from .journal import Journal, journal_of, line_of
from .record import Record, SurveyCheck, digest_of, record_of
from .summary import Family, RecordShare, Summary, summary_of
from .template_files import templates_in
from .work import surveying

__all__ = [
    "Family",
    "Journal",
    "Record",
    "RecordShare",
    "Summary",
    "SurveyCheck",
    "digest_of",
    "journal_of",
    "line_of",
    "record_of",
    "summary_of",
    "surveying",
    "templates_in",
]

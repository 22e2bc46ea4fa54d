"""A corpus at a glance: one record a template, and what a set of records adds up to."""

from .journal import Journal, journal_of, line_of
from .record import SURVEY, Record, SurveyCheck, record_of, recorded
from .summary import Family, RecordShare, Summary, summary_of
from .template_files import templates_in
from .work import Surveyed, SurveyLook, surveying

__all__ = [
    "SURVEY",
    "Family",
    "Journal",
    "Record",
    "RecordShare",
    "Summary",
    "SurveyCheck",
    "SurveyLook",
    "Surveyed",
    "journal_of",
    "line_of",
    "record_of",
    "recorded",
    "summary_of",
    "surveying",
    "templates_in",
]

from autoparser.analysis.lint.hit import (
    Confidence as Confidence,
    Severity as Severity,
)
from autoparser.analysis.lint.linting import (
    LintFinding as LintFinding,
    LintReport as LintReport,
    lint as lint,
)
from autoparser.analysis.lint.registry import (
    all_rules as all_rules,
    rules_of as rules_of,
)
from autoparser.analysis.lint.rule import (
    Rule as Rule,
)
from autoparser.analysis.lint.subject import (
    Subject as Subject,
)

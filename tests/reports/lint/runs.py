"""Runs to report on: a plain one, and one in which everything is hostile."""

from __future__ import annotations

from msgspec.structs import replace

from autoparser.analysis.lint.baselines import Ignore
from autoparser.analysis.lint.hit import Confidence, Hit, HitEvidence, Severity, ShownText
from autoparser.analysis.lint.inspection import InspectedTemplate, LintRun
from autoparser.analysis.lint.linting import LintFinding
from autoparser.analysis.lint.project_sources import InputProblem
from autoparser.analysis.lint.registry import all_rules, rule_of
from autoparser.analysis.lint.rule import RuleNeed
from autoparser.analysis.templates.chat_template import ChatTemplate

HOSTILE = (
    "a\x00b\x1b[31mred\x1b]8;;http://evil\x07 \u202edrow\u202c \ufeff\ud800\ufffe\x0b\x85\u2028"
    "\r\n::error file=x::pwned\n%0A,:| | <script>alert(1)</script> ]]> --> `code` ```\n"
    "[bold]rich[/bold] [link](javascript:x) ![i](http://evil/i.png) @everyone #12 www.evil.com"
    " {0} {{ x }} ~~~ </details> <!-- & &amp; \\ *em* _em_"
)
"""What terminals, XML, HTML, Markdown, workflow commands and rich would take for their own."""

DROPS, BROKEN = rule_of("AP306"), rule_of("AP101")
TEMPLATE = ChatTemplate("{%- for message in messages %}\n\t{{ message.content }}  \n{%- endfor %}")

WITH = ShownText(
    "with content",
    "<|user|>hi<|end|>\n<|assistant|> so <call>",
    messages=({"role": "user", "content": "hi"},),
)
WITHOUT = ShownText("without content", "<|user|>hi<|end|>\n<|assistant|><call>")


def plain() -> LintRun:
    """Two findings of each kind of weight, a known one, an ignored one, a note, a problem."""
    drops = LintFinding(
        DROPS,
        Hit("the model does not see what it said", (HitEvidence(WITH, WITHOUT),), line=2),
        also=("AP101",),
    )
    unsure = LintFinding(
        BROKEN,
        Hit("it may fail", severity=Severity.WARNING, confidence=Confidence.MEDIUM),
    )
    told = LintFinding(
        BROKEN,
        Hit(
            "good to know",
            severity=Severity.INFO,
            line=1,
            fix="do it",
            setting={"thinking": False},
        ),
    )
    raised = HitEvidence(WITH, ShownText("with calls", error="TypeError: no"))
    fails = LintFinding(DROPS, Hit("it raises", (raised, HitEvidence(WITH)), line=3))
    return LintRun(
        (
            InspectedTemplate(
                "models/a b.jinja",
                None,
                TEMPLATE,
                in_lines=True,
                findings=(drops, unsure, told),
                baseline_findings=(drops,),
                ignored=(told,),
                unused=(Ignore(("AP101",), "since", 1),),
            ),
            InspectedTemplate(
                "models/tokenizer_config.json",
                "tool_use",
                TEMPLATE,
                in_lines=False,
                findings=(fails,),
                left_out=((replace(DROPS, needs=RuleNeed.TOKENIZER), RuleNeed.TOKENIZER),),
            ),
            InspectedTemplate("models/good.jinja", None, TEMPLATE, in_lines=True, findings=()),
        ),
        (
            InputProblem("bad.jinja", "this is not UTF-8", "save it as UTF-8", "byte 3"),
            InputProblem("c.jinja", "this ignore of AP101 gives no reason", "say why", line=3),
        ),
        all_rules(),
        baseline=True,
        vanished=2,
    )


def hostile() -> LintRun:
    """A run whose every text is from somebody who does not mean well."""
    shown = ShownText(HOSTILE, HOSTILE, messages=({"role": HOSTILE},))
    raises = ShownText(HOSTILE, error=HOSTILE)
    finding = LintFinding(
        DROPS,
        Hit(
            HOSTILE,
            (
                HitEvidence(shown, raises),
                HitEvidence(shown, ShownText(HOSTILE, "x" + HOSTILE)),
                HitEvidence(shown),
                HitEvidence(shown, shown),
            ),
            line=1,
            fix=HOSTILE,
        ),
    )
    ignore = Ignore((HOSTILE,), HOSTILE, 1)
    return LintRun(
        tuple(
            InspectedTemplate(
                HOSTILE,
                HOSTILE,
                ChatTemplate(HOSTILE),
                lines,
                (finding,),
                unused=(ignore,),
                remarks=(HOSTILE,),
            )
            for lines in (True, False)
        ),
        (InputProblem(HOSTILE, HOSTILE, HOSTILE, HOSTILE, 3),),
        all_rules(),
    )


def clean() -> LintRun:
    """Nothing found."""
    return LintRun((InspectedTemplate("good.jinja", None, TEMPLATE, True, ()),), (), all_rules())

r"""The export to transformers' declarative `response_template`.

Of a call that is written as `<function=f>` and then parameter by parameter:

    >>> from autoparser import analyze, load_template
    >>> template = load_template("fixtures/templates/a1-function-parameter.jinja")
    >>> fields = response_template(analyze(template).format).document["fields"]
    >>> list(fields)
    ['thinking', 'content', 'tool_calls']
    >>> print(fields["thinking"]["open_pattern"])
    <think>\n?
    >>> print(fields["tool_calls"]["content"], fields["tool_calls"]["close_pattern"])
    xml-inline \n?</function>\s*</tool_call>
"""

from .target_document import response_template

__all__ = ["response_template"]

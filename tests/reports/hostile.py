"""A template whose markers, names and switches try to leave a page's text."""

from __future__ import annotations

from autoparser import ChatTemplate

ORIGIN = "</h1><img src=x onerror=document.title=1>.jinja"

TEXT = (
    "{%- for m in messages -%}"
    "{{ '</title><script>document.title=\"owned\"</script><' + m.role + ' onclick=\"x()\">' }}"
    "{%- if m.reasoning_content %}{{ '<img src=x onerror=\"document.title=1\">'"
    " + m.reasoning_content + '</style><script src=\"http://127.0.0.1:9/x.js\"></script>' }}"
    "{% endif %}{{ m.content }}"
    "{%- for c in m.tool_calls or [] %}"
    "{{ '<svg/onload=x()>\\u202e\\u200b\\u115f&lt;&#x3c;script&#x3e;<a href=\"javascript:x()\">' }}"
    '{"name": {{ c.function.name|tojson }}, "arguments": {{ c.function.arguments|tojson }}}'
    "{{ '</a></svg>--><![CDATA[\\x1b[31m\\x00' }}{% endfor %}"
    "{{- '</' + m.role + '><iframe srcdoc=\"<script>x()</script>\"></iframe>' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt %}"
    '{{ \'</title><script>document.title="owned"</script><assistant onclick="x()">\' }}'
    "{%- if onload_alert == '<script>x()</script>' %}"
    "{{ '<img src=x onerror=\"document.title=1\"></style>' }}{% endif %}{% endif %}"
)


def hostile() -> ChatTemplate:
    return ChatTemplate(TEXT, name="</title><script>x()</script>", origin=ORIGIN)

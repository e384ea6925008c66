"""What may be in a page: nothing that loads or runs."""

from __future__ import annotations

import re
from html.parser import HTMLParser


class Page(HTMLParser):
    """Collects what a page has."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.open = [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attributes]
        if tag not in ("meta", "br", "hr", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


SAFE_TAGS = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "h4", "h5", "h6", "section", "p", "br",
    "hr", "pre", "code", "details", "summary", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr",
    "th", "td", "a", "strong", "em", "del", "img",
}  # fmt: skip


SAFE_ATTRIBUTES = {
    ("html", "lang"), ("meta", "charset"), ("meta", "http-equiv"), ("meta", "content"), ("meta", "name"),
    ("section", "class"), ("section", "aria-label"), ("details", "class"), ("ul", "class"), ("p", "class"),
    ("code", "class"), ("ol", "start"), ("a", "href"), ("a", "rel"), ("img", "src"), ("img", "alt"),
}  # fmt: skip


def assert_inert(page):
    """Hold a page against what may be in one: nothing loads or runs."""
    found = Page(page)
    assert set(found.tags) <= SAFE_TAGS
    assert not found.open
    for tag, name, value in found.attributes:
        assert (tag, name) in SAFE_ATTRIBUTES
        if name == "href":
            assert value.lower().startswith(("http://", "https://", "mailto:"))
        if name == "src":
            assert re.match(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*$", value)

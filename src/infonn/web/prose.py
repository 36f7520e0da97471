"""Texts by a study's owner: Markdown as HTML that can do no harm."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import quote, unquote, urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from infonn.formats.media import SOUND_ENDINGS, VIDEO_ENDINGS

_ALLOWED = {
    *("p", "br", "hr", "em", "strong", "code", "pre", "blockquote", "ul", "ol", "li", "a", "h1", "h2", "h3", "h4"),
    *("table", "thead", "tbody", "tr", "th", "td", "del", "sub", "sup", "img", "audio", "video"),
}
_PLAYER = {"src", "controls", "preload", "aria-label"}
_ATTRIBUTES = {"a": {"href"}, "img": {"src", "alt"}, "audio": _PLAYER, "video": {*_PLAYER, "playsinline"}}


def markdown(text: str, key: str = "") -> Markup:
    """Markdown as HTML: no scripts, styles or raw HTML. `![words](file.png)` shows a file that came with the study of
    this key: a picture, or a player for a sound or video; one of another address is left out, and its words stay."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens.add_render_rule("html_block", _nothing)
    tokens.add_render_rule("html_inline", _nothing)
    tokens.add_render_rule("image", _media)
    html = tokens.render(text, {"key": key})
    cleaned = nh3.clean(html, tags=_ALLOWED, attributes=_ATTRIBUTES, url_schemes={"http", "https", "mailto"})
    return Markup(cleaned)


def _nothing(renderer: RendererHTML, tokens: list[Token], index: int, options: object, env: object) -> str:
    return ""


def _media(renderer: RendererHTML, tokens: list[Token], index: int, options: object, env: dict[str, str]) -> str:
    token = tokens[index]
    source, words = str(token.attrs.get("src", "")), escape(token.content)
    name = unquote(source)
    if not env["key"] or urlsplit(source).scheme or name != PurePosixPath(name).name:
        return str(words)
    address, ending = f"/api/p/{quote(env['key'])}/media/{quote(name)}", PurePosixPath(name).suffix.lower()
    if ending in SOUND_ENDINGS:
        return f'<audio controls preload="metadata" src="{address}" aria-label="{words}"></audio>'
    if ending in VIDEO_ENDINGS:
        return f'<video controls playsinline preload="metadata" src="{address}" aria-label="{words}"></video>'
    return f'<img src="{address}" alt="{words}">'

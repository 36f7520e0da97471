"""The pages' own parts that need no browser."""

import json

from infonn.web.pages import HERE, markdown, texts_of


def test_markdown_is_rendered_and_can_do_no_harm() -> None:
    html = markdown("# Hi\n\n**bold** <script>alert(1)</script> ![x](http://evil/x.png) [go](javascript:alert(1))")
    assert "<strong>bold</strong>" in html
    for bad in ("<script", "<img", "<a ", "href"):
        assert bad not in html


def test_links_of_owners_open_without_a_way_back() -> None:
    assert 'rel="noopener noreferrer"' in markdown("[us](https://example.org)")


def test_every_language_has_every_text_and_place() -> None:
    english = texts_of("en")
    for file in (HERE / "texts").glob("*.json"):
        texts = json.loads(file.read_text(encoding="utf-8"))
        assert set(texts) == set(english), file.name
        for name, text in english.items():
            assert text.count("{") == texts[name].count("{"), f"{file.name}: {name}"


def test_an_unknown_language_speaks_english() -> None:
    assert texts_of("../secrets") == texts_of("xx") == texts_of("en")

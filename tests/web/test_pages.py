"""The pages' own parts that need no browser."""

import json
import re

from infonn.web.pages import HERE, direction, languages, texts_of
from infonn.web.prose import markdown


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
            assert places(text) == places(texts[name]), f"{file.name}: {name}"


def places(text: str) -> list[str]:
    return sorted(re.findall(r"\{(\w+)\}", text))


def test_there_are_seven_languages_under_their_own_names() -> None:
    assert set(languages()) >= {"en", "de", "fr", "es", "zh", "ja", "ar"}
    assert languages()["ar"] == "العربية"
    assert (direction("ar"), direction("de")) == ("rtl", "ltr")


def test_every_text_is_used() -> None:
    sources = [
        *(HERE / "templates").glob("*.html"),
        *(HERE / "static" / "participant").glob("*.js"),
        *HERE.glob("*.py"),
    ]
    code = "\n".join(file.read_text(encoding="utf-8") for file in sources)
    made = ("question_", "form_", "ended_", "paused_", "not_found_", "screened_out_", "over_quota_")  # put together
    unused = [name for name in texts_of("en") if name not in code and not name.startswith(made)]
    assert unused == []


def test_an_unknown_language_speaks_english() -> None:
    assert texts_of("../secrets") == texts_of("xx") == texts_of("en")

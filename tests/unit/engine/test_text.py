"""Tables as text and HTML."""

from kai.engine import text
from kai.engine.text import Table


def test_the_last_column_wraps_under_itself() -> None:
    table = Table("T", ("name", "why"), [("a", "word " * 20)])
    lines = text.to_text("", [table], width=60).splitlines()
    assert lines[1] == "  name  why"
    assert lines[2].startswith("  a     word word")
    assert lines[3].startswith("        word")
    assert max(map(len, lines)) <= 60


def test_text_that_has_no_room_gets_lines_of_its_own() -> None:
    table = Table("T", ("name", "why"), [("n" * 50, "word " * 20)])
    lines = text.to_text("", [table], width=60).splitlines()
    assert lines[1] == "  " + "n" * 50
    assert lines[2].startswith("      word")


def test_numbers_stand_to_the_right() -> None:
    table = Table("T", ("", "n"), [("a", "1"), ("b", "1,000")], right=frozenset((1,)))
    assert text.to_text("", [table]).splitlines()[1:] == ["         n", "  a      1", "  b  1,000"]


def test_names_give_way_to_numbers() -> None:
    table = Table("T", ("name", "n"), [("x" * 25 + "y" * 25, "1,000")], right=frozenset((1,)))
    lines = text.to_text("", [table], width=40).splitlines()
    assert lines[2] == "  " + "x" * 14 + "..." + "y" * 14 + "  1,000"


def test_empty_tables_are_left_out_and_notes_kept() -> None:
    tables = [Table("empty", ("a",), []), Table("full", ("a",), [("x",)], note="and more")]
    assert text.to_text("title", tables) == "title\n\nfull\n  a\n  x\n  and more"


def test_html_is_folded_and_escaped() -> None:
    html = text.to_html("<t>", [Table("c", ("a",), [("<b>",)] * 60)], most_rows=50)
    assert html.count("&lt;b&gt;") == 50
    assert "and 10 more rows" in html
    assert "<t>" not in html


def test_numbers_of_any_size_can_be_written() -> None:
    assert text.number(10**400) == "far too many"
    assert text.number(1e20) == "1e+20"
    assert text.number(-0.5) == "-0.5"

"""Tables as text and HTML."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kai.engine import names, text
from kai.engine.text import Table


def test_the_last_column_wraps_in_its_column() -> None:
    table = Table("T", ("name", "why"), [("a", "word " * 20)])
    lines = text.to_text("", [table], width=60).splitlines()
    assert lines[1] == "  name  why"
    assert lines[2].startswith("  a     word word")
    assert lines[3].startswith("        word")
    assert max(map(len, lines)) <= 60


def test_text_without_room_gets_its_own_lines() -> None:
    table = Table("T", ("name", "why"), [("n" * 50, "word " * 20)])
    lines = text.to_text("", [table], width=60).splitlines()
    assert lines[1] == "  " + "n" * 50
    assert lines[2].startswith("      word")


def test_numbers_stand_to_the_right() -> None:
    table = Table("T", ("", "n"), [("a", "1"), ("b", "1,000")], right=frozenset((1,)))
    assert text.to_text("", [table]).splitlines()[1:] == ["         n", "  a      1", "  b  1,000"]


def test_names_are_shortened_before_numbers() -> None:
    table = Table("T", ("name", "n"), [("x" * 25 + "y" * 25, "1,000")], right=frozenset((1,)))
    lines = text.to_text("", [table], width=40).splitlines()
    assert lines[2] == "  " + "x" * 14 + "..." + "y" * 14 + "  1,000"


def test_empty_tables_are_left_out_and_notes_kept() -> None:
    tables = [Table("empty", ("a",), []), Table("full", ("a",), [("x",)], note="and more")]
    assert text.to_text("title", tables) == "title\n\nfull\n  a\n  x\n  and more"


def test_html_is_shortened_and_escaped() -> None:
    html = text.to_html("<t>", [Table("c", ("a",), [("<b>",)] * 60)], most_rows=50)
    assert html.count("&lt;b&gt;") == 50
    assert "and 10 more rows" in html
    assert "<t>" not in html


def test_numbers_of_any_size_can_be_written() -> None:
    assert text.number(10**400) == "far too many"
    assert text.number(1e20) == "1e20"
    assert text.number(-0.5) == "-0.5"


# ---- names ---------------------------------------------------------------------------------------

NAMES = st.lists(
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["team/", "team-a/run-2026-", "a-pool-of-nodes-with-a-long-name-"]),
        st.text("ab01-", max_size=40),
        st.sampled_from(["", "-of-a-sweep", "-with-a-long-name-behind"]),
    ),
    min_size=1,
    max_size=30,
    unique=True,
)


@given(NAMES, st.integers(12, 40))
def test_shortened_names_are_distinct(known: list[str], limit: int) -> None:
    short = names.shortened(dict.fromkeys(known, limit))
    assert len(set(short.values())) == len(known)
    for name, shown in short.items():
        assert shown == name or len(shown) <= limit
        assert len(name) > limit or shown == name


@given(NAMES, st.sampled_from((60, 80, 120, 200)))
def test_rows_fit_the_terminal_and_names_in_a_file_are_complete(
    known: list[str], width: int
) -> None:
    sentence = "It needs 2 pods that start together; no GPU is free after this cycle."
    tables = [
        Table("n", ("queue", "in use"), [(f"  {each}", "1,000") for each in known], right={1}),
        Table("w", ("pod group", "why"), [(each, sentence) for each in known]),
        Table("q", ("", "pod group", "why"), [("1", each, sentence) for each in known], right={0}),
        Table("d", ("", "name", "on"), [("bind", each, f"{each} (4)") for each in known], name=1),
    ]
    page = text.to_text("", tables, width=width)
    assert max(len(line) for line in page.splitlines()) <= width
    page = text.to_text("", tables)
    assert all(page.count(f" {name}") >= len(tables) for name in known)


def test_a_name_that_cannot_be_cut_is_wrapped() -> None:
    known = [f"{'a' * 20}{number:04}{'b' * 60}{number * 7 % 5}" for number in range(4)]
    spread = [name[:22] + str(at) + name[23:] for at, name in enumerate(known)]
    table = Table("T", ("name", "n"), [(name, "1") for name in spread], right={1})
    lines = text.to_text("", [table], width=24).splitlines()
    assert max(map(len, lines)) <= 24


def test_spare_columns_are_left_out_with_a_note() -> None:
    table = Table("T", ("queue", "in use", "weight"), [("a", "1" * 20, "2" * 20)], right={1, 2})
    narrow = text.to_text("", [replace(table, spare=(2,))], width=40)
    assert "2" not in narrow
    assert narrow.splitlines()[-1] == "  not shown for lack of space: weight"
    assert "2" * 20 in text.to_text("", [replace(table, spare=(2,))], width=80)
    assert "2" * 20 in text.to_text("", [replace(table, spare=(2,))])


def test_column_titles_of_two_words_wrap_in_narrow_tables() -> None:
    table = Table("T", ("queue", "fair share"), [("vision-and-speech", "1")], right={1})
    assert text.to_text("", [table], width=28).splitlines()[1:] == [
        "                      fair",
        "  queue              share",
        "  vision-and-speech      1",
    ]


def test_control_characters_are_escaped() -> None:
    table = Table("T", ("name", "n"), [("a\x1b[2J\u202eb\n", "1")], right={1})
    assert text.to_text("", [table]).splitlines()[2] == r"  a\x1b[2J\u202eb\n  1"


def test_html_and_markdown_keep_the_indentation() -> None:
    table = Table("T", ("queue", "n"), [("a", "1"), ("  b", "1")], right={1})
    assert ">&nbsp;&nbsp;&nbsp;&nbsp;b</td>" in text.to_html("", [table])
    assert "| &nbsp;&nbsp;&nbsp;&nbsp;b | 1 |" in text.to_markdown("", [table])

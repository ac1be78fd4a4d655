"""tools/readme_picture.py: the committed picture is the one made from the table in the docs."""

import xml.etree.ElementTree as ET

import pytest
import readme_picture as picture

SVG = "{http://www.w3.org/2000/svg}"


def test_the_committed_picture_equals_the_scripts_output() -> None:
    assert picture.PICTURE.read_text(encoding="utf-8") == picture.draw(picture.figures())


def test_each_row_has_two_bars_proportional_to_the_times() -> None:
    rows = picture.figures()
    bars = [
        each
        for each in ET.fromstring(picture.PICTURE.read_text(encoding="utf-8")).iter(f"{SVG}rect")
        if each.get("class") in ("ours", "kais")
    ]
    assert len(bars) == 2 * len(rows)
    full = picture.BAR_RIGHT - picture.BAR_LEFT
    for each, (ours, kais) in zip(
        rows.values(), zip(bars[::2], bars[1::2], strict=True), strict=True
    ):
        assert float(ours.get("width", 0)) == picture.LEAST_WIDTH
        expected = full * picture.seconds(each.kais) / picture.AXIS_S
        assert float(kais.get("width", 0)) == pytest.approx(expected, abs=0.1)


def test_times_are_read_with_their_units() -> None:
    assert picture.seconds("115 µs") == pytest.approx(115e-6)
    assert picture.seconds("18.5 ms") == pytest.approx(0.0185)
    assert picture.seconds("300 s") == 300

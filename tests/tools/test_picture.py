"""tools/picture.py: the committed picture is the one that it makes of the committed figures."""

import xml.etree.ElementTree as ET

import picture
import pytest

SVG = "{http://www.w3.org/2000/svg}"


def test_the_committed_picture_equals_the_scripts_output() -> None:
    made = picture.draw(picture.our_figures(), picture.kais_figures())
    assert picture.PICTURE.read_text() == made


def test_every_figure_is_a_mark_inside_its_panel() -> None:
    ours, kais = picture.our_figures(), picture.kais_figures()
    panels = ET.fromstring(picture.PICTURE.read_text()).findall(f"{SVG}g")
    assert len(panels) == len(picture.PANELS)
    for (family, _, sizes), panel in zip(picture.PANELS, panels, strict=True):
        assert tuple(nodes for nodes, _ in ours[family]) == sizes
        circles = panel.findall(f"{SVG}circle")
        squares = [each for each in panel.findall(f"{SVG}rect") if "kais" in each.get("class", "")]
        assert len(circles) == len(ours[family])
        assert len(squares) == len(kais.get(family, []))
        for each in circles:
            assert 0 <= float(each.get("cx", -1)) <= picture.PANEL_WIDTH
            assert 0 <= float(each.get("cy", -1)) <= picture.PANEL_HEIGHT


def test_a_factor_of_ten_is_the_same_distance_everywhere() -> None:
    assert picture.x_of(100) - picture.x_of(10) == pytest.approx(
        picture.x_of(5000) - picture.x_of(500)
    )
    assert picture.y_of(1) - picture.y_of(10) == pytest.approx(picture.y_of(50) - picture.y_of(500))
    assert (picture.x_of(10), picture.y_of(0.01)) == (0, picture.PANEL_HEIGHT)

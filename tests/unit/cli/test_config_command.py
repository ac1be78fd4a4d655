"""kai config show: the configuration that applies, in the format of --config."""

import json
from pathlib import Path
from typing import Any

import yaml

import kai
from kai.engine import config

Run = Any


def test_the_printed_default_configuration_can_be_loaded(run: Run, tmp_path: Path) -> None:
    shown = run("config", "show")
    assert (shown.status, shown.err) == (0, "")
    (tmp_path / "mine.yaml").write_text(shown.out)
    again = run("config", "show", "--config", tmp_path / "mine.yaml")
    assert (again.status, again.err) == (0, "")
    assert again.out == shown.out
    assert "  - name: nodeplacement\n    arguments: {cpu: binpack, gpu: binpack}\n" in shown.out
    assert json.loads(run("config", "show", "--json").out) == config.in_force("")


def test_the_changes_of_a_file_are_shown(run: Run, written: Any) -> None:
    path = written(
        "config.yaml", "plugins: {nodeplacement: {gpu: spread}, predicates: false}\nactons: x\n"
    )
    shown = run("config", "show", "--config", path)
    assert shown.status == 0
    assert "actons" in shown.err
    plugins = {each["name"]: each for each in yaml.safe_load(shown.out)["tiers"][0]["plugins"]}
    assert plugins["nodeplacement"]["arguments"] == {"cpu": "binpack", "gpu": "spread"}
    assert "predicates" not in plugins
    assert run("config", "show", "--config", path, "--strict").status == 2


def test_the_configuration_of_a_snapshot_is_shown(run: Run, tmp_path: Path) -> None:
    kai.Cluster().configure({"actions": "allocate"}).save(tmp_path / "a.zip")
    shown = yaml.safe_load(run("config", "show", tmp_path / "a.zip").out)
    assert shown["actions"] == "allocate"
    assert set(shown["compat"].values()) == {"fixed"}
    as_kai = yaml.safe_load(run("config", "show", "--as-kai").out)
    assert set(as_kai["compat"].values()) == {"kai"}


def test_an_invalid_configuration_prints_one_sentence(run: Run, written: Any) -> None:
    path = written("config.yaml", "actions: [allocate]\n")
    done = run("config", "show", "--config", path)
    assert done.status == 2
    assert done.err == f'kai: {path}: actions is not a string such as "allocate, reclaim"\n'

#!/usr/bin/env bash
# tests/wheel/check_wheel.sh WHEEL: installs it into an empty virtual environment, as a user would, and plans a cluster.
# Checks that every library in the wheel has its licence there.
#
# Runs outside the checkout, so that nothing of it is imported, and makes sure that no library comes from this machine.
set -euo pipefail
wheel=$(realpath "$1")
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

"$root/.venv/bin/python" -m venv "$room/venv"
"$room/venv/bin/python" -m pip install --disable-pip-version-check --quiet \
  --constraint "$root/tools/requirements-dev.txt" "$wheel"

cd "$room"
venv/bin/python - "$root" <<'PYTHON'
import importlib.metadata
import pathlib
import sys

import kai
import kai._core

# resolve() both: the path of the environment may have a link
home = pathlib.Path(sys.prefix).resolve()
assert pathlib.Path(kai._core.__file__).resolve().is_relative_to(home), kai._core.__file__
mapped = {line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps") if "/" in line}
foreign = sorted(
    path
    for path in mapped
    if any(name in path for name in ("libabsl", "libre2", "libsimdjson"))
    and not pathlib.Path(path).resolve().is_relative_to(home)
)
assert not foreign, f"these libraries come from outside the wheel: {foreign}"

# tests/tools/test_licenses.py checks that each library of the build has a text.
texts = {path.name for path in pathlib.Path(sys.argv[1], "licenses").glob("*.txt")}
installed = importlib.metadata.files("kai-sched")
shipped = {path.name for path in installed if path.parent.match("*.dist-info/licenses/licenses")}
assert texts and shipped == texts, f"the wheel has the licences {sorted(shipped)}"
assert any(path.match("*.dist-info/licenses/LICENSE") for path in installed)
known = tuple(f"lib{text.removesuffix('.txt')}" for text in texts)
libraries = [path.name for path in installed if path.parent.name == "kai_sched.libs"]
without = [name for name in libraries if not name.startswith(known)]
assert not without, f"these libraries in the wheel have no text in licenses/: {without}"
PYTHON
mkdir files
venv/bin/kai run guard-files files >/dev/null
LD_PRELOAD=$PWD/files/libkaiguard.so venv/bin/python -c "print('the guard loads')" >/dev/null
venv/bin/python -m kai demo
venv/bin/kai demo >/dev/null
crds=$(venv/bin/kai install --crds-only | grep -c '^kind: CustomResourceDefinition$')
[ "$crds" = 6 ] || { echo "the wheel has $crds of the six CRDs" >&2; exit 1; }

#!/usr/bin/env bash
# tools/build.sh PRESET [TARGET...]: configures when needed and builds into build/PRESET.
#
#   tools/build.sh release                   everything in that preset, kai._core included
#   tools/build.sh debug kai_fairshare_test  one floor's tests and what they need
#
# tools/progress.py shows the progress; if the command fails, its output follows. JOBS=n sets how many compilers run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=$1
shift
dir=build/$preset
mkdir -p "$dir"
usually=() label=$*
[ "$label" = _core ] && label=kai._core

# A build folder stores absolute paths and presets. One that was copied or moved here, or is older than the presets, is
# configured from scratch.
made_for="$PWD $(cksum <CMakePresets.json)"
if [ "$(cat "$dir/made-for" 2>/dev/null)" != "$made_for" ]; then
  cmake --preset "$preset" --fresh >"$dir/configure.log" 2>&1 ||
    { sed -n '/^CMake Error/,$p' "$dir/configure.log" >&2; exit 1; }
  printf '%s\n' "$made_for" >"$dir/made-for"
  [ "$preset $label" = "release kai._core" ] && usually=(--usually 270)
fi

"${PYTHON:-python3}" tools/progress.py "${usually[@]}" --log "$dir/build.log" "building ${label:-everything} ($preset)" -- \
  ninja -C "$dir" -j "${JOBS:-$(nproc)}" "$@"

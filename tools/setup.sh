#!/usr/bin/env bash
# Brings a fresh Debian or Ubuntu machine to the point where `cmake --preset release` and pytest work.
#
#   tools/setup.sh [system] [run] [python] [bench] [prometheus] [image] [cuda] [tidy]      default: system and python
#
# system  installs missing Debian packages if the user is root or sudo needs no password; otherwise it prints what to
#         install. It checks for the files of a package and not for its name, so a compiler or a library from another
#         source counts too, and apt does not run if nothing is missing.
# run     makes .venv, puts `kai` on its path, and installs what is needed to build and run kai
#         (tools/requirements-run.in).
# python  the same with everything for development: tools/requirements-dev.txt, which also pins the versions.
# bench   installs valgrind, with which `make bench` counts instructions; without it `make bench` prints a line.
# prometheus  installs the server for tests/unit/service/test_prometheus.py; without it these tests are skipped.
# cuda   installs CUDA's compiler into .venv (tools/requirements-cuda.in), if the system has no nvcc.
# tidy   installs clang-tidy into .venv.
# image  installs umoci and skopeo, with which tests/cluster/image reads the container image; `make image` needs neither.
#
# All parts are quick if there is nothing to do. PYTHON=/path/to/python3 chooses the interpreter behind .venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '==> %s\n' "$*"; }
die() { printf 'set-up: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

python=${PYTHON:-python3}
have "$python" || die "needs Python 3.10 or newer; $python was not found"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
  die "needs Python 3.10 or newer, but $python is $("$python" --version 2>&1); choose another with PYTHON=..."

# watch LABEL SECONDS COMMAND...: shows the progress of the command, and its output if it failed.
watch() { "$python" tools/progress.py --usually "$2" "$1" -- "${@:3}"; }

# --- system packages -------------------------------------------------------------------------------------------

has_headers() {  # whether the C++ compiler finds all these headers
  local header
  for header; do printf '#if !__has_include(<%s>)\n#error missing\n#endif\n' "$header"; done |
    g++ -std=c++20 -E -x c++ - >/dev/null 2>&1
}
has_cmake() {
  local version
  version=$(cmake --version 2>/dev/null) && [[ $version =~ ([0-9]+)\.([0-9]+) ]] &&
    ((BASH_REMATCH[1] > 3 || (BASH_REMATCH[1] == 3 && BASH_REMATCH[2] >= 25)))
}
has_venv() { "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; }
has_python_headers() {
  "$python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'
}

# find_apt: sets `install` and `as_root`; `install` is empty if packages cannot be installed.
find_apt() {
  install=() as_root=()
  have apt-get || return 0
  if [ "$(id -u)" = 0 ]; then
    install=(apt-get)
  elif have sudo && sudo -n true 2>/dev/null; then
    install=(apt-get)
    as_root=(sudo -n)
  fi
}

# install_packages NAME...
install_packages() {
  say "installing system packages: $*"
  install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  watch "apt-get update" 0 "${install[@]}" update ||
    say "apt-get update failed; trying with the package lists that are here"
  watch "apt-get install" 30 "${install[@]}" install -y --no-install-recommends "$@"
}

set_up_bench() {
  have valgrind && return 0
  find_apt
  [ ${#install[@]} = 0 ] || install_packages valgrind || say "apt-get could not install valgrind"
}

set_up_prometheus() {
  have prometheus && return 0
  find_apt
  [ ${#install[@]} = 0 ] || install_packages prometheus || say "apt-get could not install prometheus"
}

set_up_image() {
  have umoci && have skopeo && return 0
  find_apt
  [ ${#install[@]} = 0 ] || install_packages umoci skopeo || say "apt-get could not install umoci and skopeo"
}

# set_up_packages NAME: installs tools/requirements-NAME.txt into .venv, beside what is there.
set_up_packages() {
  watch "installing $1 into .venv" 10 .venv/bin/python -m pip install \
    --disable-pip-version-check --quiet --no-compile --requirement "tools/requirements-$1.txt"
}

has_nvcc() {
  have nvcc || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ] ||
    compgen -G ".venv/lib/python*/site-packages/nvidia/*/bin/nvcc" >/dev/null
}

set_up_cuda() { has_nvcc || set_up_packages cuda || die "there is no nvcc, and pip could not install it"; }

set_up_tidy() { [ -x .venv/bin/clang-tidy ] || set_up_packages tidy || die "pip could not install clang-tidy"; }

set_up_system() {
  # Debian ships venv and headers per Python version, so name the version for interpreters beside the default one.
  local version missing=() helpful=()
  version=python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  have g++ || missing+=(g++)
  has_cmake || missing+=(cmake)
  have ninja || missing+=(ninja-build)
  has_headers absl/status/statusor.h absl/container/flat_hash_map.h || missing+=(libabsl-dev)
  has_headers simdjson.h || missing+=(libsimdjson-dev)
  has_headers re2/re2.h || missing+=(libre2-dev)
  has_headers gtest/gtest.h gmock/gmock.h || missing+=(libgtest-dev libgmock-dev)
  has_headers benchmark/benchmark.h || missing+=(libbenchmark-dev)
  has_venv || missing+=("$version-venv")
  has_python_headers || missing+=("$version-dev")
  have ccache || helpful+=(ccache)  # makes further builds of the same sources fast; not required

  find_apt
  if [ ${#install[@]} = 0 ]; then
    [ ${#missing[@]} = 0 ] && return 0
    die "these system packages are missing: ${missing[*]}; please run: sudo apt-get install -y ${missing[*]}"
  fi
  local wanted=("${missing[@]}" "${helpful[@]}")
  [ ${#wanted[@]} = 0 ] && return 0
  install_packages "${wanted[@]}" ||
    die "apt-get could not install: ${wanted[*]}"
  has_cmake || die "needs CMake 3.25 or newer (Debian 12, Ubuntu 24.04); this is $(cmake --version 2>&1 | sed 1q)"
}

# --- Python packages -------------------------------------------------------------------------------------------

which_python() { "$1" -c 'import sys; print(sys.version, sys.base_prefix)'; }

# set_up_python run|all
set_up_python() {
  local pins=tools/requirements-dev.txt stamp wanted seconds
  # A hash of what .venv depends on: the requirements, this script, and its Python.
  stamp=$( (cat "$pins" tools/requirements-run.in "${BASH_SOURCE[0]}"; pwd
            which_python "$python") | sha256sum | cut -c1-16)
  case "$1 $(cat .venv/stamp 2>/dev/null)" in
    "run run $stamp" | "run all $stamp" | "all all $stamp") [ -x .venv/bin/python ] && return 0 ;;
  esac

  # A venv of another Python, or one that was moved here, is made again; otherwise pip only changes the differences.
  if ! .venv/bin/python -c "import sys; sys.exit(sys.prefix != '''$PWD/.venv''')" 2>/dev/null ||
     [ "$(which_python .venv/bin/python)" != "$(which_python "$python")" ]; then
    rm -rf .venv build/release/made-for  # that build was configured with the other Python's headers
    watch "making .venv" 0 "$python" -m venv .venv || die "python -m venv failed"
  fi
  rm -f .venv/stamp
  wanted=(--requirement tools/requirements-run.in --constraint "$pins") seconds=10
  [ "$1" = run ] || wanted=(--requirement "$pins") seconds=45
  watch "installing Python packages into .venv" $seconds .venv/bin/python -m pip install \
    --disable-pip-version-check --quiet --no-compile "${wanted[@]}" || die "pip could not install: ${wanted[*]}"

  # The developer loop has no install step: `kai` is imported from python/, and the release build puts the
  # compiled module there.
  local site
  site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  # Compiles what `kai` imports at each start; other modules are compiled at their first use.
  .venv/bin/python -m compileall -q "$site"/{click,rich,yaml}
  printf '%s/python\n' "$PWD" >"$site/kai-dev.pth"
  printf '#!/bin/sh\nexec "${0%%/*}/python" -m kai "$@"\n' >.venv/bin/kai
  chmod +x .venv/bin/kai
  printf '%s %s\n' "$1" "$stamp" >.venv/stamp
}

[ $# -gt 0 ] || set -- system python
for part; do
  case $part in
    system) set_up_system ;;
    run) set_up_python run ;;
    python) set_up_python all ;;
    bench) set_up_bench ;;
    prometheus) set_up_prometheus ;;
    image) set_up_image ;;
    cuda) set_up_cuda ;;
    tidy) set_up_tidy ;;
    *) die "unknown part: $part (system, run, python, bench, prometheus, image, cuda or tidy)" ;;
  esac
done

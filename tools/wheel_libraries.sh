#!/usr/bin/env bash
# tools/wheel_libraries.sh PREFIX: builds Abseil, RE2 and simdjson as static libraries and installs them into PREFIX.
#
# For the images in which release wheels are built (cibuildwheel), which lack these libraries. Pinned by tag and commit.
# Needs git, cmake, ninja and a C++20 compiler.
set -euo pipefail
prefix=$1
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

# install NAME URL TAG COMMIT CMAKE_OPTION...
install() {
  git -c advice.detachedHead=false clone --quiet --depth 1 --branch "$3" "$2" "$room/$1"
  [ "$(git -C "$room/$1" rev-parse HEAD)" = "$4" ] || { echo "$2: tag $3 is not commit $4" >&2; exit 1; }
  cmake -S "$room/$1" -B "$room/$1/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_STANDARD=20 \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF \
    -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_INSTALL_LIBDIR=lib "${@:5}"
  cmake --build "$room/$1/build"
  cmake --install "$room/$1/build"
}

install abseil https://github.com/abseil/abseil-cpp 20240722.1 dd4c89bd657f1e247ce5111a5c89ffe6ccfd0c92 \
  -DABSL_PROPAGATE_CXX_STD=ON -DABSL_ENABLE_INSTALL=ON
install re2 https://github.com/google/re2 2024-07-02 6dcd83d60f7944926bfd308cc13979fc53dd69ca
install simdjson https://github.com/simdjson/simdjson v3.13.0 0c0ce1bd48baa0677dc7c0945ea7cd1e8b52b297 \
  -DSIMDJSON_DEVELOPER_MODE=OFF

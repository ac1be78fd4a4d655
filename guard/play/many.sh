#!/bin/sh
# Lets processes with the guard inside play together on one pretended card, each with four threads.
#
#   many.sh PROGRAM FOLDER_OF_STUBS PROCESSES SECONDS [WRAPPER...]
#
# A wrapper is a command that runs the program, such as valgrind. Prints what processes wrote that
# failed; exit status 1 if one did, or if the guard counted nothing.
set -u
program=$1 stubs=$2 processes=$3 seconds=$4
shift 4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mib=$((1 << 20))
export STUB_BOOK="$folder/book" STUB_MEMORY=$((1024 * mib)) STUB_CONTEXT=$((4 * mib)) STUB_CHUNK=$((2 * mib))
export KAI_GUARD_REGION="$folder/region" KAI_GUARD_LIMIT=300Mi
touch "$KAI_GUARD_REGION"

for seed in $(seq "$processes"); do
  LD_LIBRARY_PATH=$stubs "$@" "$program" "$seed" "$seconds" 4 </dev/null >"$folder/said.$seed" 2>&1 &
  echo $! >"$folder/pid.$seed"
done
status=0
for seed in $(seq "$processes"); do
  wait "$(cat "$folder/pid.$seed")" || { status=1; cat "$folder/said.$seed"; }
done
[ -s "$KAI_GUARD_REGION" ] || { status=1; echo "no process has counted"; }
exit $status

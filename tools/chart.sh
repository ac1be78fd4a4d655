#!/usr/bin/env bash
# tools/chart.sh package: packages the Helm chart into dist/. With other arguments it runs Helm with them. Helm is built from
# Go modules at its first use.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
helm=$(PYTHONPATH=tests/cluster .venv/bin/python -m testcluster helm)
case "${1:-}" in
  package) "$helm" package charts/kai-sched --destination dist ;;
  *) "$helm" "$@" ;;
esac

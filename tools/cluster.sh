#!/usr/bin/env bash
# tools/cluster.sh up DIR: a real Kubernetes API server with simulated nodes on this machine, without containers and
# without root; `tools/cluster.sh --help` lists the commands, docs/internals/cluster.md explains them.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PYTHONPATH=$root/tests/cluster exec "$root/.venv/bin/python" -m testcluster "$@"

"""Runs a test cluster from the command line:

    tools/cluster.sh up DIR        start, wait until ready, print the kubeconfig's path
    tools/cluster.sh status DIR    processes with their memory and CPU time
    tools/cluster.sh down DIR      stop it and delete DIR (--keep: only stop; `up` continues it)
    tools/cluster.sh build         only build the programs
    tools/cluster.sh helm          only build Helm

DIR holds all of the cluster's state.
"""

import argparse
import shlex
import shutil
import sys
from pathlib import Path

from . import programs
from .arguments import Options
from .cluster import PROCESSES, Cluster
from .errors import ClusterError, UnavailableError


def up(arguments: argparse.Namespace) -> int:
    options = Options(
        fair_queuing=arguments.fair_queuing,
        feature_gates=arguments.feature_gates,
        runtime_config=arguments.runtime_config,
        server_arguments=tuple(arguments.server_argument),
    )
    cluster = Cluster(arguments.folder, options)
    found = programs.find(older=arguments.older)
    cluster.start(found, guarded=False)
    print(f"ready after {cluster.timings['ready']:.1f} s; kubectl is {found['kubectl']}")
    print(f"export KUBECONFIG={shlex.quote(str(cluster.kubeconfig))}")
    return 0


def status(arguments: argparse.Namespace) -> int:
    usage = Cluster(arguments.folder).usage()
    for name in PROCESSES:
        if each := usage.get(name):
            print(
                f"{name:24} rss {each.rss_mib:7.1f} MiB  peak {each.peak_mib:7.1f} MiB"
                f"  cpu {each.cpu_s:7.2f} s"
            )
        else:
            print(f"{name:24} does not run")
    return 0 if len(usage) == len(PROCESSES) else 1


def down(arguments: argparse.Namespace) -> int:
    cluster = Cluster(arguments.folder)
    if not cluster.exists:
        raise ClusterError(f"there is no cluster in {cluster.folder}")
    cluster.stop()
    if not arguments.keep:
        shutil.rmtree(cluster.folder)
    return 0


def build(arguments: argparse.Namespace) -> int:
    for name, path in programs.find(older=arguments.older).items():
        print(f"{name:24} {path}")
    return 0


def helm(arguments: argparse.Namespace) -> int:
    print(programs.helm())
    return 0


def guard(arguments: argparse.Namespace) -> int:
    """Waits for the end of its input, which means that the process that started the cluster has
    ended. Normally that process has stopped the cluster itself."""
    sys.stdin.buffer.read()
    cluster = Cluster(arguments.folder)
    if cluster.running():
        cluster.stop()
        shutil.rmtree(cluster.folder, ignore_errors=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="tools/cluster.sh",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for run in (up, status, down, build, helm, guard):
        command = commands.add_parser(run.__name__)
        command.set_defaults(run=run)
        if run not in (build, helm):
            command.add_argument("folder", type=Path, metavar="DIR")
        if run in (up, build):
            command.add_argument("--older", action="store_true", help="Kubernetes 1.34")
        if run is down:
            command.add_argument("--keep", action="store_true", help="keep DIR for another `up`")
        if run is up:
            command.add_argument("--feature-gates", default="", metavar="GATES")
            command.add_argument("--runtime-config", default="", metavar="VERSIONS")
            command.add_argument("--fair-queuing", action="store_true", help="and default limits")
            command.add_argument(
                *("--server-argument", "--arg"), action="append", default=[], metavar="--OPTION=..."
            )
    arguments = parser.parse_args()
    try:
        return int(arguments.run(arguments))
    except (ClusterError, UnavailableError, OSError) as error:
        print(f"tools/cluster.sh: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

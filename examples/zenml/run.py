"""Irises on half a GPU.

python run.py               run the pipeline on ZenML's active stack, by default on this machine
python run.py --plan        show the pod of each step and its place, without a cluster or ZenML
python run.py --terraform   write the settings for terraform/
"""

from __future__ import annotations

import argparse
import sys


def main() -> int:
    parser = argparse.ArgumentParser(description="Irises on half a GPU")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--plan", action="store_true", help="show the pods and their places")
    what.add_argument("--terraform", action="store_true", help="write the variables of terraform/")
    parser.add_argument("--runs", type=int, default=1, help="with --plan: number of runs at once")
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error("--runs: expected a number of at least 1")
    if arguments.plan:
        import plan

        plan.show(arguments.runs)
    elif arguments.terraform:
        import variables

        variables.write()
    else:
        import pipeline

        pipeline.gpu_pipeline()
    return 0


if __name__ == "__main__":
    sys.exit(main())

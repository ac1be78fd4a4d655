"""Gavel's measured throughputs: how much faster a job runs on one GPU model than on another.

    throughputs = read_throughputs("simulation_throughputs.json")
    workload = throughputs.applied(workload, reference="v100", models={"v100": ["V100M32"]})

The row of a job follows from its application (`Job.application`, a model with its batch size) and
its number of GPUs. Its speed on a GPU model is the throughput there divided by that on the
reference model. Durations refer to the reference model.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kai.admission.misspelt import squeezed
from kai.api import files
from kai.api.documents import decode, where
from kai.api.nearest import check_known
from kai.errors import InvalidInputError
from kai.sim.workload import Jobs, Workload

__all__ = ["Throughputs", "read_throughputs"]

_KEY = re.compile(r"\('(.+)', (\d+)\)")
_APART = "_unconsolidated"
_Speeds = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Throughputs:
    """Steps per second of a job alone on its GPUs."""

    steps_per_s: Mapping[tuple[str, int], Mapping[str, float]]  # (application, GPUs) -> setting

    @property
    def applications(self) -> tuple[str, ...]:
        """The measured applications, such as "ResNet-18 (batch size 16)"."""
        return tuple(sorted({application for application, _ in self.steps_per_s}))

    @property
    def gpu_models(self) -> tuple[str, ...]:
        """The measured GPU models."""
        settings = {each for row in self.steps_per_s.values() for each in row}
        return tuple(sorted(each for each in settings if not each.endswith(_APART)))

    def speeds(
        self, application: str, gpus: float, *, reference: str = "v100", apart: bool = False
    ) -> dict[str, float]:
        """The speed by GPU model, 1 on the reference model; empty if nothing was measured.

        An unmeasured number of GPUs uses the next smaller one. ``apart``: the GPUs are on several
        nodes. Worked: 4.80 steps a second on a k80 and 24.0 on a v100 are a speed of 0.2 on the
        k80. Raises InvalidInputError for a reference model without measurements.
        """
        check_known([reference], self.gpu_models, "there are no throughputs of GPU model")
        row = self._row(application, gpus)
        end = _APART if apart and f"{reference}{_APART}" in row else ""
        of_reference = row.get(f"{reference}{end}", 0.0)
        if of_reference <= 0:
            return {}
        found = {model: row.get(f"{model}{end}", 0.0) for model in self.gpu_models}
        return {model: steps / of_reference for model, steps in found.items() if steps > 0}

    def applied(
        self,
        workload: Workload,
        *,
        reference: str = "v100",
        models: Mapping[str, Sequence[str]] | None = None,
        seed: int | None = None,
    ) -> Workload:
        """The workload with the speeds of its jobs.

        ``models``: the names of a GPU model in the node pools; default: the same name. A job with
        an unmeasured application keeps its speeds; with a ``seed`` it gets a measured application,
        drawn evenly. Raises InvalidInputError as `speeds` does.
        """
        jobs = workload.jobs
        if seed is not None:
            jobs = self._with_applications(jobs, seed)
        known: dict[tuple[int, float, bool], _Speeds] = {}
        tables: list[_Speeds] = []
        found = 0
        totals = jobs.total_gpus
        for row in range(len(jobs)):
            key = (int(jobs.application[row]), float(totals[row]), bool(jobs.pods[row] > 1))
            if key not in known:
                application = jobs.application_names[key[0]]
                of = self.speeds(application, key[1], reference=reference, apart=key[2])
                names = {} if models is None else models
                known[key] = tuple(
                    (name, speed)
                    for model, speed in of.items()
                    for name in names.get(model, [model])
                )
            found += bool(known[key])
            tables.append(known[key] or jobs.speed_tables[jobs.speeds[row]])
        description = (
            f"{found:,} jobs have speeds by GPU model, with durations measured on {reference}"
        )
        return replace(
            workload,
            jobs=jobs.with_coded(speeds=tables),
            source=f"{workload.source}; {description}",
        )

    def _row(self, application: str, gpus: float) -> Mapping[str, float]:
        wanted = squeezed(application)
        sizes = [
            (size, name)
            for name, size in self.steps_per_s
            if size <= max(gpus, 1) and squeezed(name) == wanted
        ]
        if not sizes or gpus <= 0:
            return {}
        size, name = max(sizes)
        return self.steps_per_s[name, size]

    def _with_applications(self, jobs: Jobs, seed: int) -> Jobs:
        random = np.random.Generator(np.random.PCG64(seed))
        names = self.applications
        measured = {squeezed(name) for name in names}
        drawn = random.integers(len(names), size=len(jobs))
        given = [jobs.application_names[place] for place in jobs.application]
        chosen = [
            each if squeezed(each) in measured else names[draw]
            for each, draw in zip(given, drawn, strict=True)
        ]
        return jobs.with_coded(application=chosen)


def read_throughputs(path: str | os.PathLike[str]) -> Throughputs:
    """Reads Gavel's `simulation_throughputs.json`; measurements of pairs on one GPU are skipped.

    Raises InvalidInputError for a missing or invalid file.
    """
    name = os.path.basename(path)
    try:
        settings = json.loads(decode(files.read(path)))
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"{name}: not valid JSON: {where(error)}") from None
    except InvalidInputError as error:
        raise InvalidInputError(f"{name}: {error}") from None
    found: dict[tuple[str, int], dict[str, float]] = {}
    for setting, rows in settings.items() if isinstance(settings, dict) else ():
        for key, partners in rows.items() if isinstance(rows, dict) else ():
            match = _KEY.fullmatch(key)
            steps = partners.get("null") if isinstance(partners, dict) else None
            if match and isinstance(steps, (int, float)):
                found.setdefault((match[1], int(match[2])), {})[setting] = float(steps)
    if not found:
        raise InvalidInputError(
            f"{name}: has no throughputs such as {{'v100': {{\"('A3C', 1)\": ..."
        )
    return Throughputs(found)

"""Where and when jobs ran, in a cluster and in the simulator, and why two such stories differ.

    differences = compare(live, simulated)
    tally(differences)            # {"same nodes": 180, "a job ended at another time": 20, ...}

A decision depends on the state of the cluster. If a job ran on other nodes, or was evicted in one
story only, `compare` compares the states at the moment of this decision in both stories: which jobs
held which nodes, and which jobs waited. If the states differ, this is the cause: a job came or
ended at another time, or a job was already on other nodes. If the states are equal, `kai run` and
the simulator decided differently about the same cluster: one of them has an error.
"""

from collections import Counter
from dataclasses import dataclass

from kai.sim.stay_ends import STAY_ENDS
from kai.sim.timeline import Timeline

LATE_S = 1.0  # a start that differs by more is a difference
TOGETHER_S = 0.05  # bindings of one cycle are seen within this time
BEFORE_S = (0.0, 0.05, 0.1, 0.2, 0.3)  # time from a decision until the test receives its event

SAME = "same nodes"
LATER = "same nodes at another time"
TIMING = "other nodes: a job came, ended or returned at another time"
FOLLOWS = "other nodes: another job is on other nodes"
UNEXPLAINED = "other nodes: no cause was found"


@dataclass(frozen=True)
class Stay:
    """All pods of a job on nodes, from the last binding until the first pod leaves."""

    nodes: tuple[str, ...]  # one for each pod; sorted, as the pods differ in their UIDs only
    from_s: float
    to_s: float
    evicted: bool


@dataclass(frozen=True)
class Story:
    """Arrivals and stays by job name. Times are in seconds since the start of the workload."""

    arrivals: dict[str, float]
    stays: dict[str, tuple[Stay, ...]]

    def waiting_s(self) -> dict[str, float]:
        """The time of each job from its arrival to its first start."""
        return {name: self.stays[name][0].from_s - at_s for name, at_s in self.arrivals.items()}

    def mean_waiting_s(self) -> float:
        waited = self.waiting_s().values()
        return sum(waited) / len(waited)

    def held_at(self, moment_s: float, together_s: float) -> dict[str, tuple[str, ...]]:
        """Jobs that held nodes when the cycle that ended at this time began, and these nodes."""
        return {
            name: each.nodes
            for name, stays in self.stays.items()
            for each in stays
            if each.from_s < moment_s - together_s and each.to_s >= moment_s
        }

    def waited_at(self, moment_s: float, together_s: float) -> set[str]:
        """The jobs that waited at the start of this cycle."""
        held = self.held_at(moment_s, together_s)
        return {
            name
            for name, at_s in self.arrivals.items()
            if at_s <= moment_s
            and name not in held
            and not any(each.to_s < moment_s and not each.evicted for each in self.stays[name])
        }


def story_of(timeline: Timeline) -> Story:
    """The story of a simulation."""
    jobs, columns = timeline.workload.jobs, timeline.stays
    found: dict[str, dict[float, dict[int, tuple[int, float, bool]]]] = {}
    for row in range(len(columns["job"])):
        name = jobs.name[columns["job"][row]]
        evicted = STAY_ENDS[columns["end"][row]] != "finished"
        its = found.setdefault(name, {}).setdefault(float(columns["from_s"][row]), {})
        its[int(columns["pod"][row])] = (
            int(columns["node"][row]),
            float(columns["to_s"][row]),
            evicted,
        )
    stays = {
        name: tuple(
            Stay(
                nodes=tuple(sorted(timeline.node_names[node] for node, _, _ in pods.values())),
                from_s=from_s,
                to_s=min(to_s for _, to_s, _ in pods.values()),
                evicted=any(evicted for _, _, evicted in pods.values()),
            )
            for from_s, pods in sorted(by_start.items())
        )
        for name, by_start in found.items()
    }
    arrivals = {name: float(at_s) for name, at_s in zip(jobs.name, jobs.arrival_s, strict=True)}
    return Story(arrivals, stays)


@dataclass(frozen=True)
class Difference:
    """The difference of one job. `by_s`: how much later it first starts in the cluster."""

    job: str
    kind: str
    by_s: float
    cause: str = ""


def compare(live: Story, simulated: Story) -> list[Difference]:
    """One for each job, in the order of their first starts in the cluster."""
    order = sorted(live.stays, key=lambda name: (live.stays[name][0].from_s, name))
    return [_difference(name, live, simulated) for name in order]


def tally(differences: list[Difference]) -> dict[str, int]:
    """The number of differences of each kind."""
    return dict(Counter(each.kind for each in differences).most_common())


def _difference(name: str, live: Story, simulated: Story) -> Difference:
    mine, other = live.stays[name], simulated.stays[name]
    by_s = mine[0].from_s - other[0].from_s
    for a, b in zip(mine, other, strict=False):
        moments = None
        if a.nodes != b.nodes:
            moments = a.from_s, b.from_s
        elif a.evicted != b.evicted:  # until this moment the job was on nodes in both stories
            moments = (a.to_s, min(a.to_s, b.to_s)) if a.evicted else (min(a.to_s, b.to_s), b.to_s)
        if moments is not None:
            kind, cause = _cause(name, *moments, live, simulated)
            return Difference(name, kind, by_s, cause)
    return Difference(name, SAME if abs(by_s) <= LATE_S else LATER, by_s)


def _cause(
    name: str, mine_s: float, other_s: float, live: Story, simulated: Story
) -> tuple[str, str]:
    """The kind of the difference, and its cause as a sentence."""
    for before_s in BEFORE_S:
        found = _cause_at(name, mine_s - before_s, other_s, live, simulated)
        if found is not None:
            return found
    return UNEXPLAINED, ""


def _cause_at(
    name: str, mine_s: float, other_s: float, live: Story, simulated: Story
) -> tuple[str, str] | None:
    held = live.held_at(mine_s, TOGETHER_S), simulated.held_at(other_s, 0.0)
    waited = live.waited_at(mine_s, TOGETHER_S), simulated.waited_at(other_s, 0.0)
    for what, (there, here) in (("holds nodes", held), ("waits", waited)):
        for job in sorted(set(there) ^ set(here)):
            if job != name:
                where = "in the cluster" if job in there else "in the simulation"
                return TIMING, f"{job} {what} at this moment {where} only"
    for job in sorted(held[0]):
        if job != name and held[0][job] != held[1].get(job):
            return FOLLOWS, f"{job} is on {held[0][job]} and not on {held[1].get(job)}"
    return None

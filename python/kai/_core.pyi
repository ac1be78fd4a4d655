"""The compiled core: a cluster in, a plan out.

Private to `kai.engine`, which gives these types their names, defaults and looks. Nothing here reads
a clock, a file or a random source.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NoReturn, final

class _Compiled(type):
    """The metaclass of compiled classes."""

# zone, amounts by resource
_Zone = tuple[str, dict[str, float]]
# key, operator, values
_Requirement = tuple[str, str, list[str]]
# One claim of Plan.claims(): the pod's name for it, its own, (request, driver, pool, device) of
# each device, the terms (expressions, fields) of the nodes it can be used on; None: all. Of the one
# for extended resources also (request, class, count) and (container, resource, request); else None.
_ClaimAllocation = tuple[
    str,
    str,
    list[tuple[str, str, str, str]],
    list[tuple[list[_Requirement], list[_Requirement]]] | None,
    tuple[list[tuple[str, str, int]], list[tuple[str, str, str]]] | None,
]
# code, message, pod, facts
_Reason = tuple[str, str, str | None, dict[str, Any]]
# last_start_ns, stale_since_ns, last_eviction_ns, attained service; None: not written, "": removed
_Writes = tuple[int | None, int | Literal[""] | None, int | None, str | None]
# queue, verdict, messages, reasons, writes
_GroupPlan = tuple[str, str, list[str], list[_Reason], _Writes]
# deserved, fair_share, limit, allocated, allocated_non_preemptible, request, over_quota_weight,
# usage
_QueueShare = tuple[
    float | None,
    float | None,
    float | None,
    float | None,
    float | None,
    float | None,
    float | None,
    float | None,
]

# name, over its fair share, within what it deserves, priority, takes of what it may have nothing
# of, its share with the request, as it stands, created_ns
_QueueStanding = tuple[str, bool, bool, int, bool, float, float, int | None]
# pod group, priority, elastic state (below, at, above), created_ns, the request (devices, cores,
# bytes), queues from the top to its own
_Turn = tuple[str, int, str, int | None, float, float, float, list[_QueueStanding]]
# name, GPUs, free ones, leaving ones, free parts of shared ones, cores, free ones, bytes, free
# ones, why it takes no pods
_NodeRoom = tuple[str, float, float, float, list[float], float, float, float, float, str]
# idle thousandths of cores, class of nodes, and thousandths that are idle of each GPU
_IdleNode = tuple[int, int, list[int]]
# thousandths of cores, GPUs, thousandths of each, weight, and by class of nodes whether it is open
_TypicalPod = tuple[int, int, int, int, list[int]]
# names of nodes, the nodes, and the typical pods
_Measured = tuple[list[str], list[_IdleNode], list[_TypicalPod]]
# kind, first pod group, pod groups, pods, GPUs, action and group it is for (of evictions), the
# first nodes with their pods, nodes
_DecisionRow = tuple[str, str, int, int, float, str, str | None, list[tuple[str, int]], int]
_Amounts = list[tuple[float, int]]  # how much, and how many have or ask for as much
_OnNodes = list[tuple[str, int]]
# as kai.engine.situation.GroupFacts
_GroupStory = tuple[
    int,
    _Amounts,
    _Amounts,
    tuple[int, float, int] | None,
    int,
    _OnNodes,
    _OnNodes,
    _OnNodes,
    int,
    int,
    list[tuple[str, str | None, int]],
    bool,
]
# of nodes, what is free of them, and what queues get; leaf queues with GPUs, and those above their
# fair share: how many, and the first
_Account = tuple[_Amounts, _Amounts, dict[str, int], int, int, list[tuple[str, int]]]

def compat_switches() -> list[str]:
    """The names of all mends, each of which `compat` in a configuration can set to "kai"."""

def config_names() -> dict[str, list[str]]:
    """The names that a configuration may hold, by place; "" is the configuration itself.

    "tiers[]" is a tier, "plugins" the plugins by name, "plugins.numa" the arguments of one, and
    "plugins.nodeplacement.gpu" the values of one of which only some make sense.
    """

def scheduler_param_names() -> dict[str, list[str]]:
    """The members of `schedulerParams` (""), and those of "partitionParams"."""

@final
class Cluster(metaclass=_Compiled):
    """A loaded cluster that may live on. Every call may wait for a plan of it to be done."""

    def __init__(self, *args: NoReturn, **kwargs: NoReturn) -> None: ...
    @property
    def rejected(self) -> list[tuple[str, str, str, str]]:
        """What had to be left out: kind, name, field and message of each."""

    def measured(self, percent: int) -> _Measured:
        """Nodes that take pods, by name, and the typical pods: the most frequent ones, which are
        so many percent of all."""

    @property
    def config_json(self) -> str:
        """The `config` member of the snapshot as it stands there; "" if it has none."""

    @property
    def load_ns(self) -> int:
        """How long loading took."""

    @property
    def counts(self) -> dict[str, int]:
        """How many nodes, pods, pod_groups and queues there are."""

    def can_follow(self) -> bool:
        """Whether events can change it: not if its file names an object twice."""

    def upsert(self, json: bytes) -> tuple[str, str, bool, bool]:
        """An object came or changed. Its kind and name; whether it was there; whether it is late.

        Raises kai.InvalidClusterError for no JSON, a kind that no plan depends on, or no name.
        """

    def copy(self) -> Cluster | None:
        """Another one with the same objects; None: nothing has happened to this one yet."""

    def delete(self, kind: str, name: str) -> bool:
        """An object is gone; whether it was there. Raises as `upsert` does for the kind."""

    def has(self, kind: str, name: str) -> bool:
        """Whether it is there, good or rejected. Raises as `upsert` does for the kind."""

    def upsert_planned(self, json: bytes) -> str | None:
        """An object that is about to be created counts, whatever lists lack; its name.

        It does until the server's own is seen, or it is withdrawn. None: the server has one of its
        name. Raises as `upsert` does.
        """

    def withdraw(self, kind: str, name: str) -> bool:
        """It is not created after all; False: it is not planned any more."""

    def assign(self, pod: str, uid: str, group: str, subgroup: str) -> bool:
        """A pod belongs to this pod group (a name without namespace; "": to none).

        So do its versions to come, whatever group they name, until one names another than before,
        it has another UID, or it goes. False: there is no such pod.
        """

    def avoid(self, group: str, nodes: list[str]) -> None:
        """Pods of the group ("namespace/name") that have no node must not go to these; [] ends it.

        It holds for all versions of them to come, until it is called again.
        """

    def hold_off(self, group: str, *, since_ns: int, delay_ns: int) -> None:
        """The group evicts nothing in that time, as within a preemption delay."""

    def set_usage(self, usage: Mapping[str, tuple[float, float, float]]) -> None:
        """What queues have used in the past, as parts of the cluster's GPUs, CPU and memory.

        It holds for all versions of them to come, and for queues that come later, until it is
        called again. Raises InvalidClusterError for a part that is no number from 0 on.
        """

    def usage(self) -> dict[str, tuple[float, float, float]]:
        """The same, of the queues that are here and have used something."""

    def ages(self) -> dict[str, tuple[int, int]]:
        """Pod groups that the API server calls younger than they are here: they were planned with
        before they were created. By name: when each was created and when it was planned, in
        nanoseconds."""

    def serve_claims(self, serves: bool) -> None:
        """Whether the API server has the API of resource claims: that there are none does not say
        so."""

    def memory(self) -> list[tuple[str, str, int, int]]:
        """What it holds as one that lives on: part, column, how many are in it, and bytes."""

def case_of(data: bytes) -> tuple[bytes, str] | None:
    """The members `snapshot` and `now` ("" if it has none) of a recorded case, as they stand there.

    None: there is no snapshot. Raises kai.InvalidInputError when the bytes are not JSON.
    """

def live_cluster(params_json: str = "") -> Cluster:
    """One that starts empty, and that a feed fills; `params_json`: schedulerParams of a snapshot.

    Raises kai.InvalidInputError for what are none.
    """

@final
class PolicyFacts(metaclass=_Compiled):
    """Tables of policies that are functions, in one cycle (kai.policy.running).

    After the cycle all members raise ValueError.
    """

    def __init__(self, *args: NoReturn, **kwargs: NoReturn) -> None: ...
    def nodes(self) -> dict[str, memoryview]:
        """Columns that a call has the first rows of; read-only."""

    def groups(self) -> dict[str, memoryview]:
        """The same of pod groups, with as many rows as there are; valid for a call."""

    def answers(self) -> dict[str, memoryview]:
        """Where answers are written: score, gpu, allowed; and key, which is valid for a call."""

    def node_names(self, rows: int) -> list[str]:
        """Of the first rows."""

    def group_names(self, rows: int) -> list[str]:
        """Of the first rows, as "namespace/name"."""

    def queue_names(self) -> list[str]:
        """By the numbers in the column queue."""

    def typical_pods(self, percent: int) -> list[tuple[int, int, int, int, list[bool]]]:
        """The most frequent pods, so many of all: millicores, GPUs, thousandths of each, how many
        there are, and by kind of node whether it is open to them."""

def fragments(*, nodes: list[_IdleNode], mix: list[_TypicalPod]) -> list[float]:
    """F of each node, in thousandths of a GPU (kai.engine.fragmentation); 0 without a mix."""

def fill_cluster(
    *,
    nodes: memoryview,
    pods: memoryview,
    constraints: list[list[int]],
    policy: str,
    seed: int,
    exact: bool,
    random_ties: bool,
    demand: float,
    typical_percent: int,
    learn_every: float,
    migrate: bool,
) -> dict[str, bytes]:
    """Fills an empty cluster pod by pod with a placement policy (kai.sim.filling).

    `nodes` has a row (cpu_milli, memory_mib, gpus, kind) per node, `pods` a row (cpu_milli,
    memory_mib, gpus, gpu_milli, constraint) per pod, both of 64-bit integers and sorted by name.
    `constraints` says by kind of node whether it is allowed; an empty one allows all. Returns a row
    per pod that arrived: `pod` and `node` (int32; -1: no room), `arrived_milli` and `used_milli`
    (int64), `fragment_milli` (float64); and `node_order` (int32), in which ties were broken. Runs
    with the GIL released. Raises ValueError for amounts out of range.
    """

def load_snapshot(data: bytes) -> Cluster:
    """Reads the bytes of a snapshot.json in KAI's layout.

    Raises kai.InvalidInputError when they are not JSON, or not a snapshot.
    """

@final
class Config(metaclass=_Compiled):
    """A scheduler configuration that was checked."""

    def __init__(self, *args: NoReturn, **kwargs: NoReturn) -> None: ...
    @staticmethod
    def parse(json: str, *, as_kai: bool = False) -> Config:
        """Reads a configuration; "" is KAI's built-in default.

        `as_kai` turns every mend of `compat` off. Raises kai.InvalidConfigError.
        """

    def with_policies(self, runner: Any) -> Config:
        """The same with policies that are functions: a kai.policy.running.Runner."""

    @property
    def warnings(self) -> list[str]:
        """What was skipped or replaced, such as plugins that are not known."""

    @property
    def located_warnings(self) -> list[tuple[list[str], str]]:
        """The same, each with the members on the way to it, and places in lists."""

    def to_json(self) -> str:
        """The configuration with every default written out."""

@final
class Session(metaclass=_Compiled):
    """Plans with one configuration, any number of times."""

    def __init__(self, config: Config) -> None: ...
    def plan(self, cluster: Cluster, *, now_ns: int) -> Plan:
        """Runs one cycle with the GIL released, after what happened to the cluster is taken in.

        Raises kai.BusyError when another plan runs on this cluster.
        """

    def assume_bound(self, cluster: Cluster, json: bytes) -> int | None:
        """The BindRequest that is being created counts as there. None: there is no such pod.

        Raises kai.InvalidClusterError for what is no BindRequest, and, as all that follow but
        `next_wake`, where the cluster's file names an object twice.
        """

    def assume_evicted(self, cluster: Cluster, pod: str, *, now_ns: int) -> int | None:
        """The pod that is being deleted counts as leaving. None: there is no such pod."""

    def assume_bound_to(self, cluster: Cluster, pod: str, uid: str, node: str) -> int | None:
        """The pod counts as bound to whole devices of the node, without a BindRequest.

        None: no such pod of this UID waits.
        """

    def assume_plan(self, cluster: Cluster, plan: Plan, *, now_ns: int) -> list[int | None]:
        """What binds and evicts counts as done: a number for each decision; None: a promise."""

    def has_changed(self, cluster: Cluster) -> bool:
        """Whether the next plan has anything to take in."""

    def broken(self, cluster: Cluster, assumptions: list[int]) -> list[int]:
        """Which of these bindings do not hold any more, as the cluster is now.

        Their node is gone, takes no such pod, or holds more than it has to give; or they are not
        assumed any more. Takes in what happened, as `plan` does.
        """

    def forget(self, cluster: Cluster, assumption: int) -> bool:
        """It did not happen; False: it was seen to happen, or is not known."""

    def next_wake(self, cluster: Cluster) -> tuple[int, str] | None:
        """When time alone changes the last plan, and why; None: never, or something changed."""

    def export_memory(self, cluster: Cluster) -> str:
        """Assumptions and promises as JSON."""

    def import_memory(self, cluster: Cluster, json: str) -> None:
        """Takes them over. Raises kai.InvalidClusterError for what makes no sense."""

@final
class Drained(metaclass=_Compiled):
    """What came out of a feed at once."""

    def __init__(self, *args: NoReturn, **kwargs: NoReturn) -> None: ...
    @property
    def pods(self) -> list[tuple[str, bytes]]:
        """Pods of ours that are new, or whose metadata or scheduling gates changed: name, JSON.

        That is UID, labels, annotations, owners, and whether it is deleted. From lists the JSON
        lacks kind and apiVersion.
        """

    @property
    def gone(self) -> list[tuple[str, str, str]]:
        """Pods of ours and pod groups that went, or have another UID now: kind, name, UID."""

    @property
    def failed(self) -> list[tuple[str, str, str, str, str, str]]:
        """Pods of ours that failed on a node: name, UID, pod group, node, reason, message."""

    @property
    def gpu_users(self) -> list[tuple[str, str, str, list[str], str, bool, bool, str]]:
        """Pods in GPU groups, and reservation pods, that changed or went, by name.

        Each: name, UID, node, GPU groups (none: it went, or is in none any more), phase, whether it
        is being deleted, whether it is a reservation pod, and the UUID that this has found.
        """

    @property
    def is_scaling_up(self) -> bool:
        """A pod of the namespace kai-scale-adjust has no node yet."""

    @property
    def groups(self) -> list[str]:
        """Pod groups of which a pod or the group itself changed."""

    @property
    def queues(self) -> list[str]:
        """Queues that changed, came or went."""

    @property
    def nodes(self) -> list[str]:
        """Nodes that changed, or got or lost a pod that is not ours."""

    @property
    def synced(self) -> list[str]:
        """Kinds that have been listed by now."""

    @property
    def rejected(self) -> list[tuple[str, str, str, str]]:
        """What made no sense this time, objects and lines: kind, name, field, message."""

    @property
    def events(self) -> int:
        """How many objects came, changed or went."""

@final
class Feed(metaclass=_Compiled):
    """Bytes of lists and watches on their way into a cluster.

    `begin_list` to `is_full` are for one thread, and never wait for a plan; all others wait until
    the cluster is free. A kind that no plan depends on raises kai.InvalidClusterError.
    """

    def __init__(self, cluster: Cluster, scheduler_name: str | None = None) -> None: ...
    def begin_list(self, kind: str) -> None:
        """What follows is a list, or the first events of a watch-list."""

    def list_page(self, kind: str, data: bytes) -> tuple[str, str, int]:
        """A page of it: its version, what to continue with ("": nothing), how many objects.

        Raises kai.InvalidInputError when it is no list.
        """

    def end_list(self, kind: str) -> None:
        """That was all: what the list lacks is gone."""

    def watch_bytes(self, kind: str, data: bytes) -> tuple[str, bool, bytes]:
        """Any chunk: version of the last complete event, whether the first list is whole, error.

        The version is "" where no event was completed, the error the Status of an ERROR event.
        """

    def watch_ended(self, kind: str) -> None:
        """A partial line is dropped."""

    @property
    def is_full(self) -> bool:
        """More than 64 MiB wait."""

    def drain(self) -> Drained:
        """Takes in what waits by now, with the GIL released."""

    def pod_facts(
        self, names: list[str]
    ) -> list[tuple[str, str, str, str, str, str, str, bool] | None]:
        """UID, node, what is written on pods of ours that wait, the name of the pod group, and
        whether that wants its pods to be marked.

        Written are status, reason and message of PodScheduled, and nominatedNodeName if it is ours.
        """

    def group_facts(
        self, names: list[str]
    ) -> list[tuple[str, bytes, str, str, str, bytes, str] | None]:
        """UID, schedulingConditions; last start, stale since, last eviction; resourcesStatus."""

    def wait_for_volumes(self, pods: list[str]) -> list[bool]:
        """Of each pod whether it has a claim for storage that is not bound, as far as is known."""

    def group_status(
        self, names: list[str]
    ) -> list[tuple[dict[str, str], dict[str, str], dict[str, str], bool] | None]:
        """Requested, allocated, allocated non-preemptible; whether it is preemptible."""

    def queue_status(
        self,
    ) -> dict[str, tuple[list[str], dict[str, str], dict[str, str], dict[str, str], bytes]]:
        """By queue: children; the three sums with theirs; its status as the server has it."""

    def stranded(self) -> list[tuple[str, str]]:
        """Pods that wait and are in a pod group that is not there or makes no sense, with it."""

@final
class Plan(metaclass=_Compiled):
    """What one cycle decided, converted when asked."""

    def __init__(self, *args: NoReturn, **kwargs: NoReturn) -> None: ...
    @property
    def warnings(self) -> list[str]:
        """What the cycle skipped."""

    @property
    def rejected(self) -> list[tuple[str, str, str, str]]:
        """As that of the cluster that was planned."""

    @property
    def decision_count(self) -> int:
        """How many decisions there are."""

    def decisions(self, start: int, stop: int, types: tuple[type, ...]) -> list[Any]:
        """Some of them, in the order in which they have to happen, without claims and ranks.

        `types`: the frozen dataclasses of a decision to bind, to pipeline and to evict, and of a
        NUMA zone, of which `amounts` makes its amounts of a dict.
        """

    def decision_columns(self) -> dict[str, Any]:
        """All of them: numbers as bytes, names as (codes, texts), pods as (offsets, text).

        What does not apply is 0, or the code -1.
        """

    def group_columns(self) -> dict[str, Any]:
        """The pod groups by name, in the same form; `created_ns` is INT64_MIN where unknown."""

    def outlines(self, names: list[str] | None) -> list[tuple[str, str, str, str, int, int, int]]:
        """As kai.engine.outlines.Outline, in no order. Of groups that run and of which nothing is
        said or decided, only those of these names; None: all."""

    def order(self) -> list[_Turn]:
        """The groups that wait after it, in the order in which they come next."""

    def nodes(self) -> list[_NodeRoom]:
        """What is left of nodes once its decisions are carried out, by name."""

    def measured(self) -> _Measured:
        """Nodes that take pods, by name, once its decisions are carried out, and the pods that are
        95 % of all."""

    def to_json(self, stamp: str) -> str:
        """The members decisions, pod_groups, pods and queues; `stamp`: the time for objects."""

    def with_change(
        self, *, config: Config | None = None, new_names: tuple[str, str] | None = None
    ) -> Plan | None:
        """The plan of the same objects and the same time, with another configuration, or with two
        nodes that take each other's names. Other threads run meanwhile, and so does the cluster.

        None: it was made again already, or is of a cluster to which nothing has happened yet.
        """

    def counts(self) -> dict[str, int]:
        """Decisions by kind; "pod_groups", and how many of these are "waiting"."""

    def decision_rows(self, most: int) -> tuple[list[_DecisionRow], int, int]:
        """Decisions by pod group or, where those are more than `most`, by queue: so many rows.

        Then the pods and the groups of all other rows.
        """

    def account(self) -> _Account:
        """What it leaves of GPUs; what queues get is in billionths."""

    def waiting(self) -> list[tuple[list[str], bool]]:
        """Names of groups that wait, those together whose reasons and facts are alike.

        And whether they are of different queues.
        """

    def find_groups(self, name: str) -> list[str]:
        """Groups of that name, or else of pods or else of workloads that have it.

        With or without the namespace.
        """

    def groups(self, names: list[str], *, evictions: bool) -> list[tuple[_GroupPlan, _GroupStory]]:
        """Those of these names, and facts about them. Raises KeyError for an unknown name.

        `evictions`: with a reason for each pod that leaves.
        """

    def names(self) -> tuple[dict[str, str], list[tuple[str, str]]]:
        """The group of each pod, and groups by the workload that they were made for."""

    def queue_parents(self) -> dict[str, str | None]:
        """By queue, the one above it."""

    def claims(self) -> dict[str, list[_ClaimAllocation]]:
        """What the resource claims of bound pods hold, by "namespace/name" of the pod."""

    def pod_groups(self) -> dict[str, _GroupPlan]:
        """By "namespace/name"."""

    def pods(self) -> dict[str, str]:
        """The message of each waiting pod's condition, by "namespace/name"."""

    def queues(self) -> dict[str, dict[str, _QueueShare]]:
        """By queue and "gpu", "cpu", "memory": devices, cores, bytes; None is unlimited."""

    def topology_ranks(self) -> dict[str, tuple[int, str | None]]:
        """By pod that starts in a group with a topology: its rank, and its narrowest domain."""

    def numa_zones_available(self) -> dict[str, list[_Zone]]:
        """What the decisions leave of NUMA zones, by node that has any."""

    def spent_searches(self) -> dict[str, int]:
        """Scenarios tried by each search that a budget ended."""

    def score_keys(self) -> int:
        """Different places of nodes in the orders in which they were searched."""

    def timing_ns(self) -> dict[str, int]:
        """Nanoseconds by stage: load, fair_share, one per action, total."""

# name, parent, priority, (quota, weight, limit) of cpu, memory and gpu, minimum run times in ns
_SimQueue = tuple[str, str, int, list[list[float]], int | None, int | None]
# name, GPUs, millicpu, bytes, pods, labels
_SimNode = tuple[str, int, int, int, int, list[tuple[str, str]]]

# name, nodes, first, least, ready_ns, idle_ns, price
_SimPool = tuple[str, list[str], int, int, int, int, float]

@final
class FirstMoment(metaclass=_Compiled):
    """A cluster as it stands, from which simulations go on (cpp/kai/sim/first_moment.h)."""

    def __init__(self, cluster: Cluster, *, memory: str) -> None:
        """Of a copy of its objects. Raises InvalidClusterError where it names an object twice."""

    def groups(self) -> list[tuple[str, str, str, int, list[tuple[str, str, int]]]]:
        """Name, queue, class, fewest pods; and name, node and millionths of GPUs of pods."""

    def nodes(self) -> list[_SimNode]: ...
    def queues(self) -> list[_SimQueue]: ...
    def priority_classes(self) -> list[tuple[str, int]]: ...

@final
class Simulation(metaclass=_Compiled):
    """A cluster in virtual time (cpp/kai/sim/simulation.h)."""

    def __init__(
        self,
        *,
        job_names: list[str],
        job_columns: dict[str, Any],
        queues: list[_SimQueue],
        nodes: list[_SimNode],
        priority_classes: list[tuple[str, int]],
        class_names: list[str],
        model_sets: list[list[str]],
        speed_tables: list[list[tuple[str, float]]],
        outages: list[tuple[str, int, int]],
        queue_changes: list[tuple[int, _SimQueue]],
        windows: list[tuple[str, int, int, bool]],
        pools: list[_SimPool],
        resizes: list[tuple[int, int, int, int]],
        first: FirstMoment | None,
        config: Config,
        params_json: str,
        options: dict[str, Any],
    ) -> None:
        """Raises InvalidInputError, with the name of what makes no sense."""

    def run(self, steps: int) -> bool:
        """So many events and cycles more; whether it has ended. Other threads run meanwhile."""

    def stop(self) -> None:
        """It ends here; what still runs is recorded as such."""

    def timeline(self) -> dict[str, Any]:
        """What happened: read-only NumPy views of columns, complete once it has ended."""

    @property
    def now_ns(self) -> int: ...
    @property
    def jobs_ended(self) -> int: ...

# name, priority, created_ns, deserved, limit, over-quota weight, request, past usage
_Sibling = tuple[str, int, int, float, float, float, float, float]

def divide(total: float, siblings: Sequence[_Sibling], *, k_value: float) -> list[float]:
    """The fair shares of queues below one parent, for one resource, in its smallest units (spec
    1 F41-F51); -1 as deserved or limit is unlimited."""

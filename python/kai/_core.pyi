"""The compiled core: a cluster in, a plan out.

Private to `kai.engine`, which adds names, defaults and repr() to these types. Nothing here reads
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
# One claim of Plan.claims(): its name in the pod, its own name, (request, driver, pool, device) of
# each device, and the terms (expressions, fields) of its nodes; None: all nodes. A claim for
# extended resources also has (request, class, count) and (container, resource, request); others
# None.
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

# name, above its fair share, within its deserved quota, priority, uses a resource without having
# a share of it, its share with the request, its current share, created_ns
_QueueStanding = tuple[str, bool, bool, int, bool, float, float, int | None]
# pod group, priority, elastic state (below, at, above), created_ns, the request (devices, cores,
# bytes), queues from the top one to its own
_Turn = tuple[str, int, str, int | None, float, float, float, list[_QueueStanding]]
# name, GPUs, free GPUs, GPUs being released, free parts of shared GPUs, cores, free cores, bytes,
# free bytes, why it takes no pods
_NodeRoom = tuple[str, float, float, float, list[float], float, float, float, float, str]
# Nodes that were searched; those that can run the pod, best first: name, whether it can start now,
# sum, and scores by plugin.
_ScoreSheet = tuple[int, list[tuple[str, bool, float, list[float]]]]
# Plugins; scores before the plan; scores when the pod got its place, or None; its node, or None.
_Scores = tuple[list[str], _ScoreSheet, _ScoreSheet | None, str | None]
# idle thousandths of cores, node class, and idle thousandths of each GPU
_IdleNode = tuple[int, int, list[int]]
# thousandths of cores, GPUs, thousandths of each, weight, and whether each node class accepts it
_TypicalPod = tuple[int, int, int, int, list[int]]
# names of nodes, the nodes, and the typical pods
_Measured = tuple[list[str], list[_IdleNode], list[_TypicalPod]]
# kind, first pod group, pod groups, pods, GPUs, action and group it is for (evictions), the first
# nodes with their numbers of pods, nodes
_DecisionRow = tuple[str, str, int, int, float, str, str | None, list[tuple[str, int]], int]
_Amounts = list[tuple[float, int]]  # amount, and how many have or request it
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
# the first pod of the class, how many wait, whether they may share devices of claims, refusals of
# the pod and the message about them, possible nodes, capacity and free GPUs of these, and the
# obstacles of others
_Places = tuple[
    str,
    int,
    float,
    list[Mapping[str, Any]],
    str,
    int,
    _Amounts,
    _Amounts,
    list[Mapping[str, Any]],
    bool,
    int,
    tuple[str, float] | None,
    float,
]
# kai.engine.places.Domain
_Domain = tuple[str, str, int, int, int, list[Mapping[str, Any]], list[tuple[str, int, str]]]
# capacity of nodes, free capacity, and what queues gain; the number of leaf queues with GPUs, of
# those above their fair share, and the first of these by name; groups with bare pods that
# consolidation did not move; GPUs of pods that leave
_Account = tuple[
    _Amounts, _Amounts, dict[str, int], int, int, list[tuple[str, int]], list[str], float
]

# rows of kai.engine.places.Holders, and the room of kai.engine.places.Held
_Holder = tuple[str, str | None, str | None, int, float, str, int, int]
_Held = tuple[str, list[_Holder], _Amounts, _Amounts, float, str | None, float]
# kai.engine.protection: the facts about a group, and its levels
_Level = tuple[str, str, str, float, float | None, int, int]
_Protection = tuple[bool, bool, bool, bool, int, int, int, int, list[_Level]]

def compat_switches() -> list[str]:
    """The names of all switches; `compat` in a configuration can set each to "kai"."""

def config_names() -> dict[str, list[str]]:
    """The names that a configuration may contain, by place; "" is the top level.

    "tiers[]" is a tier, "plugins" the plugins by name, "plugins.numa" the arguments of one, and
    "plugins.nodeplacement.gpu" the values of an argument with a fixed list of values.
    """

def scheduler_param_names() -> dict[str, list[str]]:
    """The members of `schedulerParams` (under ""), and those of "partitionParams"."""

@final
class Cluster(metaclass=_Compiled):
    """A cluster that events can change. Every call may wait until a plan of it is done."""

    def __init__(self, *args: NoReturn, **kwargs: NoReturn) -> None: ...
    @property
    def rejected(self) -> list[tuple[str, str, str, str]]:
        """Rejected objects: kind, name, field and message of each."""

    def measured(self) -> _Measured:
        """The nodes that accept pods, by name, and the typical pods: the most frequent ones, which
        make up 95 % of all."""

    @property
    def config_json(self) -> str:
        """The `config` member of the snapshot, unchanged; "" if there is none."""

    @property
    def memory_json(self) -> str:
        """The `memory` member of the snapshot, unchanged; "" if there is none, and in a copy."""

    @property
    def now(self) -> str:
        """The `now` member of the snapshot, unchanged; "" if there is none, and in a copy."""

    @property
    def load_ns(self) -> int:
        """How long loading took."""

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of nodes, pods, pod_groups and queues."""

    def can_follow(self) -> bool:
        """Whether events can change it. They cannot if its file names an object twice."""

    def upsert(self, json: bytes) -> tuple[str, str, bool, bool]:
        """Adds or changes an object. Returns kind, name, whether it existed, whether it is late.

        Raises kai.InvalidClusterError for invalid JSON, a kind that no plan depends on, or a
        missing name.
        """

    def copy(self) -> Cluster | None:
        """Another cluster with the same objects; None if no event has happened yet."""

    def delete(self, kind: str, name: str) -> bool:
        """Deletes an object; returns whether it existed. Raises as `upsert` does for the kind."""

    def has(self, kind: str, name: str) -> bool:
        """Whether it exists, valid or rejected. Raises as `upsert` does for the kind."""

    def upsert_planned(self, json: bytes) -> str | None:
        """Adds an object that is about to be created and that lists do not have; returns its name.

        It counts until the server's object is seen, or it is withdrawn. None if the server has an
        object of its name. Raises as `upsert` does.
        """

    def withdraw(self, kind: str, name: str) -> bool:
        """The object will not be created. False if it is not planned any more."""

    def assign(self, pod: str, uid: str, group: str, subgroup: str) -> bool:
        """Assigns a pod to this pod group (a name without namespace; "": no group).

        This holds for later versions, too, until the group in the pod's annotation changes, the
        pod has another UID, or it is deleted. False if there is no such pod.
        """

    def avoid(self, group: str, nodes: list[str]) -> None:
        """Waiting pods of the group ("namespace/name") must not go to these nodes; [] allows all.

        This holds for later versions of the pods, until the next call.
        """

    def hold_off(self, group: str, *, since_ns: int, delay_ns: int) -> None:
        """The group evicts no pods during this time, as within a preemption delay."""

    def set_usage(self, usage: Mapping[str, tuple[float, float, float]]) -> None:
        """Sets the past usage of queues, as parts of the cluster's GPUs, CPU and memory.

        This holds for later versions and for later queues, until the next call. Raises
        InvalidClusterError for a part that is not a number from 0 on.
        """

    def usage(self) -> dict[str, tuple[float, float, float]]:
        """The past usage of existing queues that have any."""

    def ages(self) -> dict[str, tuple[int, int]]:
        """Pod groups that were planned before the API server created them, and so are older here.
        By name: creation time and planning time in nanoseconds."""

    def serve_claims(self, serves: bool) -> None:
        """Sets whether the API server has the API of resource claims, which may have no objects."""

    def memory(self) -> list[tuple[str, str, int, int]]:
        """Memory of a cluster with events: part, column, number of elements, and bytes."""

def case_of(data: bytes) -> tuple[bytes, str] | None:
    """The members `snapshot` and `now` ("" if missing) of a recorded case, unchanged.

    None if there is no snapshot. Raises kai.InvalidInputError when the bytes are not JSON.
    """

def live_cluster(params_json: str = "") -> Cluster:
    """An empty cluster for a feed; `params_json`: the schedulerParams of a snapshot.

    Raises kai.InvalidInputError if they are invalid.
    """

@final
class PolicyFacts(metaclass=_Compiled):
    """The tables of policy functions in the cycles of one cluster (kai.policy.running).

    After the last cycle, all members raise ValueError.
    """

    def __init__(self, *args: NoReturn, **kwargs: NoReturn) -> None: ...
    def nodes(self) -> dict[str, Any]:
        """Read-only NumPy arrays, which keep their memory; a call uses their first rows."""

    def groups(self) -> dict[str, Any]:
        """Read-only NumPy arrays with a row for each pod group of the last call."""

    def answers(self) -> dict[str, Any]:
        """NumPy arrays for results: score, gpu, allowed; and key, for the groups of the call."""

    def node_names(self, rows: int) -> list[str]:
        """The names of the first rows."""

    def group_names(self, rows: int) -> list[str]:
        """The names of the first rows, "namespace/name"."""

    def queue_names(self) -> list[str]:
        """Names of queues, indexed by the numbers in the column `queue`."""

    def typical_pods(self) -> list[tuple[int, int, int, int, list[bool]]]:
        """The most frequent pods that make up `percent` of all: millicores, GPUs, thousandths of
        each, their number, and for each kind of node whether it accepts them."""

def most_frequent(pods: list[_TypicalPod]) -> list[_TypicalPod]:
    """The pods of greatest weight that together make up 95 % of the weight; among equals, the first
    ones of the list."""

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
    `constraints` has a flag per kind of node; an empty constraint allows all kinds. Returns a row
    per arrived pod: `pod` and `node` (int32; -1: no room), `arrived_milli` and `used_milli`
    (int64), `fragment_milli` (float64); and `node_order` (int32), which decides between equal
    nodes. Runs with the GIL released. Raises ValueError for amounts out of range.
    """

def load_snapshot(data: bytes) -> Cluster:
    """Reads the bytes of a snapshot.json in KAI's layout.

    Raises kai.InvalidInputError if they are not JSON, or not a snapshot.
    """

@final
class Config(metaclass=_Compiled):
    """A checked scheduler configuration."""

    def __init__(self, *args: NoReturn, **kwargs: NoReturn) -> None: ...
    @staticmethod
    def parse(json: str, *, as_kai: bool = False) -> Config:
        """Reads a configuration; "" is KAI's built-in default.

        `as_kai` sets every switch of `compat` to "kai". Raises kai.InvalidConfigError.
        """

    def with_policies(self, runner: Any) -> Config:
        """The same configuration with policy functions: a kai.policy.running.Runner."""

    @property
    def warnings(self) -> list[str]:
        """What was skipped or replaced, such as unknown plugins."""

    @property
    def located_warnings(self) -> list[tuple[list[str], str]]:
        """The warnings, each with its path: members, and indices in lists."""

    def to_json(self) -> str:
        """The configuration with every default written out."""

@final
class Session(metaclass=_Compiled):
    """Makes plans with one configuration."""

    def __init__(self, config: Config) -> None: ...
    def plan(self, cluster: Cluster, *, now_ns: int) -> Plan:
        """Processes the events of the cluster, and runs one cycle with the GIL released.

        Raises kai.BusyError while another plan runs on this cluster.
        """

    def assume_bound(self, cluster: Cluster, json: bytes) -> int | None:
        """The BindRequest, which is being created, counts as existing. None: its pod is missing.

        Raises kai.InvalidClusterError for an invalid BindRequest. This method and all below except
        `next_wake` raise it, too, if the cluster's file names an object twice.
        """

    def assume_evicted(self, cluster: Cluster, pod: str, *, now_ns: int) -> int | None:
        """The pod, which is being deleted, counts as leaving. None: the pod does not exist."""

    def assume_bound_to(self, cluster: Cluster, pod: str, uid: str, node: str) -> int | None:
        """The pod counts as bound to whole devices of the node, without a BindRequest.

        None: no such pod of this UID waits.
        """

    def assume_plan(self, cluster: Cluster, plan: Plan, *, now_ns: int) -> list[int | None]:
        """Bindings and evictions count as done: a number for each decision; None for a promise."""

    def trust(self, cluster: Cluster, *, from_ns: int, until_ns: int) -> None:
        """When durations count, from the next plan on: those that began before `from_ns` count
        from there, and none ends after `until_ns`."""

    def has_changed(self, cluster: Cluster) -> bool:
        """Whether there are changes that no plan contains yet."""

    def broken(self, cluster: Cluster, assumptions: list[int]) -> list[int]:
        """Which of these bindings are not possible any more in the current cluster.

        Their node is gone, does not accept the pod, or has too many pods; or they are not assumed
        any more. Processes events first, as `plan` does.
        """

    def forget(self, cluster: Cluster, assumption: int) -> bool:
        """Withdraws an assumption. False if it was confirmed, or is unknown."""

    def next_wake(self, cluster: Cluster) -> tuple[int, str] | None:
        """When time alone will change the last plan, and why; None: never, or an object changed."""

    def export_memory(self, cluster: Cluster) -> str:
        """Assumptions and promises as JSON."""

    def import_memory(self, cluster: Cluster, json: str) -> None:
        """Replaces assumptions and promises. Raises kai.InvalidClusterError if they are invalid."""

@final
class Drained(metaclass=_Compiled):
    """The result of Feed.drain()."""

    def __init__(self, *args: NoReturn, **kwargs: NoReturn) -> None: ...
    @property
    def pods(self) -> list[tuple[str, bytes]]:
        """Our pods that are new, or whose metadata or scheduling gates changed: name, JSON.

        Metadata are UID, labels, annotations, owners, and whether the pod is being deleted. JSON
        from lists has no kind and apiVersion.
        """

    @property
    def gone(self) -> list[tuple[str, str, str]]:
        """Our pods, and pod groups, that are gone or have a new UID: kind, name, old UID."""

    @property
    def failed(self) -> list[tuple[str, str, str, str, str, str]]:
        """Our pods that failed on a node: name, UID, pod group, node, reason, message."""

    @property
    def gpu_users(self) -> list[tuple[str, str, str, list[str], str, bool, bool, str]]:
        """Pods in GPU groups, and reservation pods, that changed or are gone, sorted by name.

        Each: name, UID, node, GPU groups (empty: it is gone, or left them), phase, whether it is
        being deleted, whether it is a reservation pod, and the UUID that a reservation reported.
        """

    @property
    def is_scaling_up(self) -> bool:
        """True if a pod in the namespace kai-scale-adjust has no node yet."""

    @property
    def groups(self) -> list[str]:
        """Pod groups that changed, or whose pods changed."""

    @property
    def queues(self) -> list[str]:
        """Queues that changed, came or went."""

    @property
    def nodes(self) -> list[str]:
        """Nodes that changed, or got or lost a pod of another scheduler."""

    @property
    def synced(self) -> list[str]:
        """Kinds that have been listed completely."""

    @property
    def rejected(self) -> list[tuple[str, str, str, str]]:
        """Objects and lines that were rejected: kind, name, field, message."""

    @property
    def shown(self) -> list[tuple[str, str, int]]:
        """Of each kind that is completely listed: the version that was shown, and its objects."""

    @property
    def relisted(self) -> list[tuple[str, int, int, int, list[str]]]:
        """What later lists have changed: kind, objects that came, went and changed, and some of
        their names."""

    @property
    def events(self) -> int:
        """How many objects came, changed or were deleted."""

@final
class Feed(metaclass=_Compiled):
    """Moves bytes of lists and watches into a cluster.

    `begin_list` to `is_full` are for one thread, and never wait for a plan; all other calls wait
    until the cluster is free. A kind that no plan depends on raises kai.InvalidClusterError.
    """

    def __init__(self, cluster: Cluster, scheduler_name: str | None = None) -> None: ...
    def begin_list(self, kind: str) -> None:
        """Begins a list, or the first events of a watch-list."""

    def list_page(self, kind: str, data: bytes) -> tuple[str, str, int]:
        """Adds a page: its version, its continue token ("": last page), its number of objects.

        Raises kai.InvalidInputError if it is not a list.
        """

    def end_list(self, kind: str) -> None:
        """Ends the list: objects that it did not have are gone."""

    def watch_bytes(self, kind: str, data: bytes) -> tuple[str, bool, bytes]:
        """Adds a chunk: version of the last complete event, end of the initial list, error.

        The version is "" if no event was completed; the error is the Status of an ERROR event.
        """

    def watch_ended(self, kind: str) -> None:
        """Drops a partial line."""

    @property
    def is_full(self) -> bool:
        """True if more than 64 MiB wait."""

    def show(self, kind: str, data: bytes) -> None:
        """An object that was read by itself: counts like an event of a watch."""

    def behind(self, kind: str, data: bytes) -> list[str]:
        """The objects of a page of a list that are known only at earlier versions.

        Raises kai.InvalidInputError if it is not a list.
        """

    def drain(self) -> Drained:
        """Moves all waiting bytes into the cluster, with the GIL released."""

    def pod_facts(
        self, names: list[str]
    ) -> list[tuple[str, str, str, str, str, str, str, bool] | None]:
        """UID, node, current status of our waiting pods (4 texts), the name of the pod group, and
        whether the group's spec.markUnschedulable is set.

        The status is status, reason and message of PodScheduled, and nominatedNodeName if we wrote
        it.
        """

    def group_facts(
        self, names: list[str]
    ) -> list[tuple[str, bytes, str, str, str, bytes, str] | None]:
        """UID, schedulingConditions; last start, stale since, last eviction; resourcesStatus."""

    def wait_for_volumes(self, pods: list[str]) -> list[bool]:
        """Whether each pod has a PersistentVolumeClaim that is not bound, or unknown."""

    def group_status(
        self, names: list[str]
    ) -> list[tuple[dict[str, str], dict[str, str], dict[str, str], bool] | None]:
        """Requested, allocated, allocated non-preemptible; whether it is preemptible."""

    def queue_status(
        self,
    ) -> dict[str, tuple[list[str], dict[str, str], dict[str, str], dict[str, str], bytes]]:
        """By queue: children; the three sums, including theirs; its current status as JSON."""

    def stranded(self) -> list[tuple[str, str]]:
        """Waiting pods whose pod group does not exist or was rejected, with its name."""

@final
class Plan(metaclass=_Compiled):
    """The decisions of one cycle; members are converted on request."""

    def __init__(self, *args: NoReturn, **kwargs: NoReturn) -> None: ...
    @property
    def warnings(self) -> list[str]:
        """What the cycle skipped."""

    @property
    def rejected(self) -> list[tuple[str, str, str, str]]:
        """Rejected objects, as in Cluster."""

    @property
    def decision_count(self) -> int:
        """The number of decisions."""

    def decisions(self, start: int, stop: int, types: tuple[type, ...]) -> list[Any]:
        """A range of decisions in the order in which they must be carried out, without claims and
        ranks.

        `types`: the frozen dataclasses of a decision to bind, to pipeline and to evict, and of a
        NUMA zone, whose `amounts` converts a dict of amounts.
        """

    def decision_columns(self) -> dict[str, Any]:
        """All decisions: numbers as bytes, names as (codes, texts), pods as (offsets, text).

        A value that does not apply is 0, or the code -1.
        """

    def group_columns(self) -> dict[str, Any]:
        """The pod groups sorted by name, in the same form; an unknown `created_ns` is INT64_MIN."""

    def outlines(self, names: list[str] | None) -> list[tuple[str, str, str, str, int, int, int]]:
        """Rows of kai.engine.outlines.Outline, unordered. Groups that simply run and have no
        decision or reason are included only if they are in `names`, or if `names` is None."""

    def order(self) -> list[_Turn]:
        """The groups that wait after the plan, in the order in which they come next."""

    def nodes(self) -> list[_NodeRoom]:
        """The free capacity of nodes after its decisions are carried out, sorted by name."""

    def measured(self) -> _Measured:
        """Nodes that take pods, by name, once its decisions are carried out, and the pods that are
        95 % of all."""

    def find_pods(self, name: str) -> list[tuple[str, str, str | None]]:
        """Each pod with that name: "namespace/name", what it does when the cycle begins ("waiting",
        "running", "terminating", "ended"; "": it belongs to no pod group), and its node."""

    def scores(self, pod: str) -> _Scores | None:
        """The scores of nodes for one pod; None: there is no pod "namespace/name". The cycle is run
        once more."""

    def to_json(self, stamp: str) -> str:
        """The members decisions, pod_groups, pods and queues; `stamp`: time for annotations."""

    def with_change(
        self, *, config: Config | None = None, new_names: tuple[str, str] | None = None
    ) -> Plan | None:
        """The plan of the same objects and time, with another configuration, or with the names of
        two nodes swapped. Other threads can run and change the cluster meanwhile.

        None if names are swapped and the cluster had no events yet.
        """

    def counts(self) -> dict[str, int]:
        """Decisions by kind; "pod_groups", and how many of these are "waiting"."""

    def decision_rows(self, most: int) -> tuple[list[_DecisionRow], int, int]:
        """At most `most` rows of decisions: by pod group or, if these are too many, by queue.

        Followed by the numbers of pods and groups in all other rows.
        """

    def account(self) -> _Account:
        """The GPUs after the plan; gains of queues are in billionths."""

    def waiting(self) -> list[tuple[list[str], bool]]:
        """Names of waiting groups, combined if their reasons and facts are equal.

        With each combination, whether its groups are in different queues.
        """

    def find_groups(self, name: str) -> list[str]:
        """Groups with this name or, if there are none, those of pods or workloads with it.

        The name may include the namespace.
        """

    def groups(self, names: list[str], *, evictions: bool) -> list[tuple[_GroupPlan, _GroupStory]]:
        """The groups of these names, and facts about them. Raises KeyError for an unknown name.

        `evictions`: adds a reason for each evicted pod.
        """

    def places(self, names: list[str]) -> list[list[_Places]]:
        """For each group, where its waiting pods could run. Raises KeyError for an unknown name."""

    def domains(self, names: list[str]) -> list[_Domain | None]:
        """For each group whose pods must run in one domain, the best of these. Raises KeyError for
        an unknown name."""

    def holders(self, names: list[str]) -> list[list[_Held]]:
        """For each group and each resource, GPUs first, the members of kai.engine.places.Held with
        rows of kai.engine.places.Holders. Raises KeyError for an unknown name."""

    def protection(self, names: list[str]) -> list[_Protection]:
        """For each group, what keeps its running pods: kai.engine.protection. Raises KeyError for
        an unknown name."""

    def possible_nodes(self, name: str) -> list[tuple[str, float, float]]:
        """The nodes that could take the first class of the group's waiting pods if nothing else ran
        there: name, GPUs that are free after the plan, GPUs in all. Raises KeyError for an unknown
        name."""

    def decided(self) -> dict[str, tuple[int, int, int]]:
        """By group with decisions, unordered: how many pods are bound, promised a place and
        evicted."""

    def start_alone(self, names: list[str]) -> list[bool]:
        """For each group, whether it would start, or get more places than in this plan, if no other
        group waited. Raises KeyError for an unknown name."""

    def holdings(
        self, name: str
    ) -> tuple[
        list[str],
        list[float],
        list[tuple[str, list[float]]],
        list[tuple[str, str, list[float]]],
    ]:
        """Of the first class of the group's waiting pods: the resources that it requests, how much
        of each, what is free on the nodes that could take such a pod if nothing else ran there
        (node, amounts), and what other groups hold there and keep (node, group, amounts). In cores,
        bytes, GPUs and devices. Raises KeyError for an unknown name."""

    def names(self) -> tuple[dict[str, str], list[tuple[str, str]]]:
        """The group of each pod, and the groups by the workload that they belong to."""

    def queue_parents(self) -> dict[str, str | None]:
        """The parent of each queue."""

    def claims(self) -> dict[str, list[_ClaimAllocation]]:
        """The devices of bound pods' resource claims, by "namespace/name" of the pod."""

    def pod_groups(self) -> dict[str, _GroupPlan]:
        """The pod groups by "namespace/name"."""

    def pods(self) -> dict[str, str]:
        """The message of each waiting pod's condition, by "namespace/name"."""

    def queues(self) -> dict[str, dict[str, _QueueShare]]:
        """By queue and "gpu", "cpu", "memory": devices, cores, bytes; None: unlimited."""

    def topology_ranks(self) -> dict[str, tuple[int, str | None]]:
        """Rank and narrowest domain of each pod that starts in a group with a topology."""

    def numa_zones_available(self) -> dict[str, list[_Zone]]:
        """The NUMA zones after the decisions, by node with zones."""

    def spent_searches(self) -> dict[str, int]:
        """How many scenarios each search tried that a budget ended."""

    def score_keys(self) -> int:
        """How many distinct keys nodes had in the orders that were searched."""

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
    """The state of a cluster from which simulations start (cpp/kai/sim/first_moment.h)."""

    def __init__(self, cluster: Cluster, *, memory: str) -> None:
        """Copies its objects. Raises InvalidClusterError if it names an object twice."""

    def groups(self) -> list[tuple[str, str, str, int, list[tuple[str, str, int]]]]:
        """Name, queue, class, minimum of pods; and name, node and millionths of GPUs of pods."""

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
        """Raises InvalidInputError with the name of an invalid part."""

    def run(self, steps: int) -> bool:
        """Processes `steps` events and cycles; returns whether it has ended. Releases the GIL."""

    def stop(self) -> None:
        """Ends the simulation now; stays that have not ended are recorded with that reason."""

    def state(self) -> Cluster:
        """All objects as they are now: to be planned, not to be changed."""

    def timeline(self) -> dict[str, Any]:
        """The events: read-only NumPy views of columns, complete after the end."""

    @property
    def now_ns(self) -> int: ...
    @property
    def date_ns(self) -> int:
        """`now_ns` since 1970."""

    @property
    def jobs_ended(self) -> int: ...

# name, priority, created_ns, deserved, limit, over-quota weight, request, past usage
_Sibling = tuple[str, int, int, float, float, float, float, float]

def divide(total: float, siblings: Sequence[_Sibling], *, k_value: float) -> list[float]:
    """The fair shares of queues below one parent, for one resource in its smallest units (spec
    1 F41-F51); a deserved or limit of -1 is unlimited."""

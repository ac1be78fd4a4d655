"""Changes of a waiting group itself: what its pods request, where they may run, and its gang."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from kai.api import defaults, keys, times
from kai.api.kinds import full_name
from kai.api.reading import at, labels_of, mapping, objects
from kai.engine import edits, text
from kai.engine.cluster import Cluster
from kai.engine.fixing.changes import (
    Change,
    Part,
    Right,
    changed,
    commands,
    patch,
    put,
    with_labels,
    with_spec,
    yaml_of,
)
from kai.engine.fixing.ladders import Ladder, one, several
from kai.engine.fixing.waiting import Manifest, Waiting, is_of_template
from kai.engine.places import near

_OF_KUBERNETES = "system-"  # priority classes of the cluster's own pods
_NOT_PREEMPTIBLE = 100  # from this priority on, if the group does not say (spec 1 F96)
_RESOURCE = "podgroups.scheduling.run.ai"
_OF_A_CONSTRAINT = ("topology", "requiredTopologyLevel", "preferredTopologyLevel")
_WITH_REPLICAS = frozenset(("Deployment", "StatefulSet", "ReplicaSet"))
_WITH_RUN_POLICY = frozenset(("TFJob", "XGBoostJob", "JAXJob", "MPIJob", "PyTorchJob"))


def waits(waiting: Waiting) -> Iterator[Ladder]:
    """Time alone: its preemption delay ends, or a minimum run time that protects others."""
    moments = [str(reason.facts["until"]) for reason in waiting.reasons("preemption_delay")]
    protected = (each for each in waiting.holders if each.why == "protected")
    moments += sorted({times.to_text(each.until_ns) for each in protected})
    moments = [each for each in moments if each > waiting.plan.now_text]
    if moments:
        changes = [Change("wait", f"wait until {each}", at=each) for each in moments[:3]]
        yield several(changes)


def pods(waiting: Waiting) -> Iterator[Ladder]:
    """It has fewer pods than it needs: the scheduling gates of those that exist, or more pods."""
    missing: dict[str, int] = {}
    needed = 0
    for reason in waiting.reasons("not_ready"):
        for each in reason.facts["pod_sets"]:
            if each["minimum"] > each["exist"]:
                missing[str(each["subgroup"] or "")] = each["minimum"] - each["exist"]
            ready = each["exist"] - each["gated"]
            needed += max(0, min(each["minimum"], each["exist"]) - ready)
    gated = [pod for pod in waiting.pods if at(pod, "spec", "schedulingGates")]
    if gated and needed and all(map(is_of_template, gated)):
        yield one(_ungated(waiting, gated, len(gated)))
    elif gated and needed:
        counts = sorted({min(needed, len(gated)), len(gated)})
        yield Ladder(counts, partial(_ungated, waiting, gated), unit=1, now=0)
    if waiting.pods and missing:
        yield one(_more_pods(waiting, missing))
        if gated and needed:
            yield one(_ungated_and_more(waiting, gated, missing))


def first_pods(waiting: Waiting) -> str:
    """What has to be created for a group without pods, in a sentence; "" if it has any. It is no
    change that can be tried: what the pods request is not known."""
    if not any(waiting.reasons("no_pods")):
        return ""
    name = waiting.name.rpartition("/")[2]
    parts = [str(each.get("name")) for each in objects(at(waiting.manifest, "spec", "subGroups"))]
    if any(waiting.reasons("subgroup_does_not_exist")):
        label = f"Label its pods with {keys.SUBGROUP_LABEL} and one of its sub-groups"
        return f"{label}: {text.listing(parts, most=4)}." if parts else ""
    pods = text.count(waiting.facts.least, "pod")
    if waiting.has_owner:
        return f"Check {waiting.owner}: it has to create {pods}."
    where = f"in namespace {waiting.namespace} with the annotation"
    label = f" and the label {keys.SUBGROUP_LABEL}" if parts else ""
    return f"Create {pods} {where} {keys.POD_GROUP_ANNOTATION}: {name}{label}."


def minimums(waiting: Waiting) -> Iterator[Ladder]:
    """A smaller gang."""
    spec = mapping(waiting.manifest.get("spec"))
    now = spec.get("minMember") or 1
    if not isinstance(now, int) or now < 2 or spec.get("subGroups"):
        return
    found = [each.facts["found"] for each in waiting.reasons("gang_incomplete")]
    ready = [
        pods["exist"] - pods["gated"]
        for each in waiting.reasons("not_ready")
        for pods in each.facts["pod_sets"]
    ]
    placed = now - waiting.missing
    likely = {placed + waiting.room, *ready, *found, 1}
    values = sorted({min(each, now - 1) for each in likely if each >= 1}, reverse=True)

    def change(value: float) -> Change:
        least = int(value)
        return of_group(
            waiting,
            "minimum",
            f"let {waiting.owner} start with {text.count(least, 'pod')} instead of {now}",
            {"minMember": least},
            _minimum_of(waiting, least),
        )

    yield Ladder(values, change, unit=-1, now=now)


def priorities(waiting: Waiting) -> Iterator[Ladder]:
    """A priority class with a higher value; the lowest first."""
    if not waiting.manifest:
        return
    classes = {
        str(at(each, "metadata", "name")): at(each, "value")
        for each in waiting.cluster._all("PriorityClass").values()
    }
    named = at(waiting.manifest, "spec", "priorityClassName")
    now = classes.get(named, defaults.PRIORITIES[defaults.TRAIN])
    if not isinstance(now, int):
        return
    higher: dict[int, str] = {}
    for name, value in sorted(classes.items()):
        is_higher = isinstance(value, int) and value > now
        if is_higher and not name.startswith(_OF_KUBERNETES):
            higher.setdefault(value, name)
    follows = not at(waiting.manifest, "spec", "preemptibility") and now < _NOT_PREEMPTIBLE

    def now_and(value: int) -> str:
        return f"{now}, not preemptible" if follows and value >= _NOT_PREEMPTIBLE else str(now)

    if higher:
        yield several([
            of_group(
                waiting,
                "priority",
                f"give {waiting.owner} the priority class {higher[value]} ({value} instead of "
                f"{now_and(value)})",
                {"priorityClassName": higher[value]},
                {"metadata": {"labels": {keys.PRIORITY_CLASS_LABEL: higher[value]}}},
            )
            for value in sorted(higher)
        ])  # fmt: skip


def preemptibilities(waiting: Waiting) -> Iterator[Ladder]:
    """Preemptible groups may use more than the quotas of their queues."""
    if waiting.manifest and any(waiting.reasons("non_preemptible_over_quota")):
        value = "preemptible"
        yield one(
            of_group(
                waiting,
                "preemptibility",
                f"make {waiting.owner} preemptible",
                {"preemptibility": value},
                {"metadata": {"labels": {keys.PREEMPTIBILITY_LABEL: value}}},
            )
        )


def selectors(waiting: Waiting) -> Iterator[Ladder]:
    """Labels that its node selector requires, with a value that nodes have, or not at all."""
    wanted: dict[str, str] = {}
    there: dict[str, dict[str, int]] = {}
    for places in waiting.places:
        for obstacles in places.obstacles:
            for cause in obstacles.causes:
                for unmet in cause.get("unmet", ()):
                    label = unmet["label"]
                    if unmet["operator"] == "In" and len(unmet["values"]) == 1:
                        wanted[label] = unmet["values"][0]
                        there[label] = {row["value"]: row["nodes"] for row in unmet["there"]}
    selected = [mapping(at(pod, "spec", "nodeSelector")) for pod in waiting.pods]
    for label, value in wanted.items():
        if not selected or any(each.get(label) != value for each in selected):
            continue
        others = sorted(there[label], key=lambda each: -there[label][each])
        close = near(value, others)
        ranked = [*close, *(each for each in others if each not in close)][:3]
        instead = [each for each in ranked if each != value]
        yield several([_selecting(waiting, label, value, each) for each in [*instead, None]])


def tolerations(waiting: Waiting) -> Iterator[Ladder]:
    """Taints that keep its pods off nodes, tolerated."""
    kept_off = waiting.kept_off_by("untolerated_taints")
    for taints in dict.fromkeys(tuple(cause["taints"]) for _, cause in kept_off):
        added = [_toleration(each) for each in taints]
        noun = "taint" if len(taints) == 1 else "taints"
        says = f"tolerate the {noun} {text.listing(taints)} in {waiting.owner}"
        if waiting.pods:
            yield one(_tolerating(waiting, says, added))


def topologies(waiting: Waiting) -> Iterator[Ladder]:
    """Another topology or level if its own does not exist; otherwise the required level, wider step
    by step, then only preferred."""
    constraint = mapping(at(waiting.manifest, "spec", "topologyConstraint"))
    required = str(constraint.get("requiredTopologyLevel") or "")
    if not required:
        return
    topology = waiting.cluster._find("Topology", str(constraint.get("topology")))
    if topology is None:
        yield several(list(_other_topologies(waiting, constraint, required)))
        return
    levels = [str(each.get("nodeLabel")) for each in objects(at(topology, "spec", "levels"))]
    if required in levels:
        others = levels[: levels.index(required)][::-1]
    else:
        others = [*near(required, levels), *levels[::-1]]
    changes = [
        _with_topology(
            waiting,
            f"require one {_short(level)} instead of one {_short(required)}",
            {**constraint, "requiredTopologyLevel": level},
        )
        for level in dict.fromkeys(others)
    ]
    if required in levels:
        without = {name: value for name, value in constraint.items() if "required" not in name}
        says = f"prefer one {_short(required)} instead of requiring it"
        weaker = {"preferredTopologyLevel": required, **without}
        changes.append(_with_topology(waiting, says, weaker))
    yield several(changes)


def _other_topologies(
    waiting: Waiting, constraint: Mapping[str, Any], required: str
) -> Iterator[Change]:
    """Its topology does not exist: those that have the level, or no constraint."""
    missing = str(constraint.get("topology") or "")
    known = {
        name: [each.get("nodeLabel") for each in objects(at(topology, "spec", "levels"))]
        for name, topology in waiting.cluster._all("Topology").items()
    }
    fitting = sorted(name for name, levels in known.items() if required in levels)
    close = near(missing, fitting)
    for name in [*close, *(each for each in fitting if each not in close)][:3]:
        says = f"use topology {name} instead of {missing} for {waiting.owner}"
        yield _with_topology(waiting, says, {**constraint, "topology": name})
    yield of_group(
        waiting,
        "topology",
        f"drop the topology constraint of {waiting.owner}",
        {"topologyConstraint": None},
        {"metadata": {"annotations": dict.fromkeys(keys.TOPOLOGY)}},
    )


def claims(waiting: Waiting) -> Iterator[Ladder]:
    """The queue label that KAI wants on a shared resource claim."""
    for reason in waiting.reasons("resource_claim_not_ready"):
        for refusal in reason.facts["refusals"]:
            if refusal.get("problem") not in ("no_queue_label", "wrong_queue_label"):
                continue
            name = str(refusal["claim"])
            full = name if "/" in name else f"{waiting.namespace}/{name}"
            if waiting.cluster._find("ResourceClaim", full) is not None:
                yield one(_labelled_claim(waiting, full))


def sub_groups(waiting: Waiting) -> Iterator[Ladder]:
    """The sub-group that pods meant, if their group has none of this name: the likeliest first."""
    names = [str(each.get("name")) for each in objects(at(waiting.manifest, "spec", "subGroups"))]
    for reason in waiting.reasons("subgroup_does_not_exist"):
        wrong = str(reason.facts["subgroup"])
        pods = [
            full_name(pod)
            for pod in waiting.pods
            if labels_of(pod).get(keys.SUBGROUP_LABEL) == wrong
        ]
        likely = dict.fromkeys((*difflib.get_close_matches(wrong, names, n=3, cutoff=0), *names))
        if pods and likely:
            yield several([_in_sub_group(waiting, pods, wrong, name) for name in likely])


def config_maps(waiting: Waiting) -> Iterator[Ladder]:
    """ConfigMaps that its containers need and that do not exist."""
    for reason in waiting.reasons("config_map_missing"):
        for refusal in reason.facts["refusals"]:
            for name in refusal.get("config_maps", ()):
                short = str(name).rpartition("/")[2]
                made = {"metadata": {"name": short, "namespace": waiting.namespace}}
                yield one(
                    Change(
                        "pods",
                        f"create ConfigMap {waiting.namespace}/{short}",
                        commands(f"kubectl create configmap {short} -n {waiting.namespace}"),
                        edit=put("ConfigMap", made),
                        rights=(Right("create", "ConfigMap", short, waiting.namespace),),
                    )
                )


# ---- the changes ---------------------------------------------------------------------------------


def of_group(
    waiting: Waiting,
    kind: str,
    says: str,
    fields: Mapping[str, Any],
    of_owner: Mapping[str, Any] | None,
    *,
    replaces: bool = False,
) -> Change:
    """A change of its PodGroup. The PodGroup of a workload or a bare pod is written again from it,
    so it is changed there: `of_owner`, or None if that depends on the kind of the workload."""
    if waiting.is_written_again and of_owner:
        how = yaml_of(of_owner, of=waiting.owner)
    elif waiting.has_owner:
        how = commands()
    else:
        body: dict[str, Any] = {"spec": dict(fields)}
        if replaces:
            before = mapping(waiting.manifest.get("spec"))
            body["spec"] = {
                name: {**dict.fromkeys(mapping(before.get(name))), **value}
                for name, value in fields.items()
            }
        how = patch(_RESOURCE, waiting.namespace, waiting.name.rpartition("/")[2], body)
    edit = changed("PodGroup", waiting.groups_of_owner, lambda group: with_spec(group, **fields))
    return Change(kind, says, how, edit=edit, rights=(waiting.right,))


def _minimum_of(waiting: Waiting, least: int) -> dict[str, Any] | None:
    """What gives a workload this minimum of pods; None if kai does not know it for its kind."""
    kind = waiting.owner.partition(" ")[0]
    if kind == "Job":
        return {"metadata": {"annotations": {keys.BATCH_MIN_MEMBER_ANNOTATION: str(least)}}}
    if kind in _WITH_RUN_POLICY:
        return {"spec": {"runPolicy": {"schedulingPolicy": {"minAvailable": least}}}}
    return None


def _with_topology(waiting: Waiting, says: str, constraint: Mapping[str, Any]) -> Change:
    """With another constraint, of the same members or fewer. None removes an annotation."""
    before = mapping(at(waiting.manifest, "spec", "topologyConstraint"))
    annotations = {
        key: constraint.get(member)
        for member, key in zip(_OF_A_CONSTRAINT, keys.TOPOLOGY, strict=True)
        if constraint.get(member) != before.get(member)
    }
    return of_group(
        waiting,
        "topology",
        says,
        {"topologyConstraint": dict(constraint)},
        {"metadata": {"annotations": annotations}},
        replaces=True,
    )


def _tolerating(waiting: Waiting, says: str, added: list[dict[str, str]]) -> Change:
    def tolerant(pod: Manifest) -> Manifest:
        own = objects(at(pod, "spec", "tolerations"))
        return with_spec(pod, tolerations=[*own, *(each for each in added if each not in own)])

    def body(pod: Manifest) -> Manifest:
        """All of them: a patch replaces the list."""
        return {"spec": {"tolerations": tolerant(pod)["spec"]["tolerations"]}}

    how = partial(waiting.parts, body=body)
    edit = changed("Pod", waiting.pods_of_owner, tolerant)
    return Change("toleration", says, how, edit=edit, rights=(waiting.right,))


def _selecting(waiting: Waiting, label: str, value: str, other: str | None) -> Change:
    def selecting(pod: Manifest) -> Manifest:
        selector = {**mapping(at(pod, "spec", "nodeSelector"))}
        selector.pop(label, None)
        return with_spec(
            pod, nodeSelector=selector if other is None else {**selector, label: other}
        )

    if other is None:
        says = f"drop the node selector {label}={value} of {waiting.owner}"
    else:
        says = f"select {label}={other} instead of {value or label + '='} in {waiting.owner}"
    shown = {"spec": {"nodeSelector": {label: other}}}
    how = yaml_of(shown, of=waiting.its_pods)
    edit = changed("Pod", waiting.pods_of_owner, selecting)
    return Change("selector", says, how, edit=edit, rights=(waiting.right,))


def _in_sub_group(waiting: Waiting, pods: list[str], wrong: str, name: str) -> Change:
    short = [pod.rpartition("/")[2] for pod in pods]
    label = f"{keys.SUBGROUP_LABEL}={name}"
    return Change(
        "pods",
        f"put {text.count(len(pods), 'pod')} into sub-group {name} instead of {wrong}",
        commands(
            f"kubectl label pods {' '.join(short)} -n {waiting.namespace} {label} --overwrite"
        ),
        edit=changed("Pod", pods, lambda pod: with_labels(pod, {keys.SUBGROUP_LABEL: name})),
        rights=tuple(Right("patch", "Pod", each, waiting.namespace) for each in short),
    )


def _ungated(waiting: Waiting, gated: list[Manifest], value: float) -> Change:
    """The first of its pods without their scheduling gates."""
    chosen = gated[: int(value)]
    gates = {
        str(each["name"])
        for pod in chosen
        for each in objects(at(pod, "spec", "schedulingGates"))
        if each.get("name")
    }
    names = [full_name(pod) for pod in chosen]
    short = [name.rpartition("/")[2] for name in names]
    noun = "gate" if len(gates) == 1 else "gates"
    if all(map(is_of_template, gated)):
        says = f"remove the scheduling {noun} {text.listing(sorted(gates))} of {waiting.its_pods}"
        return _ungated_template(waiting, says)
    body = '[{"op":"remove","path":"/spec/schedulingGates"}]'
    return Change(
        "pods",
        f"remove the scheduling {noun} {text.listing(sorted(gates))} of "
        f"{text.count(len(chosen), 'pod')}",
        commands(
            f"kubectl patch pods {' '.join(short)} -n {waiting.namespace} --type=json -p '{body}'",
            "# what set a gate usually removes it: see first what it waits for",
        ),
        edit=changed("Pod", names, lambda pod: with_spec(pod, schedulingGates=[])),
        rights=tuple(Right("patch", "Pod", name, waiting.namespace) for name in short),
    )


def _ungated_template(waiting: Waiting, says: str) -> Change:
    """There are no pods that could be patched."""

    def body(pod: Manifest) -> Manifest:
        return {"spec": {"schedulingGates": None}} if at(pod, "spec", "schedulingGates") else {}

    return Change(
        "pods",
        says,
        partial(waiting.parts, body=body),
        edit=changed("Pod", waiting.pods_of_owner, lambda pod: with_spec(pod, schedulingGates=[])),
        rights=(waiting.right,),
    )


def _more_pods(waiting: Waiting, missing: Mapping[str, int]) -> Change:
    """Pods that do not exist yet, by sub-group."""
    number = sum(missing.values())
    names = " of ".join(("", *(each for each in missing if each)))
    return Change(
        "pods",
        f"create {text.count(number, 'more pod')}{names} of {waiting.owner}",
        partial(_how_to_create, waiting, missing),
        edit=partial(_create, waiting, missing),
        rights=(waiting.right if waiting.has_owner else _to_create(waiting),),
    )


def _ungated_and_more(
    waiting: Waiting, gated: list[Manifest], missing: Mapping[str, int]
) -> Change:
    """Neither would suffice: new pods have the gates of the others."""
    more, ungated = _more_pods(waiting, missing), _ungated(waiting, gated, len(gated))

    def edit(cluster: Cluster) -> None:
        more.edit(cluster)
        names = cluster._pods_of(waiting.name)
        changed("Pod", names, lambda pod: with_spec(pod, schedulingGates=[]))(cluster)

    of_new = "" if all(map(is_of_template, gated)) else " and of the new ones"
    return Change(
        "pods",
        f"{more.says}, and {ungated.says}{of_new}",
        lambda cluster: (*more.how(cluster), *ungated.how(cluster)),
        edit=edit,
        rights=(*more.rights, *ungated.rights),
    )


def _to_create(waiting: Waiting) -> Right:
    return Right("create", "Pod", "", waiting.namespace)


def _how_to_create(
    waiting: Waiting, missing: Mapping[str, int], cluster: Cluster
) -> tuple[str, ...]:
    """The workload creates its pods; pods without one are created from YAML."""
    kind, _, name = waiting.owner.partition(" ")
    short = name.rpartition("/")[2]
    number = len(cluster._pods_of(waiting.name)) + sum(missing.values())
    if waiting.has_owner and len(missing) == 1 and "" in missing:
        if kind in _WITH_REPLICAS:
            what = f"{kind.lower()} {short} -n {waiting.namespace}"
            return (f"kubectl scale {what} --replicas={number}",)
        if kind == "Job":
            return (
                f"kubectl patch job {short} -n {waiting.namespace} --type=merge -p "
                f'\'{{"spec":{{"parallelism":{number}}}}}\'',
                "# it needs as many completions; a suspended Job has no pods",
            )
    if waiting.has_owner:
        parts = [f"{more} more{f' of {each}' if each else ''}" for each, more in missing.items()]
        return (f"# {waiting.owner}: replicas for {text.listing(parts, most=len(parts))}",)
    lines: list[str] = []
    for subgroup, more in missing.items():
        model = edits.pod_like(_model(waiting, subgroup, cluster), 0)
        metadata: dict[str, Any] = {"generateName": f"{short}-", "namespace": waiting.namespace}
        for part in ("labels", "annotations"):
            if own := mapping(at(model, "metadata", part)):
                metadata[part] = dict(own)
        if subgroup:
            metadata["labels"] = {**metadata.get("labels", {}), keys.SUBGROUP_LABEL: subgroup}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": model["spec"]}
        times = "once" if more == 1 else f"{more} times"
        lines += Part(body, comment=f"to create {times}: kubectl create -f FILE").lines()
    return tuple(lines)


def _model(waiting: Waiting, subgroup: str, cluster: Cluster) -> Manifest:
    """One of its pods as it is by then, of this sub-group if it has any."""
    pods = [cluster._existing("Pod", full_name(pod)) for pod in waiting.pods]
    of_it = [pod for pod in pods if labels_of(pod).get(keys.SUBGROUP_LABEL, "") == subgroup]
    return (of_it or pods)[-1]


def _create(waiting: Waiting, missing: Mapping[str, int], cluster: Cluster) -> None:
    """Adds pods like its own, by sub-group."""
    for subgroup, number in missing.items():
        model = _model(waiting, subgroup, cluster)
        names = cluster._all("Pod")
        numbers = edits.new_numbers(full_name(model), names)
        for _ in range(number):
            made = edits.pod_like(model, next(numbers))
            label = {keys.SUBGROUP_LABEL: subgroup} if subgroup else {}
            cluster.upsert({**with_labels(made, label), "kind": "Pod"})


def _labelled_claim(waiting: Waiting, full: str) -> Change:
    labels = {keys.QUEUE_LABEL: waiting.group.queue}
    namespace, _, name = full.rpartition("/")
    label = f"{keys.QUEUE_LABEL}={waiting.group.queue}"
    return Change(
        "claim",
        f"label ResourceClaim {full} with its queue, {label}",
        commands(f"kubectl label resourceclaim {name} -n {namespace} --overwrite {label}"),
        edit=changed("ResourceClaim", [full], lambda claim: with_labels(claim, labels)),
        rights=(Right("patch", "ResourceClaim", name, namespace),),
    )


def _toleration(taint: str) -> dict[str, str]:
    """ "key=value:Effect", as kubectl prints it."""
    pair, _, effect = taint.rpartition(":")
    key, has_value, value = pair.partition("=")
    made = {"key": key, "operator": "Equal" if has_value else "Exists", "effect": effect}
    return made | ({"value": value} if has_value else {})


def _short(level: str) -> str:
    return level.rpartition("/")[2]

"""The result of a cycle: frozen values, each created from the compiled plan at its first use.

>>> import kai
>>> plan = kai.Scheduler().plan(
...     kai.Cluster()
...     .queue("vision", deserved_gpus=2)
...     .node("n1", gpus=8)
...     .pending("vision/train", pods=2, gpus=1, min_member=2),
...     now="2026-01-01T00:00:00Z",
... )
>>> plan.decisions
(Bind(pod='vision/train-0', node='n1', gpus=1), Bind(pod='vision/train-1', node='n1', gpus=1))
>>> plan.pod_groups["vision/train"].verdict
'placed'
>>> plan.queues["vision"].gpu.fair_share
2
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kai.api.arguments import all_in_sentences, wrong_type
from kai.engine import explain, report, text
from kai.engine.answer import Answer
from kai.engine.left_out import rejections, why_rejected
from kai.engine.not_planned import why_not_planned
from kai.engine.values import GroupPlan
from kai.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from kai.engine.differences import PlanDiff
    from kai.engine.fixing.fixes import Fixes, GroupPage, May
    from kai.engine.scores import Moment, Scores


@all_in_sentences
class Plan(Answer):
    """The result of one cycle. It prints as a page for people; `to_dict` is for programs.

    >>> import kai
    >>> plan = kai.Scheduler().plan(
    ...     kai.Cluster().queue("a").node("n1", gpus=1).pending("a/x", pods=2, gpus=1),
    ...     now="2026-01-01T00:00:00Z",
    ... )
    >>> plan
    <kai.Plan at 2026-01-01T00:00:00Z: 1 pod bound; 1 of 1 pod group waits>
    >>> plan.decisions[0].node, plan.free_gpus
    ('n1', {'n1': 0})
    >>> print(plan.why("a/x"))
    a/x has 2 pods: 1 placed now; the rest waits.
      It needs 1 GPU on one node; no GPU is free after this cycle.
    """

    def why(self, name: str) -> str:
        """Why a pod group waits, or that it does not, one sentence per line, also in a notebook.

        The name is "namespace/name" of the pod group, of its workload or of one of its pods; the
        namespace may be omitted if the name is unique. For an object that was left out of the plan,
        a pod that has ended, a pod of another scheduler, and a workload without pods, such as a
        suspended Job, the result is the cause. Raises NotFoundError if no group, or several groups,
        match the name.
        """
        if found := rejections(self, name):
            return text.Sentences(why_rejected(found))
        try:
            return text.Sentences(explain.why(self, name))
        except NotFoundError:
            if not_planned := why_not_planned(self, name):
                return text.Sentences(not_planned)
            raise

    def find_group(self, name: str) -> GroupPlan:
        """The pod group that `why` explains. Raises NotFoundError as `why` does."""
        return explain.find_group(self, name)

    def fix(
        self,
        name: str,
        *,
        most: int = 5,
        costs: Mapping[str, float] | None = None,
        may: May | None = None,
    ) -> Fixes:
        """The smallest changes that start a waiting pod group, the cheapest first.

        Each was proven by a plan of the changed cluster, and says what else that plan does: who is
        evicted, who waits then. A number is the smallest of its kind that was tried: one unit less
        does not start the group. Another number may fail, even a larger one.

        `name` as for `why`. `most`: how many answers. `costs` changes what a kind of change costs
        (`kai.engine.fixing.changes.COSTS`). `may` decides whether the asker may make a change; the
        other changes are marked for an operator.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a", gpu_limit=1).node("n1", gpus=4)
        >>> plan = kai.Scheduler().plan(cluster.pending("a/x", gpus=2))
        >>> print(plan.fix("a/x", most=1))
        1 change that starts a/x, proven by a plan of the changed cluster:
        1. Request 1 GPU for each pod instead of 2.
           Then it is placed: 1 pod on n1.
             # the pods of Job a/x
             spec:
               containers:
               - name: main
                 resources:
                   limits:
                     nvidia.com/gpu: 1
                   requests:
                     nvidia.com/gpu: 1

        An object that was left out of the plan, and one without a pod group, have no fix: the
        answer has the cause. Raises NotFoundError as `why`, and InvalidInputError for a plan that
        was pickled, for a cluster that changed after the plan, and for an unknown kind in `costs`.
        """
        from kai.engine.fixing.fixes import Fixes
        from kai.engine.fixing.search import fixes_of

        _check_may("fix", may)
        origin = self._origin
        if origin is None:
            raise InvalidInputError(
                "a plan that was pickled has no cluster to change: plan the cluster again"
            )
        if origin.cluster._changes != origin.changes:
            raise InvalidInputError(
                "the cluster has changed since this plan: plan it again, and call fix of that plan"
            )
        if left_out := rejections(self, name):
            return Fixes(name, (), 0, True, why_rejected(left_out))
        try:
            group = explain.name_of_group(self, name)
        except NotFoundError:
            if not_planned := why_not_planned(self, name):
                return Fixes(name, (), 0, True, not_planned)
            raise
        found = fixes_of(self, origin, group, most=most, costs=costs)
        return found if may is None else found.marked(may)

    def page(
        self,
        name: str,
        *,
        most: int = 5,
        costs: Mapping[str, float] | None = None,
        may: May | None = None,
    ) -> GroupPage:
        """Why a pod group waits, and the smallest changes that start it, on one page: text, or HTML
        in a notebook and by `to_html()`.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a", gpu_limit=1).node("n1", gpus=4)
        >>> page = kai.Scheduler().plan(cluster.pending("a/x", gpus=2)).page("a/x")
        >>> page
        <kai page of a/x: 2 changes>
        >>> "<h1>a/x waits in queue a.</h1>" in page.to_html()
        True

        The arguments are those of `fix`. Raises NotFoundError and InvalidInputError as `fix` does.
        """
        from kai.engine.fixing.fixes import GroupPage

        _check_may("page", may)
        fixes = self.fix(name, most=most, costs=costs, may=may)
        about = f"Planned at {self.now_text}" + (f" from {self.input}." if self.input else ".")
        sentences = tuple(line.strip() for line in self.why(name).splitlines())
        return GroupPage(fixes.group, sentences, fixes, about)

    def scores(self, pod: str, *, at: Moment | None = None) -> Scores:
        """Why a pod goes to one node and not to another: the score of each plugin, by node.

        `pod` is "namespace/name"; the namespace may be omitted if the name is unique. `at`:
        "placement" when the pod gets its place, "start" before the plan, as if the pod were placed
        first. The default is "placement", or "start" for a pod that gets no place. At the start no
        topology domain is chosen, so all nodes are searched.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a").node("n1", gpus=8).node("n2", gpus=2)
        >>> plan = kai.Scheduler().plan(cluster.pending("a/x", gpus=1))
        >>> print(plan.scores("a/x-0"))
        a/x-0 goes to n2; when it is placed, 2 of 2 nodes can run it
        <BLANKLINE>
        Scores
          node         nodeplacement    sum
          n2 (chosen)              9  1,009
          n1                       0  1,000
          each node also has 1,000 from nodeavailability

        Each call runs the cycle once more. Raises NotFoundError if no pod, or several pods, match
        the name; InvalidInputError for a pod that needs no node, as it runs or has ended, for
        "placement" if the plan gives the pod no place, and for a plan that was pickled.
        """
        from kai.engine.scores import scores_of

        return scores_of(self, pod, at)

    def diff(self, other: Plan) -> PlanDiff:
        """The differences in decisions, groups and queues between two plans.

        `before` is this plan, `after` the other one; both may be of any cluster.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a").node("n1", gpus=1).pending("a/x", pods=2, gpus=1)
        >>> before = kai.Scheduler().plan(cluster)
        >>> print(before.diff(kai.Scheduler().plan(cluster.add_nodes(1, like="n1"))))
        1 pod group, 1 pod, 1 queue differ
        <BLANKLINE>
        Pod groups
          pod group  before         after   pods that wait
          a/x        partly placed  placed  1 -> 0
        <BLANKLINE>
        Pods
          pod group  pods  before         after
          a/x           1  left as it is  bound to n2
        <BLANKLINE>
        Queues
          queue                    before  after
          a      fair share, GPUs  1       2
        """
        from kai.engine import differences

        return differences.diff(self, other)

    def __repr__(self) -> str:
        name = f" {self.input}" if self.input else ""
        return f"<kai.Plan{name} at {self.now_text}: {report.summary(self)}>"

    def __str__(self) -> str:
        return text.to_text(report.title(self), report.tables_of(self))

    def _repr_html_(self) -> str:
        return text.to_html(report.title(self), report.tables_of(self))


def _check_may(function: str, may: object) -> None:
    if may is not None and not callable(may):
        raise wrong_type(f"{function}(): may is {may!r}: write a function of a right")

"""The exceptions of kai, each with the call that raises it.

All of them are a `KaiError`, and each is also the built-in exception a reader would expect, so
``except ValueError`` catches what is wrong with an input and ``except LookupError`` what is not
there. The compiled module raises these same classes.
"""


class KaiError(Exception):
    """The base of every exception that kai raises on purpose.

    >>> import kai
    >>> try:
    ...     kai.load(b"{")
    ... except kai.KaiError as error:
    ...     print(type(error).__name__)
    InvalidInputError
    """


class InvalidInputError(KaiError, ValueError):
    """A cluster or a time cannot be read at all.

    Raised by `kai.load`, `kai.load_all` and `kai.Cluster.from_snapshot` for a file that is missing,
    cut short or neither a snapshot nor Kubernetes manifests, and by `kai.Scheduler.plan` for a
    snapshot that is not valid JSON and for a time that is not RFC 3339. An object *inside* a
    readable input that makes no sense raises nothing: it is listed in `Cluster.rejected`.

    >>> import kai
    >>> kai.load(b"{")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    kai.errors.InvalidInputError: the input: not valid JSON...
    """


class InvalidClusterError(InvalidInputError):
    """A situation was described that no cluster can be in.

    Raised by the builder methods of `kai.Cluster` (a negative number of pods, a pod group without a
    queue), by `kai.Cluster.upsert` and `.delete` for what is no object that a plan depends on, and
    by `kai.load` with ``strict=True`` when an object of the input had to be left out.

    >>> import kai
    >>> kai.Cluster().node("n1", gpus=-1)
    Traceback (most recent call last):
    kai.errors.InvalidClusterError: gpus is -1: it must be at least 0
    """


class InvalidConfigError(KaiError, ValueError):
    """A scheduler configuration cannot be used.

    Raised by `kai.Scheduler` for the configuration given to it, and by `kai.Scheduler.plan` for the
    one a snapshot carries: not a mapping, an unknown action, an argument that is no number.

    >>> import kai
    >>> kai.Scheduler(["allocate"])
    Traceback (most recent call last):
    kai.errors.InvalidConfigError: the configuration: is a list, not a mapping
    """


class InvalidRequestError(KaiError, ValueError):
    """Something was asked for a pod that KAI would refuse or ignore.

    Raised by `kai.pod_settings` and `kai.PodRequest` when they are made, and by builders asked to
    be strict for what their orchestrator cannot express. The message says what to write instead.

    >>> import kai
    >>> kai.pod_settings(gpu_fraction=0.5, gpus=1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    kai.errors.InvalidRequestError: gpus=1 and gpu_fraction=0.5 exclude each other...
    """


class BusyError(KaiError, RuntimeError):
    """Another plan runs on this cluster.

    Raised by `kai.Scheduler.plan` when two threads plan one `kai.Cluster` at the same time. Load
    the cluster once per thread, or plan one after the other. Events do not raise it: they wait.

    >>> import kai
    >>> cluster = kai.Cluster().node("n1", gpus=8)
    >>> try:
    ...     plan = kai.Scheduler().plan(cluster)
    ... except kai.BusyError:
    ...     plan = kai.Scheduler().plan(cluster.copy())
    """


class PolicyError(KaiError, RuntimeError):
    """A policy that was given as a function failed, or its answer cannot be used.

    Raised by `kai.Scheduler.plan` and `kai.sim.simulate.simulate` with policies of `kai.policy`.
    The message names the function and its line; what it raised is the cause. There is no plan, and
    the cluster and the scheduler are as before.

    >>> import kai
    >>> @kai.policy.score
    ... def broken(pod, nodes):
    ...     return nodes.gpus * float("nan")
    >>> cluster = kai.Cluster().queue("a").node("n1", gpus=1).pending("a/x", gpus=1)
    >>> kai.Scheduler(policies=[broken]).plan(cluster)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    kai.errors.PolicyError: policy broken (...): the score of node n1 is nan
    """


class NotFoundError(KaiError, LookupError):
    """Nothing has this name; the message offers names that are close.

    Raised by `kai.Plan.why` and by looking up a queue or a pod group of a plan.

    >>> import kai
    >>> kai.Scheduler().plan(kai.Cluster()).why("vision/train")
    Traceback (most recent call last):
    kai.errors.NotFoundError: there is no pod group 'vision/train'
    """


class UnreachableError(KaiError, ConnectionError):
    """No answer comes from an API server.

    Raised by `kai.k8s.client.Client` and what uses it: nothing listens there, its name or its
    certificate is wrong, or it answers too late or not at all. The message names the address.

    >>> import kai
    >>> try:
    ...     raise kai.UnreachableError("https://10.0.0.1:6443: connection refused")
    ... except ConnectionError as error:
    ...     print(error)
    https://10.0.0.1:6443: connection refused
    """


class RefusedError(KaiError, PermissionError):
    """An API server answers, and refuses.

    Raised by `kai.k8s.client.Client` and what uses it, for credentials that do not count and for
    rights that are missing. The message is the server's own; `status` is the HTTP status.

    >>> import kai
    >>> kai.RefusedError("pods is forbidden", status=403).status
    403
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status

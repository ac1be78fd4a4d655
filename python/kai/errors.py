"""The exceptions of kai, each with the calls that raise it.

Each is a `KaiError` and also the matching built-in exception, so ``except ValueError`` catches a
wrong input and ``except LookupError`` a name that does not exist. The compiled module raises the
same classes.
"""


class KaiError(Exception):
    """The base class of all exceptions that kai raises on purpose.

    >>> import kai
    >>> try:
    ...     kai.load(b"{")
    ... except kai.KaiError as error:
    ...     print(type(error).__name__)
    InvalidInputError
    """

    def __str__(self) -> str:
        """The sentence, on one line: names in it come from files and may have line breaks."""
        return on_one_line(super().__str__())


def on_one_line(text: str) -> str:
    """The text with escapes such as ``\\u202e`` for invisible characters.

    >>> on_one_line("a\\nb")
    'a\\\\nb'
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


class InvalidInputError(KaiError, ValueError):
    """An input, such as a cluster or a time, cannot be read.

    Raised by `kai.load`, `kai.load_all` and `kai.Cluster.from_snapshot` for a file that is missing,
    cut short, or neither a snapshot nor Kubernetes manifests, and by `kai.Scheduler.plan` for a
    snapshot that is not valid JSON and for a time that is not RFC 3339. An invalid object *inside*
    a readable input does not raise: `Cluster.rejected` lists it.

    >>> import kai
    >>> kai.load(b"{")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    kai.errors.InvalidInputError: the input: not valid JSON...
    """


class InvalidClusterError(InvalidInputError):
    """A description of a cluster is not valid.

    Raised by the builder methods of `kai.Cluster` (a negative number of pods, a pod group without a
    queue), by `kai.Cluster.upsert` and `.delete` for a kind that plans do not use, and by
    `kai.load` with ``strict=True`` if an object of the input is left out.

    >>> import kai
    >>> kai.Cluster().node("n1", gpus=-1)
    Traceback (most recent call last):
    kai.errors.InvalidClusterError: gpus is -1: it must be at least 0
    """


class InvalidConfigError(KaiError, ValueError):
    """A scheduler configuration cannot be used.

    Raised by `kai.Scheduler` for its configuration, and by `kai.Scheduler.plan` for the one of a
    snapshot: it is not a mapping, or a member has the wrong type. Unknown names (actions, plugins,
    arguments) do not raise: they are skipped, and `Plan.warnings` lists them.

    >>> import kai
    >>> kai.Scheduler(["allocate"])
    Traceback (most recent call last):
    kai.errors.InvalidConfigError: the configuration: is a list, not a mapping
    """


class InvalidRequestError(KaiError, ValueError):
    """A pod request has a setting that KAI would refuse or ignore.

    Raised by `kai.pod_settings` and `kai.PodRequest`, and by builders with ``strict=True`` for a
    setting that their orchestrator cannot express. The message has the correction.

    >>> import kai
    >>> kai.pod_settings(gpu_fraction=0.5, gpus=1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    kai.errors.InvalidRequestError: gpus=1 and gpu_fraction=0.5 exclude each other...
    """


class BusyError(KaiError, RuntimeError):
    """Another plan of this cluster is running.

    Raised by `kai.Scheduler.plan` if two threads plan one `kai.Cluster` at the same time. Load the
    cluster once per thread, or plan one after the other. Events do not raise it: they wait.

    >>> import kai
    >>> cluster = kai.Cluster().node("n1", gpus=8)
    >>> try:
    ...     plan = kai.Scheduler().plan(cluster)
    ... except kai.BusyError:
    ...     plan = kai.Scheduler().plan(cluster.copy())
    """


class PolicyError(KaiError, RuntimeError):
    """A Python policy has failed, or its answer cannot be used.

    Raised by `kai.Scheduler.plan` and `kai.sim.simulate.simulate` with policies of `kai.policy`.
    The message names the function and its line; the exception of the policy is the cause. There is
    no plan, and the cluster and the scheduler are unchanged.

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
    """A name does not exist; the message suggests similar names.

    Raised by `kai.Plan.why` and by look-ups of queues and pod groups in a plan.

    >>> import kai
    >>> kai.Scheduler().plan(kai.Cluster()).why("vision/train")
    Traceback (most recent call last):
    kai.errors.NotFoundError: there is no pod group 'vision/train'
    """


class UnreachableError(KaiError, ConnectionError):
    """An API server does not answer.

    Raised by `kai.k8s.client.Client` and its users if the server cannot be reached, its name or
    certificate is wrong, or it answers too late or not at all. The message names the address.

    >>> import kai
    >>> try:
    ...     raise kai.UnreachableError("https://10.0.0.1:6443: connection refused")
    ... except ConnectionError as error:
    ...     print(error)
    https://10.0.0.1:6443: connection refused
    """


class RefusedError(KaiError, PermissionError):
    """An API server refuses a request.

    Raised by `kai.k8s.client.Client` and its users for invalid credentials and missing rights. The
    message is that of the server; `status` is the HTTP status.

    >>> import kai
    >>> kai.RefusedError("pods is forbidden", status=403).status
    403
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status

"""A plan's page for a person: short, however large the cluster is."""

import kai
from kai.engine import report, text

NOW = "2026-01-01T00:00:00Z"


def plan(cluster: kai.Cluster) -> kai.Plan:
    return kai.Scheduler({"actions": "allocate"}).plan(cluster, now=NOW)


def test_decisions_are_listed_by_pod_group() -> None:
    cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=2).pending("a/job", pods=3, gpus=1)
    table = report.decisions(plan(cluster))
    assert table.rows == [("bind", "a/job", "3", "3", "n1 (2), n2 (1)")]


def test_evictions_have_their_cause() -> None:
    cluster = kai.Cluster().queue("rich", deserved_gpus=2).queue("poor", deserved_gpus=2)
    cluster.node("n1", gpus=4).running("rich/run", pods=4, gpus=1, node="n1", min_member=1)
    cluster.running("rich/gang", pods=2, cpus=1, node="n1", min_member=3)
    cluster.configure(globalDefaultStalenessGracePeriod=0).pending("poor/new", gpus=1)
    table = report.decisions(kai.Scheduler().plan(cluster, now=NOW))
    assert table.rows == [
        ("evict", "rich/run", "1", "", "reclaim for poor/new"),
        ("pipeline", "poor/new", "1", "1", "n1"),
        ("evict", "rich/gang", "2", "", "stalegangeviction"),
    ]


def test_many_groups_of_a_queue_share_a_row() -> None:
    cluster = kai.Cluster().queue("a").queue("b").nodes("n", 10, gpus=8)
    for number in range(40):
        cluster.pending(f"{'ab'[number % 2]}/job-{number:02}", gpus=1)
    page = str(plan(cluster))
    assert "a/job-00 and 19 more" in page
    assert "b/job-01 and 19 more" in page
    assert len(page.splitlines()) < 20


def test_equal_waiting_groups_share_a_row() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=1).running("a/run", gpus=1, node="n1")
    for number in range(30):
        cluster.pending(f"a/job-{number:02}", gpus=1)
    table = report.waiting(plan(cluster))
    assert [row[0] for row in table.rows] == ["a/job-00 and 29 more"]


def test_queues_are_indented_below_their_parents() -> None:
    cluster = (
        kai.Cluster()
        .queue("z")
        .queue("b", parent="z")
        .queue("a", parent="z")
        .queue("c")
        .node("n1", gpus=1)
        .pending("a/job", gpus=1)
    )
    gpus, cpus, memory = report.queue_tables_of(plan(cluster))
    assert [row[0] for row in gpus.rows] == ["c", "z", "  a", "  b"]
    assert "0 B" in memory.rows[0]
    assert cpus.title == "Queues, CPUs"


def test_a_page_shows_cpus_if_no_pod_requests_gpus() -> None:
    cluster = kai.Cluster().queue("a").node("n1").pending("a/job", cpus=2)
    assert "Queues, CPUs" in str(plan(cluster))
    assert "Queues, GPUs" not in str(plan(cluster))


def test_a_plan_without_decisions_is_one_line() -> None:
    assert str(plan(kai.Cluster())) == f"{NOW}: nothing to do; no pod groups"


def test_long_names_fit_the_page() -> None:
    name = "a-very-long-name" * 16
    cluster = kai.Cluster().queue(name).node("n1", gpus=1).pending(f"{name}/job", gpus=2)
    made = plan(cluster)
    page = str(made)
    waiting = page[page.index("Waiting") : page.index("Queues")]
    assert f"  {name}/job" in waiting.splitlines()
    assert max(len(line) for line in waiting.splitlines() if name not in line) <= text.WIDTH
    assert "It can never start here" in " ".join(waiting.split())
    for width in (60, 80, 120, 200):
        page = text.to_text(report.title(made), report.tables_of(made), width=width)
        assert max(len(line) for line in page.splitlines()) <= width


def test_equal_reasons_in_any_order_and_queue_share_a_row() -> None:
    cluster = kai.Cluster().queue("a").queue("b")
    cluster.nodes("full", 2, cpus=1).nodes("off", 10, cordoned=True)
    cluster.pending("a/job", cpus=4).pending("b/job", cpus=4)
    (row,) = report.waiting(plan(cluster)).rows
    assert row == (
        "a/job and 1 more",
        "No node can take it now: 10 nodes cordoned, 2 nodes with fewer than 4 CPUs.",
    )


def test_pipelined_groups_share_a_row() -> None:
    cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=4)
    cluster.releasing("a/old", pods=2, gpus=4, node=["n1", "n2"])
    cluster.pending("a/one", gpus=4).pending("a/two", gpus=4)
    (row,) = report.waiting(plan(cluster)).rows
    assert row[0] == "a/one and 1 more"


def test_decisions_keep_their_column_titles_with_long_names() -> None:
    queue = "team-" + "with-a-long-name-" * 3 + "x"
    cluster = kai.Cluster().queue(queue).nodes("a-node-of-a-pool-with-a-long-name-", 5, gpus=8)
    cluster.pending(f"{queue}/job", pods=5, gpus=8)
    table = report.decisions(plan(cluster))
    head, row = text.to_text("", [table], width=text.WIDTH).splitlines()[1:]
    assert head.split() == ["pod", "group", "pods", "GPUs", "where"]
    assert len(row) <= text.WIDTH
    assert f"{queue}/job" in text.to_text("", [table])
    assert row.endswith("and 4 more")

"""Files of each format become workloads; invalid rows are left out and counted."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from kai.errors import InvalidInputError
from kai.sim import traces
from kai.sim.cutting import equal_pods
from kai.sim.traces.trace import even_queues
from kai.sim.workload import Job, NodePool, Queue, Workload

PHILLY = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:00:10,60.0,1,60.0,speech
2017-10-09 07:00:00,30.5,16,488.0,vision
2017-10-09 07:01:00,10.0,12,120.0,vision

"""
ITP = "job_id,submission_time,duration,num_gpu\na,100,1000,1\nb,300,3000,4"
MURI = (
    "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,"
    "iteration_time,resource_time_0,resource_time_1,resource_time_2,priority\n"
    "0,1,5000,10,resnet18,128,90000,5000,9,1,1,1,1\n"
    "1,8,7500,10,dqn,,30000,2500,9,1,1,1,0\n"
)
TIRESIAS = (
    "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
    "0,1,0,606,vgg19,164,30\n1,8,30,133,vgg11,147,23\n"
)
OPENB = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,\
deletion_time,scheduled_time
p0,12000,16384,1,1000,,LS,Running,10,110,20
p1,500,1024,1,460,T4|A10,LS,Running,30,130,35
p2,4000,8192,0,0,,LS,Pending,40,90,
p3,4000,8192,8,1000,G2,LS,Running,50,150,60
"""
OPENB_NODES = """sn,cpu_milli,memory_mib,gpu,model
n0,96000,393216,8,G2
n1,32000,262144,0,
"""
SWF = """; Version: 2.2
; UnixStartTime: 1000000000
; MaxNodes: 4
; MaxProcs: 16
; Note: anything
1 0 5 100 4 -1 -1 4 200 -1 1 7 2 -1 1 -1 -1 -1
2 50 5 60 8 -1 -1 -1 -1 -1 1 8 2 -1 1 -1 -1 -1
3 60 5 -1 8 -1 -1 8 -1 -1 5 8 3 -1 1 -1 -1 -1
4 70 5 10 -1 -1 -1 -1 -1 -1 1 8 3 -1 1 -1 -1 -1
5 80 5 10 2 -1 -1 2 -1 -1 3 8 3 -1 1 -1 -1 -1
"""
SACCT = """JobID|User|Account|Partition|Submit|Start|End|Elapsed|AllocTRES|ReqTRES|NNodes|State|\
Timelimit
1|ann|vision|gpu|2026-01-05T10:00:00|2026-01-05T10:05:00|2026-01-05T11:05:00|01:00:00|\
billing=32,cpu=32,gres/gpu:a100=16,gres/gpu=16,mem=256G,node=2|\
cpu=32,gres/gpu:a100=16|2|COMPLETED|1-00:00:00
1.batch||vision||2026-01-05T10:05:00|2026-01-05T10:05:00|2026-01-05T11:05:00|01:00:00|\
cpu=32,gres/gpu=16||2|COMPLETED|
2|bob|speech|gpu|2026-01-05T10:10:00|2026-01-05T10:10:00|Unknown|1-02:03:04|\
cpu=4,gres/gpu:v100=2,mem=4000M|cpu=4,gres/gpu=2|1|RUNNING|UNLIMITED
3|bob|speech|cpu|2026-01-05T10:20:00|2026-01-05T10:20:00|2026-01-05T10:21:00|00:01:00|\
cpu=256,mem=8G,node=2||2|FAILED|00:30:00
4|bob||gpu|2026-01-05T10:30:00|Unknown|Unknown|00:00:00||cpu=4,gres/gpu=2|1|PENDING|01:00:00
"""


def read(tmp_path: Path, text: str, name: str = "trace.csv", **options: object) -> Workload:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return traces.read(tmp_path / name, **options)  # type: ignore[arg-type]


def rows(workload: Workload) -> list[Job]:
    return [workload.jobs.job(row) for row in range(len(workload.jobs))]


def test_philly_has_a_queue_for_each_virtual_cluster(tmp_path: Path) -> None:
    workload = read(tmp_path, PHILLY)
    first, second, third = rows(workload)
    assert (first.arrival_s, first.duration_s, first.pods, first.gpus) == (0, 30.5, 2, 8)
    assert (second.queue, second.arrival_s, second.gpus) == ("speech", 10, 1)
    assert (third.pods, third.gpus, third.min_pods) == (2, 6, 2)
    assert workload.queues == (
        Queue("philly", deserved_gpus=440),
        Queue("speech", parent="philly", deserved_gpus=220),
        Queue("vision", parent="philly", deserved_gpus=220),
    )
    assert workload.nodes == (NodePool("philly", 55, gpus=8),)
    assert workload.start == "2017-10-09T07:00:00"
    assert "55 nodes of 8 GPUs" in workload.source
    assert workload.problems == ()


def test_an_itp_cluster_is_sized_for_its_demand(tmp_path: Path) -> None:
    # 128,000 GPU-seconds in 2,000 s: 64 GPUs, 85 % of 75.3, which are 9.4 nodes.
    text = ITP.split("\n")[0] + "\na,100,1000,64\nb,2100,1000,64\n"
    workload = read(tmp_path, text, "cluster07.csv")
    assert workload.nodes == (NodePool("node", 9, gpus=8),)
    assert (workload.name, workload.start) == ("cluster07", "2021-03-04T00:01:40")
    assert [job.name for job in rows(workload)] == ["a", "b"]


def test_a_listing_that_is_shorter_than_its_jobs_gets_no_more_gpus_than_they_request(
    tmp_path: Path,
) -> None:
    two_jobs = "1 0 10 3600 4 -1 -1 4 7200 -1 1 1 1 1 1 1 -1 -1\n"
    two_jobs += "2 60 10 36000 8 -1 -1 8 72000 -1 1 2 1 1 1 1 -1 -1\n"
    workload = read(tmp_path, two_jobs, "two.swf")
    # 302,400 GPU-seconds in 36,060 s: 8.4 GPUs, 85 % of 9.9, which are 1.2 nodes.
    assert workload.gpus == 8
    assert "the mean demand until the last job ends" in workload.source
    head = "JobID|Submit|ElapsedRaw|AllocTRES\n"
    row = "|2024-10-01T08:00:0{0}|7200|cpu=8,gres/gpu=1\n"
    two = head + "".join(f"{each}{row.format(each)}" for each in (1, 2))
    assert read(tmp_path, two).gpus == 8
    # 5 jobs of 8 GPUs that run for ten days each: never more than the 40 that they request.
    many = head + "".join(
        f"{each}|2024-10-01T08:00:0{each}|864000|cpu=8,gres/gpu=8\n" for each in range(5)
    )
    assert read(tmp_path, many).gpus == 40
    at_once = ITP.split("\n")[0] + "\na,0,1000,4\nb,0,1000,8\nc,0,1000,8\n"
    assert read(tmp_path, at_once).gpus == 16


def test_the_largest_job_fits_a_cluster_that_is_sized(tmp_path: Path) -> None:
    text = "job_id,submission_time,duration,num_gpu\na,0,1,64\nb,1000000,1,1\n"
    assert read(tmp_path, text).gpus == 64


def test_a_folder_of_itp_clusters_is_one_cluster_with_a_queue_for_each(tmp_path: Path) -> None:
    (tmp_path / "east.csv").write_text(ITP)
    (tmp_path / "west.csv").write_text(ITP.replace("a,", "c,").replace("b,", "d,"))
    workload = traces.read(tmp_path)
    assert [(pool.name, pool.count) for pool in workload.nodes] == [("east", 1), ("west", 1)]
    assert {each.name: each.deserved_gpus for each in workload.queues} == {
        "itp": 16,
        "east": 8,
        "west": 8,
    }
    assert sorted((job.name, job.queue) for job in rows(workload)) == [
        *(("a", "east"), ("b", "east"), ("c", "west"), ("d", "west"))
    ]
    assert [each.name for each in traces.read_all(tmp_path)] == ["east", "west"]


def test_muri_times_are_in_milliseconds(tmp_path: Path) -> None:
    workload = read(tmp_path, MURI)
    first, second = rows(workload)
    assert (first.arrival_s, first.duration_s, second.arrival_s) == (0, 90, 2.5)
    assert (first.application, second.application) == ("resnet18 (batch size 128)", "dqn")
    assert workload.gpus == 64


def test_tiresias_runs_on_nodes_of_four(tmp_path: Path) -> None:
    workload = read(tmp_path, TIRESIAS)
    assert [(job.pods, job.gpus) for job in rows(workload)] == [(1, 1), (2, 4)]
    assert workload.gpus == 16


def test_openb_pods_have_parts_of_gpus_models_and_cores(tmp_path: Path) -> None:
    (tmp_path / "openb_node_list_all_node.csv").write_text(OPENB_NODES)
    workload = read(tmp_path, OPENB, "openb_pod_list_default.csv")
    jobs = rows(workload)
    assert [job.gpus for job in jobs] == [1, 0.46, 0, 8]
    assert [job.models for job in jobs] == [(), ("A10", "T4"), (), ("G2",)]
    assert [job.cpu for job in jobs] == [12, 0.5, 4, 4]
    assert [job.memory_mib for job in jobs] == [16384, 1024, 8192, 8192]
    assert [job.arrival_s for job in jobs] == [0, 20, 30, 40]
    assert [job.duration_s for job in jobs] == [90, 95, 50, 90]  # p2 was never scheduled
    assert workload.nodes[0] == NodePool("n0", gpus=8, cpu=96, memory_mib=393216, model="G2")
    assert (workload.gpus, len(workload.nodes)) == (8, 2)
    assert traces.read(tmp_path).jobs.name == workload.jobs.name


def test_an_openb_list_without_times_fills_the_cluster(tmp_path: Path) -> None:
    text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,500\nb,1,1,2,1000\n"
    first, second = rows(read(tmp_path, text, nodes=[NodePool("n")]))
    assert (first.arrival_s, second.arrival_s) == (0, 1)
    assert first.arrival_s + first.duration_s == second.arrival_s + second.duration_s == 86_401


def test_an_openb_list_needs_its_nodes(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidInputError, match=r"openb_node_list_all_node\.csv is not in the same directory"
    ):
        read(tmp_path, OPENB)
    (tmp_path / "nodes.csv").write_text(OPENB_NODES)
    assert read(tmp_path, OPENB, nodes=tmp_path / "nodes.csv").gpus == 8


def test_swf_processors_are_gpus(tmp_path: Path) -> None:
    workload = read(tmp_path, SWF, "log.swf")
    first, second = rows(workload)
    assert (first.name, first.gpus, first.estimate_s, first.user) == ("job-1", 4, 200, "user-7")
    assert (second.pods, second.gpus, second.estimate_s) == (2, 4, None)  # allocated, not requested
    assert workload.nodes == (NodePool("node", 4, gpus=4),)
    assert workload.start == "2001-09-09T01:46:40"
    assert workload.problems == (
        "log.swf: 1 row is left out; it is line 10: status '3' is that of a part of a job",
        "log.swf: 1 row is left out; it is line 8: run_time '-1' is less than 0",
        "log.swf: 1 row is left out; it is line 9: processors '-1' and processors_asked have "
        "no number",
    )


def test_swf_processors_may_be_cores(tmp_path: Path) -> None:
    workload = read(tmp_path, SWF, processors="cores", queues_by="user")
    first, second = rows(workload)
    assert (first.gpus, first.pods, first.cpu) == (0, 1, 4)
    assert (second.gpus, second.pods, second.cpu) == (0, 2, 4)
    assert workload.nodes == (NodePool("node", 4, gpus=0, cpu=4),)
    assert (first.queue, second.queue) == ("user-7", "user-8")


def test_swf_nodes_hold_all_processors_where_they_do_not_divide(tmp_path: Path) -> None:
    text = SWF.replace("MaxNodes: 4", "MaxNodes: 5").replace("MaxProcs: 16", "MaxProcs: 20")
    assert read(tmp_path, text.replace("MaxNodes: 5", "MaxNodes: 3")).nodes == (
        NodePool("node", 2, gpus=8),
        NodePool("rest", 1, gpus=4),
    )
    assert read(tmp_path, text).nodes == (NodePool("node", 5, gpus=4),)


def test_sacct_jobs_without_their_steps(tmp_path: Path) -> None:
    workload = read(tmp_path, SACCT, "sacct.txt")
    first, second, third = rows(workload)
    assert (first.name, first.queue, first.user) == ("1", "vision", "ann")
    assert (first.pods, first.gpus, first.cpu, first.memory_mib) == (2, 8, 16, 128 * 1024)
    assert (first.duration_s, first.estimate_s, first.models) == (3600, 86_400, ())
    assert (second.arrival_s, second.duration_s) == (600, 93_784)
    assert (second.gpus, second.estimate_s) == (2, None)
    assert (third.gpus, third.pods, third.cpu, third.estimate_s) == (0, 2, 128, 1800)
    assert [each.name for each in workload.queues] == ["sacct", "speech", "vision"]
    assert workload.start == "2026-01-05T10:00:00"
    assert workload.problems == (
        "sacct.txt: 1 row is left out; it is line 6: Start 'Unknown' shows that the job never ran",
    )
    assert "still runs" in workload.source


def test_a_sacct_job_keeps_its_requested_model_if_nodes_have_it(tmp_path: Path) -> None:
    pools = [NodePool("a", 2, model="A100"), NodePool("v", 1, model="V100")]
    jobs = rows(read(tmp_path, SACCT, nodes=pools, queues_by="one"))
    assert [job.models for job in jobs] == [("A100",), (), ()]
    assert {job.queue for job in jobs} == {"sacct"}


def test_sacct_as_parsable_ends_lines_with_a_bar(tmp_path: Path) -> None:
    text = "JobID|Submit|ElapsedRaw|ReqTRES|\n7|2026-01-05T10:00:00|60|cpu=1,gres/gpu=1|\n"
    assert rows(read(tmp_path, text))[0].duration_s == 60


@pytest.mark.parametrize("separator", ["\t", ";", ","])
def test_sacct_columns_may_have_another_separator(tmp_path: Path, separator: str) -> None:
    # A comma separates columns only where the resources of a job have another separator.
    text = SACCT.replace(",", ";") if separator == "," else SACCT
    workload = read(tmp_path, text.replace("|", separator), "sacct.txt")
    known = read(tmp_path, SACCT, "sacct.txt")
    assert rows(workload) == rows(known)
    assert workload.problems == known.problems


def test_sacct_times_may_be_seconds_since_1970(tmp_path: Path) -> None:
    text = "JobID|Submit|Start|End|AllocTRES\n1|1727769600|1727769660|1727776860|cpu=8,gres/gpu=1\n"
    workload = read(tmp_path, text)
    assert (rows(workload)[0].duration_s, workload.start) == (7200, "2024-10-01T08:00:00")


@pytest.mark.parametrize(
    ("tres", "gpus"),
    [
        ("gres/gpu:a100_3g.20gb=1,gres/gpu=1", 3 / 7),
        ("gres/gpu:a100_3g.20gb=1", 3 / 7),
        ("gres/gpu:1g.10gb=2,gres/gpu=2", 2 / 7),
        ("gres/gpu:nvidia_h100_7g.80gb=1,gres/gpu=1", 1),
        ("gres/gpu:a30_2g.12gb=1", 0.5),
        ("gres/gpu:a100_3g.20gb=3,gres/gpu=3", 2),
        ("gres/gpu:a100=1,gres/gpu:a100_3g.20gb=1,gres/gpu=2", 2),
        ("gres/gpu:a100_80gb=2,gres/gpu=2", 2),
    ],
)
def test_a_mig_slice_of_slurm_is_a_part_of_a_gpu(tmp_path: Path, tres: str, gpus: float) -> None:
    text = f"JobID|Submit|ElapsedRaw|AllocTRES\n7|2026-01-05T10:00:00|60|cpu=1,{tres}\n"
    workload = read(tmp_path, text)
    job = rows(workload)[0]
    assert job.gpus * job.pods == pytest.approx(gpus)
    assert ("MIG slices, which count as parts" in workload.source) == ("g." in tres)


TABLE = """id;when;ran;milli;hosts;team
a;2026-01-05 10:00:00+01:00;01:00:00;16000;2;vision
b;2026-01-05 11:00:00+01:00;1-00:00:00;500;1;speech
c;2026-01-05 12:00:00+01:00;00:01:00;1500;1;speech
"""
MAPPING = {"name": "id", "arrival": "when", "duration": "ran", "gpus": "milli/1000"}


def test_the_columns_of_any_table_can_be_named(tmp_path: Path) -> None:
    columns = {**MAPPING, "pods": "hosts", "queue": "team"}
    workload = read(tmp_path, TABLE, columns=columns)
    first, second = rows(workload)
    assert (first.name, first.pods, first.gpus, first.duration_s) == ("a", 2, 8, 3600)
    assert (second.arrival_s, second.gpus, second.duration_s) == (3600, 0.5, 86_400)
    assert second.queue == "speech"
    assert workload.start == "2026-01-05T09:00:00"
    assert workload.problems == (
        "trace.csv: 1 row is left out; it is line 4: milli '1500' is neither a whole number of"
        " GPUs nor a part of one",
    )


def test_a_table_with_starts_and_ends_in_seconds(tmp_path: Path) -> None:
    text = "submitted,began,ended,devices\n0,10,70,1\n5,20,15,1\n"
    columns = {"arrival": "submitted", "start": "began", "end": "ended", "gpus": "devices*2"}
    workload = read(tmp_path, text, columns=columns)
    [job] = rows(workload)
    assert (job.name, job.gpus, job.duration_s) == ("job-1", 2, 60)
    assert "ended '15' is before the start" in workload.problems[0]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"arival": "when"}, "jobs have no 'arival'; did you mean 'arrival'?"),
        ({"arrival": "when"}, "gpus is missing: write gpus=COLUMN"),
        ({"arrival": "when", "gpus": "milli"}, "write duration=COLUMN, or start=COLUMN"),
        ({**MAPPING, "name": "idd"}, "there is no column 'idd'; did you mean 'id'?"),
        ({**MAPPING, "gpus": "milli/0"}, "has the factor 0"),
        ("arrival", "columns is a mapping of texts"),
    ],
)
def test_a_mapping_that_fits_no_table_raises_one_sentence(
    tmp_path: Path, columns: object, message: str
) -> None:
    with pytest.raises(InvalidInputError) as error:
        read(tmp_path, TABLE, columns=columns)
    assert message in str(error.value)


@pytest.mark.parametrize(("format", "queue"), [("helios", "vc1"), ("acme", "Pretrain")])
def test_helios_and_acme_are_known(tmp_path: Path, format: str, queue: str) -> None:
    column = {"helios": "vc", "acme": "type"}[format]
    text = f"job_id,user,{column},gpu_num,cpu_num,node_num,state,submit_time,duration\n"
    text += f"7,u1,{queue},16,32,2,COMPLETED,2020-04-01 00:00:24,579.0\n"
    workload = read(tmp_path, text)
    [job] = rows(workload)
    assert (workload.name, job.queue, job.pods, job.gpus) == (format, queue, 2, 8)
    assert (job.cpu, job.user, job.duration_s) == (16, "u1", 579)


def test_a_sacct_job_that_ran_twice_is_two_jobs(tmp_path: Path) -> None:
    text = (
        "JobID|Submit|Start|End|AllocGRES|AllocCPUS\n"
        "7|2026-01-05T10:00:00|2026-01-05T10:00:00|2026-01-05T10:01:00|gpu:2|8\n"
        "7|2026-01-05T10:02:00|2026-01-05T10:02:00|2026-01-05T10:04:00|gpu:2|8\n"
    )
    jobs = rows(read(tmp_path, text))
    assert [(job.name, job.duration_s, job.gpus) for job in jobs] == [("7", 60, 2), ("7-2", 120, 2)]


def test_missing_sacct_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="needs a column Elapsed, ElapsedRaw, or Start"):
        read(tmp_path, "JobID|Submit|ReqTRES\n7|2026-01-05T10:00:00|cpu=1\n")
    with pytest.raises(InvalidInputError, match="needs a column AllocTRES, ReqTRES"):
        read(tmp_path, "JobID|Submit|Elapsed\n7|2026-01-05T10:00:00|00:01:00\n")


def test_invalid_rows_are_counted_with_the_first_of_each_reason(tmp_path: Path) -> None:
    bad = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:00:10,60.0,1,60.0,a
2017-10-09 07:00:11,soon,1,60.0,a
2017-10-09 07:00:12,-3,1,60.0,a
yesterday,60.0,1,60.0,a
2017-10-09 07:00:13,60.0,1.5,60.0,a
2017-10-09 07:00:14,,1,60.0,a
2017-10-09 07:00:15,60.0,1
2017-10-09 07:00:16,60.0,99999999,60.0,a
2017-10-09 07:00:17,60.0,1,60.0,
"""
    workload = read(tmp_path, bad)
    assert len(workload.jobs) == 1
    start = "trace.csv: 1 row is left out; it is line"
    assert workload.problems == (
        f"{start} 8: has 3 columns instead of 5",
        f"{start} 5: timestamp 'yesterday' is not a date with a time",
        "trace.csv: 2 rows are left out; the first is line 3: duration 'soon' is not a number",
        f"{start} 4: duration '-3' is less than 0",
        f"{start} 9: num_gpus '99999999' is more than 1,000,000",
        f"{start} 6: num_gpus '1.5' is not a whole number",
        f"{start} 10: cluster '' is empty",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "trace.csv: is empty"),
        (PHILLY.split("\n")[0] + "\n", "trace.csv: has no rows"),
        (ITP.replace("duration", "length"), "trace.csv: there is no column 'duration'"),
        ("job_id,submission_time,duration,num_gpu\na,x,1,1\n", "1 row is left out; it is line 2"),
        ("a,b,c\n1,2,3\n", "its columns match no known format"),
        (OPENB_NODES, "is a list of nodes; name a list of pods"),
        ("; MaxProcs: 4\n", "has no jobs"),
        ('job_id,submission_time,duration,num_gpu\n"' + "x" * 200_000, "line 2: field larger"),
        ("job_id,job_id,submission_time,num_gpu\n", "two columns are named 'job_id'"),
        ("\0\0", "is in no known format: kai reads philly, itp"),
        ("jobs: [", "trace.csv:1: not valid YAML"),
        ("a\tb\tc\n1\t2\t3\n", "its columns match no known format"),
        ("[{}]", "is a JSON list, and kai reads philly, itp"),
        ("hello\n", "is in no known format: kai reads"),
        ("ERROR: disk: full\n  at: line: 5\n", "is in no known format: kai reads"),
        ("JobId=811 JobName=train\n   UserId=u1(1001) GroupId=g\n", "is in no known format"),
        ("- a\n- b\n", "is in no known format: kai reads"),
        ("name_of_it: 1\nother: 2\n", "is in no known format: kai reads"),
        ("jbos: {}\n", "a workload has no key 'jbos'; did you mean 'jobs'?"),
        ('{"kind": "List", "apiVersion": "v1", "items": []}', "is a file of Kubernetes objects"),
        ("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n", "kai simulate --remaining 8h"),
        ("kind: Job\napiVersion: batch/v1\n---\nkind: Queue\n", "a file of Kubernetes objects"),
        ('{"jobs": [{"job_id": 1}], "meta": {}}', "looks like the output of sacct --json"),
        ("   JobID   User\n------- ------\n  1   ann\n", "looks like the output of sacct without"),
        ("1_[2-9%4]|ann|2026-01-05T10:00:00\n", "sacct without its header"),
        (" JOBID PARTITION NAME\n 1 gpu train\n", "looks like the output of squeue"),
        (
            "JobID,Submit,ElapsedRaw,AllocTRES\n1,2026-01-05T10:00:00,60,cpu=1,gres/gpu=1\n",
            "commas separate its columns, and the resources within a column as well",
        ),
    ],
)
def test_an_invalid_file_raises_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        read(tmp_path, text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_cluster_of_a_workload_is_no_file_of_manifests(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n")
    with pytest.raises(InvalidInputError, match="write nodes and queues as in a workload file"):
        traces.read_cluster(file)


def test_a_missing_file_raises_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"^absent\.csv: no such file or directory$"):
        traces.read(tmp_path / "absent.csv")
    for folder in (tmp_path / "absent", tmp_path):
        with pytest.raises(InvalidInputError):
            traces.read_all(folder)
    with pytest.raises(InvalidInputError, match="is a folder without"):
        traces.read(tmp_path)
    (tmp_path / "short.gz").write_bytes(gzip.compress(SWF.encode())[:-9])
    with pytest.raises(InvalidInputError, match=r"^short\.gz: is not a complete gzip file$"):
        traces.read(tmp_path / "short.gz")


def test_a_compressed_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "log.swf.gz").write_bytes(gzip.compress(SWF.encode()))
    assert len(traces.read(tmp_path / "log.swf.gz").jobs) == 2


def test_a_format_can_be_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="did you mean 'philly'"):
        read(tmp_path, PHILLY, format="phily")
    with pytest.raises(InvalidInputError, match="no column 'job_id'"):
        read(tmp_path, PHILLY, format="itp")
    with pytest.raises(InvalidInputError, match="queues_by is for formats swf and sacct"):
        read(tmp_path, PHILLY, queues_by="user")
    with pytest.raises(InvalidInputError, match="processors is for format swf"):
        read(tmp_path, PHILLY, processors="cores")
    with pytest.raises(InvalidInputError, match="queues_by is 'colour' instead of one of"):
        read(tmp_path, SWF, queues_by="colour")


def test_given_nodes_and_queues_replace_those_of_the_trace(tmp_path: Path) -> None:
    pools = [NodePool("small", 3, gpus=4)]
    workload = read(tmp_path, PHILLY, nodes=pools, queues=[Queue("all", deserved_gpus=12)])
    assert [(job.queue, job.pods, job.gpus) for job in rows(workload)] == [
        *(("all", 4, 4), ("all", 1, 1), ("all", 3, 4))
    ]
    assert (workload.nodes, workload.queues) == (tuple(pools), (Queue("all", deserved_gpus=12),))
    assert "the nodes are given; the queues are given" in workload.source
    with pytest.raises(InvalidInputError, match="queue 'speech', which is not in the given queues"):
        read(tmp_path, PHILLY, queues=[Queue("vision"), Queue("other")])


def test_equal_pods_are_as_large_as_a_node_holds() -> None:
    pods, each = equal_pods(np.array([0, 0.5, 1, 8, 12, 13, 16, 24, 36]), 8)
    assert pods.tolist() == [1, 1, 1, 1, 2, 13, 2, 3, 6]
    assert each.tolist() == [0, 0.5, 1, 8, 6, 1, 8, 8, 6]


def test_parts_of_queues_never_exceed_the_cluster() -> None:
    queues = even_queues(["a", "b", "root"], 8, "root")
    assert [(each.name, each.parent, each.deserved_gpus) for each in queues] == [
        ("all-root", "", 8),
        ("a", "all-root", 2.666),
        ("b", "all-root", 2.666),
        ("root", "all-root", 2.666),
    ]


GAVEL = """{"v100": {"('ResNet-18 (batch size 128)', 1)": {"null": 10.0, "('A3C', 1)": [1, 2]},
"('ResNet-18 (batch size 128)', 2)": {"null": 16.0}},
"v100_unconsolidated": {"('ResNet-18 (batch size 128)', 2)": {"null": 8.0}},
"k80": {"('ResNet-18 (batch size 128)', 1)": {"null": 2.0},
"('ResNet-18 (batch size 128)', 2)": {"null": 4.0}},
"k80_unconsolidated": {"('ResNet-18 (batch size 128)', 2)": {"null": 4.0}}}"""


def test_gavels_throughputs_become_speeds_by_gpu_model(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(GAVEL)
    throughputs = traces.read_throughputs(tmp_path / "t.json")
    name = "resnet18 (batch size 128)"
    assert throughputs.gpu_models == ("k80", "v100")
    assert throughputs.speeds(name, 1) == {"k80": 0.2, "v100": 1}
    assert throughputs.speeds(name, 3) == {"k80": 0.25, "v100": 1}
    assert throughputs.speeds(name, 2, apart=True) == {"k80": 0.5, "v100": 1}
    assert throughputs.speeds(name, 1, reference="k80") == {"k80": 1, "v100": 5}
    assert throughputs.speeds("dqn", 1) == {}
    with pytest.raises(InvalidInputError, match="no throughputs of GPU model 'v10'; did you mean"):
        throughputs.speeds(name, 1, reference="v10")


def test_speeds_are_applied_to_jobs_of_measured_applications(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(GAVEL)
    throughputs = traces.read_throughputs(tmp_path / "t.json")
    workload = read(tmp_path, MURI)
    first, second = rows(throughputs.applied(workload, models={"k80": ["K80-A", "K80-B"]}))
    assert first.speeds == (("K80-A", 0.2), ("K80-B", 0.2), ("v100", 1.0))
    assert second.speeds == ()
    drawn = throughputs.applied(workload, seed=1)
    assert rows(drawn)[1].application == "ResNet-18 (batch size 128)"
    assert rows(drawn)[1].speeds == (("k80", 0.25), ("v100", 1.0))


def test_a_file_without_throughputs_raises_one_sentence(tmp_path: Path) -> None:
    for text, message in (("[1", "not valid JSON"), ("[]", "has no throughputs"), ("{}", "has no")):
        (tmp_path / "t.json").write_text(text)
        with pytest.raises(InvalidInputError, match=rf"^t\.json: {message}"):
            traces.read_throughputs(tmp_path / "t.json")


FILES = {"philly": PHILLY, "itp": ITP, "muri": MURI, "tiresias": TIRESIAS, "swf": SWF}


@pytest.mark.parametrize("kind", [*FILES, "sacct", "openb"])
def test_damaged_files_are_read_or_refused_with_a_sentence(tmp_path: Path, kind: str) -> None:
    text = {**FILES, "sacct": SACCT, "openb": OPENB}[kind].encode()
    pieces = [b",", b"|", b"\n", b'"', b"-", b"9" * 30, b"1e308", b"nan", b"\xff", b"", b"0", b";"]
    for seed in range(100):
        random = np.random.Generator(np.random.PCG64(seed))
        data = text
        for _ in range(random.integers(1, 6)):
            begin = int(random.integers(len(data)))
            end = begin + int(random.integers(0, 4))
            data = data[:begin] + pieces[random.integers(len(pieces))] + data[end:]
        (tmp_path / "damaged").write_bytes(data)
        for named in (None, kind):
            try:
                made = traces.read(tmp_path / "damaged", format=named, nodes=[NodePool("n")])
            except InvalidInputError:
                continue
            assert len(made.jobs) > 0, f"seed {seed}"
            assert np.isfinite(made.jobs.gpu_seconds).all(), f"seed {seed}"

import sys
import threading

from engine.cluster.test_cluster import LONGEST, Cluster, killed, started

ANSWER = "[(0, 998), (0, 999), (1, 999)]"


def test_a_lane_on_a_cluster_answers_over_flight_and_outlives_its_worker_and_its_executor_but_not_its_driver(
    tmp_path,
):
    log = tmp_path / "log"
    with Cluster(tmp_path) as cluster:
        command = [sys.executable, "-m", "engine.resident.on_a_cluster", cluster.master, tmp_path]
        program = started(command, log, SPARK_LOCAL_IP="127.0.0.1")
        limit = threading.Timer(LONGEST, program.kill)
        limit.start()
        try:
            said = [line.strip() for line in program.stdout]
            ended = program.wait()
        finally:
            limit.cancel()
            killed(program)
    assert said == ["True flight", ANSWER, "lost", ANSWER, "lost", ANSWER], log.read_text()[-3000:]
    assert ended == 0

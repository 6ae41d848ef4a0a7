"""What hazards bring, played: over UDP as many messages are missing or come twice as the packets on either
side of the link say, and a transport that sends again brings each once.
"""

from pathlib import Path

from gauntlet.hazards import measured
from gauntlet.hazards.measured import UNCHECKED
from gauntlet.results.reader import Results
from tests.guest.conftest import played_trials

EXPERIMENT = """
experiment = { name = "hazard-both", seed = 7, repetitions = 1 }
scenario = { name = "constant", rate = "2Mbit/s", delay = "20ms" }
link = { loss = "10%", duplicate = "10%" }
record = { sockets = false }

[matrix]
protocols = ["udp", "tcp-cubic"]

[workload]
app = "safety"
kind = "position-report"
interval = "1s"
bound = "500ms"
duration = "60s"
freshness = false
"""


def _packets(results: Path, check: str, key: str) -> int:
    """What the certificate of the run over UDP counted on the link that loses and repeats packets."""
    run = next(run for run in Results.open(results).runs() if run.factors["protocol"] == "udp")
    found = [
        it["measured"][key]
        for it in run.certificate["checks"]
        if it["name"] == check and it["link"] == "mid>east"
    ]
    return int(sum(found))


def test_a_line_that_loses_and_repeats_brings_deletion_and_repetition(tmp_path: Path) -> None:
    played_trials(EXPERIMENT, tmp_path)
    (hazard,) = measured([tmp_path / "results"])
    udp, tcp = hazard.row("udp"), hazard.row("tcp-cubic")
    assert udp is not None
    assert tcp is not None
    lost = _packets(tmp_path / "results", "loss", "lost_packets")
    repeated = _packets(tmp_path / "results", "duplication", "repeated_packets")
    assert lost > 0
    assert repeated > 0
    assert udp.threats["deletion"].became[UNCHECKED] == {"silently dropped": lost}
    assert udp.threats["repetition"].became[UNCHECKED] == {"undetected": repeated}
    assert not any(tcp.threats[threat].count for threat in ("deletion", "repetition", "re-sequencing"))
    assert tcp.unsent == 0

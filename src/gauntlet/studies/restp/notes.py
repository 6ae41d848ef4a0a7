"""What differs from the dissertation, and why we think so: the last section of the study's page."""

NOTES: tuple[tuple[str, str], ...] = (
    (
        "Real stacks on both sides",
        "The dissertation compares a model of ResTP with models of TCP, MPTCP and UDP in one simulator. "
        "Here ResTP is the library that comes with Gauntlet, over UDP unless said, and the others are "
        "Linux's. ResTP with the study's services also has its timers; what today's presets do stands "
        "beside it.",
    ),
    (
        "Timers",
        "The simulator waits 3 s for the answer to a SYN and at least 1 s before it repeats data; Linux "
        "waits 1 s (RFC 6298) and 0.2 s. Whatever a lost SYN costs TCP is a third of what the study "
        "prints, and ResTP with the study's own timers pays the 3 s where its handshake is a three-way "
        "one.",
    ),
    (
        "Why the study's TCP is so slow with short files",
        "On a line of 0.04 ms a loss that is noticed by acknowledgements costs next to nothing and one "
        "that needs a timer costs the whole timer. Linux notices nearly all by SACK (RFC 2018), the order"
        " of sending times (RFC 8985) and a probe of the tail. Without these, and with a least timeout of"
        " 1 s, its 250 kB at 10 % take about six times as long (TCP with the timers and acknowledgements "
        "of a simulator). The printed 40 s are five times more again; that is the simulator's own.",
    ),
    (
        "Where ResTP loses: cumulative acknowledgements",
        "The study's configurations of ResTP report no more than the next packet expected. Of several "
        "losses in a flight they repair one a round trip, and a repetition that is lost again needs a "
        "timer of at least 1 s. Where slow start overruns a long queue by hundreds of packets that "
        "takes a minute and more (Figures A.6 and A.7 at 100 and 300 ms). SACK is what today's presets "
        "have (restp-file) and what Linux has had for two decades. Linux without SACK and with that "
        "timer falls behind in the same way.",
    ),
    (
        "Where ResTP loses: HARQ",
        "Redundancy costs what it takes of the line: on the railway without loss HARQ puts 1.22 bytes "
        "on the wire for each byte of a file and ARQ 1.09, and its throughput is lower in just that "
        "proportion. Between hosts 0.04 ms apart it is 1.49 against 1.08 at 1 % of loss, because an "
        "encoded packet leaves after a quarter of a round trip even if its group is not complete. What "
        "it saves is a round trip per repaired loss; on short round trips that is nothing, and a greedy"
        " sender on a long one has other data to send meanwhile.",
    ),
    (
        "Calls",
        "Partial order keeps what the study found: of the 2 % that the network loses it repairs all but"
        " 0.03 %, with 0.1 % late packets where full order has 0.2 %. What does not hold is the study's"
        " TCP: Linux's loses none and has as few late packets, since it puts packets that wait for the "
        "window into one segment and sends them as soon as the window lets it. The E-model gives both "
        "4.37, and UDP and ResTP without services, which are never late but lose 2 %, 4.20.",
    ),
    (
        "What Fast Open does in Linux",
        "The study's own TCP Fast Open takes data of the server in place of a lost SYN-ACK. Linux drops "
        "them and waits for the repetition of the SYN-ACK; the server, whose whole first flight was lost,"
        " then begins with one segment. At a round trip of 1 s the page takes 13 s longer. ResTP's "
        "opportunistic handshake is built for this loss, since data carry the SYN-ACK as well.",
    ),
    (
        "Linux survives the outages",
        "TCP gives up after about 15 min of silence (tcp_retries2), not within 100 s. Its timer backs "
        "off, though: it comes back 2 to 50 s after the end of an outage, by where its next repetition "
        "happens to fall. ResTP's probes find the link within 2 s.",
    ),
    (
        "What the runs found in ResTP",
        "ResTP held the pace of the moment at which an outage ended for as long as the sender had data,"
        " and repeated lost packets in the order in which they had been found lost, not the oldest "
        "first. The first packet of a flight that was found lost waited until the halved window had "
        "room, half a round trip; where only cumulative acknowledgements come the timer struck first, "
        "and the window fell to two packets whenever a queue overflowed. With that, five times as many "
        "packets of a call were late. The mode that finds the cause of losses out did not follow its "
        "specification, and took every outage behind a queue for congestion. All four were defects of "
        "ours, found by these runs and mended; the numbers are those of afterwards.",
    ),
    (
        "Finding out why packets are lost",
        "With outages on the line, alone on it, the mode that finds out delivers as much as the one "
        "that is told of outages (1.50 Mbit/s; 1.04 where every loss is congestion), and with outages "
        "and 2 % of damaged packets more than either (1.35, 1.30 and 1.11). It takes a second silent "
        "timeout for an outage and goes back to the window of before the first. Damaged payloads behind"
        " intact headers tell of corruption only over raw IP: UDP's checksum drops them before ResTP "
        "sees them. Beside a TCP flow the mode yields as plain congestion control does; a sender that "
        "says it owns the path takes twice as much, and TCP pays for it.",
    ),
)

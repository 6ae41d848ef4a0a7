"""What differs from D3.4, and why we think so: the last section of the study's page."""

NOTES: tuple[tuple[str, str], ...] = (
    (
        "Ten stretches are few",
        "Capacity differs so much from stretch to stretch that the mean of ten download times is known to "
        "about 40 % only, here as in D3.4. Comparisons are sharp, since all protocols ride the same "
        "stretches; claims about absolute times are often undecided, although most means lie where D3.4 "
        "printed them.",
    ),
    (
        "What SCTP owes to its buffers",
        "D3.4 explains SCTP's low delay, and its low throughput at 150 ms without loss, by its congestion "
        "control. Linux gives an SCTP socket 212,992 bytes for sending and as much for receiving and does "
        "not enlarge them; TCP's grow to megabytes. A greedy source waits in the sending buffer, so the "
        "smaller one has the shorter delay. With 2 MiB on both sides SCTP's median delay grows twentyfold; "
        "its throughput at 150 ms rises on some stretches and falls on others (sctp-buffers-hsr). Under "
        "loss the verdict on SCTP is one on its congestion control.",
    ),
    (
        "Table 8",
        "D3.4's formula leaves headers out, and DR of its second row is 0.95 where its own first step gives "
        "1.05 Mbit/s. With headers counted the formula meets the measurement to within one packet in all "
        "three rows.",
    ),
    (
        "Rates",
        "D3.4 scales radio rates to the IP layer by a factor that it does not print. Seven of its rates "
        "agree with 72 carriers of 12 symbols a millisecond (ip_scale = 0.7912), which makes 4.15 Mbit/s "
        "the highest IP rate; greedy UDP sends at that, not at 5.2 Mbit/s, and so loses less than in D3.4.",
    ),
    (
        "The slow on-off source",
        "D3.4 prints 200 bytes each 50 ms, which is 32 kbit/s, and calls it 80 kbit/s; its figures show 80 "
        "kbit/s. 50 packets a second fit both. 80 kbit/s is the rate while the source is on; over time it "
        "is 40 % of that.",
    ),
    (
        "Coexistence: two throughputs that do not add up",
        "D3.4 prints 1.6 to 1.8 Mbit/s for BBR and as much for CUBIC beside it: together more than the 2.5 "
        "Mbit/s that one flow alone gets. Each is counted over its own flow's time, so whoever is done last "
        "has had the line to itself for a while, and means of throughputs over unlike stretches exceed size "
        "over mean time. The size of the files is not printed and is worked out from both "
        "(docs/studies/d34.md).",
    ),
    (
        "Kernel and protocols of today",
        "Linux 6.12 has BBR version 1, as in 2022, and SCTP's congestion control and default buffers as "
        "then. Its timers run at the rate that the manifest's kernel was built with. The traffic generator "
        "is Gauntlet's own: each message is stamped when the socket takes it, so time spent in a sending "
        "application that is held back does not count as delay.",
    ),
    (
        "Reconstructed",
        "Figures of D3.4 are known from its text only. Area types, positions of eNBs and access points, "
        "accelerations and stops are derived by stated rules and meet the values that it prints "
        "(docs/scenario-data.md).",
    ),
)

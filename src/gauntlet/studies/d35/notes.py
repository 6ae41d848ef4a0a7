"""What differs from D3.5, and why we think so: the last section of the study's page."""

NOTES: tuple[tuple[str, str], ...] = (
    (
        "QUIC libraries",
        "LSQUIC, the study's second QUIC library, is in no package registry. It chooses between CUBIC and "
        "BBR by itself; quinn and s2n-quic with CUBIC and with BBR stand in its place, and a claim about "
        "LSQUIC names the one by which it is decided. aioquic is the study's, in today's version.",
    ),
    (
        "Twenty stretches are few",
        "Capacity differs so much from stretch to stretch that the mean of twenty throughputs is known to "
        "about 20 % only. Comparisons are sharp, since all transports ride the same stretches.",
    ),
    (
        "The first flight",
        "How much a transport may send before the first acknowledgement decides on messages of 10 kB: TCP "
        "14 kB, QUIC with CUBIC or NewReno 12 kB less what probes of the path's MTU take, SCTP 4.4 kB, "
        "quinn's BBR 240 kB. The bimodal delays that D3.5 saw with LSQUIC at 150 ms are of this size: one "
        "round trip more or not.",
    ),
    (
        "QUIC at a low delay",
        "At 25 ms QUIC saves one round trip of a set-up, 50 ms of a transfer of five seconds, and pays 3 % "
        "more for headers. D3.5 saw it ahead; here it is level or slightly behind, and ahead at 150 ms.",
    ),
    (
        "Losses during set-up",
        "The first packet of a connection is repeated after 1 s (TCP, QUIC) or 3 s (SCTP). Under loss the "
        "mean delay of messages over fresh connections is made of these; medians hardly move.",
    ),
    (
        "Pages are round trips",
        "A page over a new session for each file takes what its round trips take: D3.5's times are met to a "
        "few per cent with and without TLS, over TCP, SCTP and QUIC, with files whose number was worked out "
        "from two of them. Under loss our pages suffer more, for it strikes both directions: a lost SYN "
        "costs a second, and a page has 66 or 139 of them. With loss from the trackside alone they take what "
        "D3.5 has.",
    ),
    (
        "When FTP's clock starts",
        "D3.5 does not say so, but its shortest times by FTP and FTPS are below what a whole session needs "
        "in round trips, and just what is needed from the log-in on; ours count from there too.",
    ),
)

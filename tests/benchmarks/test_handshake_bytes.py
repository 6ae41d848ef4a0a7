"""What the bytes of a session over QUIC are, from lines as tshark tells them."""

from handshake_bytes import PORT, counted


def test_padding_probes_and_what_could_not_be_read_are_told_apart() -> None:
    lines = [
        # A first flight: a ClientHello and padding, in two packets of one datagram.
        f"{PORT}\t1208\t900,40\t6,0,1,0",
        # A probe for the path's size: PING, IMMEDIATE_ACK and padding.
        f"{PORT}\t1460\t1400\t1,31,0",
        # An answer of the server, and a datagram whose keys nobody has.
        "51000\t1008\t\t2,8",
        "51000\t108\t\t",
    ]
    assert dict(counted(lines)) == {
        ("server", "datagrams"): 2,
        ("server", "bytes"): 1200 + 1452,
        ("server", "padding"): 940 + 1400,
        ("server", "unread"): 0,
        ("server", "probes"): 1,
        ("server", "bytes of probes"): 1452,
        ("server", "padding of probes"): 1400,
        ("client", "datagrams"): 2,
        ("client", "bytes"): 1000 + 100,
        ("client", "padding"): 0,
        ("client", "unread"): 1,
        ("client", "probes"): 0,
        ("client", "bytes of probes"): 0,
        ("client", "padding of probes"): 0,
    }

"""Kernel settings of an ordinary host, so that results do not depend on how little memory the guest has.

Linux computes these limits from the machine's memory at boot. The guest is small; its own values would choke
the protocols. So every run sets the values that a mainstream distribution (Debian 13, Ubuntu 24.04; neither
changes them) has on x86-64 with 8 GiB of memory. Experiments override single ones in their [sysctl] section.

Sources: Linux 6.12, net/ipv4/tcp.c tcp_init and tcp_init_mem; net/ipv4/udp.c udp_init; net/sctp/protocol.c
sctp_init; include/net/sock.h SK_WMEM_MAX and SK_RMEM_MAX; documented in
Documentation/networking/ip-sysctl.rst.
"""

from collections.abc import Mapping
from types import MappingProxyType

STOCK_SYSCTLS: Mapping[str, str] = MappingProxyType(
    {
        # Bytes that setsockopt may ask for, and what a UDP or SCTP socket starts with: 256 packets of 256
        # bytes with their bookkeeping, 832 bytes each.
        "net.core.rmem_default": "212992",
        "net.core.rmem_max": "212992",
        "net.core.wmem_default": "212992",
        "net.core.wmem_max": "212992",
        # Bytes: minimum, start, limit of automatic tuning. The limits are capped at 6 MiB and 4 MiB.
        "net.ipv4.tcp_rmem": "4096 131072 6291456",
        "net.ipv4.tcp_wmem": "4096 16384 4194304",
        # Pages of 4 KiB for all sockets together: 3/4, 4/4 and 6/4 of a sixteenth (TCP) or an eighth (UDP,
        # SCTP) of 2,000,000 free pages.
        "net.ipv4.tcp_mem": "93750 125000 187500",
        "net.ipv4.udp_mem": "187500 250000 375000",
        "net.ipv4.udp_rmem_min": "4096",
        "net.ipv4.udp_wmem_min": "4096",
        "net.sctp.sctp_mem": "187500 250000 375000",
        # 865500 is 1,500 packets of one byte with their bookkeeping.
        "net.sctp.sctp_rmem": "4096 865500 4194304",
        "net.sctp.sctp_wmem": "4096 16384 4194304",
    }
)
"""Every setting that each run starts with, by its dotted name."""

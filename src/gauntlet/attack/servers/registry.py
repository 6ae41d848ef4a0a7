"""The servers that there are, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from gauntlet.attack.servers.aioquic import AIOQUIC
from gauntlet.attack.servers.caddy import CADDY
from gauntlet.attack.servers.contract import Server
from gauntlet.attack.servers.nginx import NGINX
from gauntlet.attack.servers.own import OWN, S2N_QUIC
from gauntlet.attack.servers.quiche import QUICHE, QUICHE_OLD

SERVERS: Mapping[str, Server] = MappingProxyType(
    {it.key: it for it in (OWN, S2N_QUIC, NGINX, CADDY, AIOQUIC, QUICHE, QUICHE_OLD)}
)

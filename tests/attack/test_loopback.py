"""Addresses outside of loopback are refused, and nothing changes that."""

import socket

import pytest

from gauntlet.attack.loopback import Address, address, free
from gauntlet.errors import UserError


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("127.0.0.1:4433", "127.0.0.1", 4433), ("127.9.8.7:1", "127.9.8.7", 1), ("[::1]:65535", "::1", 65535)],
)
def test_loopback_is_taken(text: str, host: str, port: int) -> None:
    assert address(text) == Address(host, port)
    assert str(address(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "192.0.2.1:443", "10.0.0.1:443", "128.0.0.1:443", "126.255.255.255:443", "0.0.0.0:443", "[::]:443",
        "[2001:db8::1]:443", "[::ffff:192.0.2.1]:443", "169.254.0.1:443",
    ],
)  # fmt: skip
def test_other_addresses_are_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"is not on this machine's loopback"):
        address(text)


@pytest.mark.parametrize("text", ["[::ffff:127.0.0.1]:443", "[::ffff:7f09:807]:443"])
def test_an_ipv4_address_inside_an_ipv6_one_is_refused_by_every_version_of_python(text: str) -> None:
    with pytest.raises(UserError, match=r"inside an IPv6 one, which the attacker refuses; write 127\.\d"):
        address(text)


@pytest.mark.parametrize("text", ["localhost:443", "example.org:443"])
def test_names_are_refused_since_they_are_looked_up_elsewhere(text: str) -> None:
    with pytest.raises(UserError, match="is no address in numbers"):
        address(text)


@pytest.mark.parametrize("text", ["127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:x"])
def test_a_port_has_to_be_there(text: str) -> None:
    with pytest.raises(UserError, match="is no address with a port"):
        address(text)


def test_a_free_port_is_free_for_both_protocols() -> None:
    found = free()
    with (
        socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
    ):
        tcp.bind((found.host, found.port))
        udp.bind((found.host, found.port))

"""How people reach a server, as far as it can be known."""

import pytest

from infonn.live import addresses
from infonn.live.addresses import HERE_ONLY, OWN_NETWORK, machine_addresses, public_url


@pytest.fixture
def in_a_network(monkeypatch) -> None:
    monkeypatch.setattr(addresses, "machine_addresses", lambda: ["10.1.2.3", "172.16.0.9"])


@pytest.mark.parametrize(
    "said, host, told",
    [
        ("https://study.example/", "127.0.0.1", ("https://study.example", None)),
        ("", "127.0.0.1", ("http://127.0.0.1:8123", HERE_ONLY)),
        ("", "::1", ("http://[::1]:8123", HERE_ONLY)),
        ("", "0.0.0.0", ("http://10.1.2.3:8123", OWN_NETWORK)),
        ("", "::", ("http://10.1.2.3:8123", OWN_NETWORK)),
        ("", "lab.local", ("http://lab.local:8123", OWN_NETWORK)),
    ],
)
def test_links_begin_as_people_reach_the_server(in_a_network, said, host, told) -> None:
    assert public_url(said, host, 8123) == told


def test_a_machine_without_a_network_says_so(monkeypatch) -> None:
    monkeypatch.setattr(addresses, "machine_addresses", list)
    assert public_url("", "0.0.0.0", 8123) == ("http://127.0.0.1:8123", HERE_ONLY)


def test_a_machines_addresses_are_none_of_its_own_alone() -> None:
    assert not [address for address in machine_addresses() if address.startswith("127.")]

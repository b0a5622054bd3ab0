"""What is an endpoint, and what of an answer is believed."""

from __future__ import annotations

import pytest

from console.errors import UsageError
from console.probe.client import Client, endpoint_of
from tests.agent.generate_server import plain
from tests.unit.probe.url_server import serve_url


@pytest.mark.parametrize(
    ("given", "url", "host"),
    [
        ("http://gpu-1:8000", "http://gpu-1:8000", "gpu-1:8000"),
        ("https://api.example.org/v1/", "https://api.example.org", "api.example.org"),
        ("https://api.example.org/team/v1", "https://api.example.org/team", "api.example.org"),
        ("http://[::1]:8000/", "http://[::1]:8000", "[::1]:8000"),
    ],
)
def test_what_stands_before_the_paths_of_the_api_is_the_endpoint(given, url, host):
    endpoint = endpoint_of(given)
    assert (endpoint.url, endpoint.host) == (url, host)


@pytest.mark.parametrize(
    "given",
    [
        "",
        "gpu-1:8000",
        "ftp://gpu-1",
        "file:///etc/passwd",
        "http://",
        "http://gpu-1:port",
        "http://gpu-1:99999",
        "http://me:secret@gpu-1",
        "http://gpu-1?x=1",
        "http://gpu-1#x",
        "http://gpü-1",
        "http://[::1",
    ],
)
def test_anything_else_is_a_usage_error_and_no_password_is_repeated(given):
    with pytest.raises(UsageError) as caught:
        endpoint_of(given)
    assert "secret" not in caught.value.message + caught.value.hint


def test_a_key_that_is_no_header_is_a_usage_error():
    with pytest.raises(UsageError) as caught:
        endpoint_of("http://gpu-1", "sk\r\nHost: elsewhere")
    assert "sk" not in caught.value.message


async def look(**settings):
    with serve_url(plain(4), **settings) as server:
        async with Client(endpoint_of(server.url), 1) as client:
            return await client.look()


async def test_the_round_trip_and_the_first_model_are_told():
    found = await look()
    assert found.rtt_ms > 0
    assert (found.model, found.version, found.simulated) == ("first", None, False)


@pytest.mark.parametrize("models", [(), "no list", ({"name": "x"},), (7,), ({"id": None, "simulated": "yes"},)])
async def test_an_endpoint_that_lists_no_models_is_looked_at_all_the_same(models):
    found = await look(models=models)
    assert (found.model, found.simulated) == ("", False)


async def test_no_proxy_is_asked_for_this_machine(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert (await look()).model == "first"

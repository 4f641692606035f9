"""Toxiproxy is asked as its API has it, and its refusals are told."""

import httpx
import pytest

from lab.toxiproxy import LinkError, Proxy, Toxic, Toxiproxy


def client(*answers: httpx.Response) -> tuple[Toxiproxy, list[httpx.Request]]:
    asked: list[httpx.Request] = []
    left = list(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return left.pop(0)

    return Toxiproxy("http://link:1", transport=httpx.MockTransport(answer)), asked


def test_proxies_are_read() -> None:
    toxiproxy, _ = client(
        httpx.Response(
            200,
            json={
                "one": {"enabled": True, "toxics": [{"name": "slow"}], "listen": "[::]:1"},
                "two": {"enabled": False, "toxics": None},
            },
        )
    )

    assert toxiproxy.proxies() == {
        "one": Proxy(name="one", enabled=True, toxics=("slow",)),
        "two": Proxy(name="two", enabled=False, toxics=()),
    }


def test_a_toxic_is_added_and_removed_by_its_name() -> None:
    toxiproxy, asked = client(httpx.Response(200), httpx.Response(404), httpx.Response(200))

    toxiproxy.add("one", Toxic(name="t", type="latency", fraction=0.5, attributes={"latency": 3}))
    toxiproxy.remove("one", "t")
    toxiproxy.switch("one", enabled=False)

    assert [(r.method, r.url.path) for r in asked] == [
        ("POST", "/proxies/one/toxics"),
        ("DELETE", "/proxies/one/toxics/t"),
        ("POST", "/proxies/one"),
    ]
    assert b'"toxicity":0.5' in asked[0].content
    assert asked[2].content == b'{"enabled":false}'


def test_a_refusal_is_told() -> None:
    toxiproxy, _ = client(httpx.Response(409, text='{"error":"toxic already exists"}'))

    with pytest.raises(LinkError) as caught:
        toxiproxy.add("one", Toxic(name="t", type="latency"))

    assert caught.value.message == ('POST /proxies/one/toxics gave 409: {"error":"toxic already exists"}')


def test_a_link_that_is_down_is_named() -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    toxiproxy = Toxiproxy("http://link:1", transport=httpx.MockTransport(refuse))

    with pytest.raises(LinkError, match=r"^GET http://link:1/proxies failed: refused$"):
        toxiproxy.proxies()

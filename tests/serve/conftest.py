import pytest

from tests.serve.server import Server


@pytest.fixture(scope="package")
def server(tiny_run):
    with Server(tiny_run) as server:
        yield server


@pytest.fixture(autouse=True)
def still_alive(request):
    """Whatever a test sends, the server answers the next request."""
    yield
    if "server" in request.fixturenames:
        server = request.getfixturevalue("server")
        assert server.request("GET", "/healthz")[2] == {"status": "ok"}

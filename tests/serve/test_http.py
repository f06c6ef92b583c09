"""Requests as they should not be: each gets a clear 4xx, and the server goes on."""

import concurrent.futures
import json
import signal
import socket
import time

import pytest

from tests.serve.server import Server

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "body, told",
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"inputs": {"text": ' + b"[" * 500_000 + b"]" * 500_000 + b"}}", "nested too deeply"),
        (b'{"inputs": {"text": ' + b"[" * 150 + b"]" * 150 + b"}}", "strings or numbers are needed"),
        (b'{"inputs": {"text": "\xff\xfe"}}', "not valid JSON"),
        (b'{"inputs": {"text": "\\ud800"}}', "not valid JSON"),
        (b'{"inputs": {"text": "a"}, "replace": {"x": [1e999]}}', "not valid JSON"),
        (b"null", "a JSON object is needed"),
        (b"{}", "give either 'inputs'"),
        (b'{"inputs": "a text"}', "an object is needed"),
        (b'{"inputs": {"text": {"a": 1}}}', "a string, a number or an array"),
        (b'{"inputs": {"text": ""}}', "the text is empty"),
        (b'{"inputs": {"txet": "a"}}', "did you mean 'text'"),
        (b'{"inputs": {"text": "a"}, "id": "1"}', "give either 'inputs'"),
        (b'{"inputs": {"text": "a"}, "run": "other"}', "no run is called 'other'"),
        (b'{"inputs": {"text": "a"}, "run": 3}', "a string is needed"),
        (json.dumps({"inputs": {"text": "word " * 2001}}).encode(), "2001 words, at most 2000"),
    ],
)
def test_bad_bodies(server, body, told):
    status, answer = server.predict(body)
    assert status == 400 and told in answer["error"], answer


def test_sizes_and_types(server):
    status, _, answer = server.request("POST", "/api/predict", b"x" * 10_000_000, JSON)
    assert status == 413 and "1048576" in answer["error"]
    status, _, answer = server.request("POST", "/api/predict", b"{}", {"Content-Type": "text/plain"})
    assert status == 415 and "application/json" in answer["error"]
    status, _, answer = server.request("POST", "/api/predict", b"{}", {**JSON, "Content-Encoding": "gzip"})
    assert status == 415 and "Content-Encoding" in answer["error"]
    head = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    assert b" 411 " in server.raw(head + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
    assert b" 411 " in server.raw(head + b"\r\n{}")
    status, _, _ = server.request("GET", "/", headers={"Range": "bytes=0-" + ",0-" * 2000})
    assert status == 416


def test_routes_and_methods(server):
    for path in ("/nowhere", "/api", "/api/runs/", "/../etc/passwd", "/%2e%2e/etc/passwd", "//", "/api/predict%00",
                 "/..%5c..%5cwindows", "/index.html", "/" + "a" * 5000, "/%0a"):  # fmt: skip
        status, _, answer = server.request("GET", path)
        assert status == 404 and answer["error"], path
        status, _, _ = server.request("POST", path, b"{}", JSON)
        assert status == 404, path
    for method, path in (("GET", "/api/predict"), ("POST", "/"), ("DELETE", "/api/runs"), ("PUT", "/api/predict"),
                         ("PATCH", "/healthz"), ("OPTIONS", "/api/predict"), ("TRACE", "/")):  # fmt: skip
        status, headers, answer = server.request(
            method, path, b"{}" if method in ("POST", "PUT", "PATCH") else None, JSON
        )
        assert status == 405 and headers["Allow"] and answer["error"], (method, path)
    assert server.request("HEAD", "/healthz")[0] == 200
    assert server.request("GET", "/" + "a" * 9000)[0] == 414


def test_what_is_no_http(server):
    for data in (b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"FETCH / HTTP/1.1\r\n\r\n", b"GET / HTTP/9\r\n\r\n",
                 b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n"):  # fmt: skip
        assert server.raw(data).startswith(b"HTTP/1.1 400 "), data
    # A body that never comes is waited for, not for ever.
    assert b" 400 " in server.raw(b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{")


@pytest.mark.parametrize("method", ["PUT", "GET", "DELETE", "OPTIONS"])
def test_nothing_left_of_a_body_is_taken_for_a_request(server, method):
    inner = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = b"%s /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    answer = server.raw(head % (method.encode(), len(inner)) + inner)
    assert answer.count(b"HTTP/1.1 ") == 1 and b" 405 " in answer


def test_headers(server):
    status, headers, html = server.request("GET", "/")
    assert status == 200 and '<div id="app">' in html
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
    policy = headers["Content-Security-Policy"]
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert "default-src 'none'" in policy and html.count(f'nonce="{nonce}"') == 2
    assert nonce not in server.request("GET", "/")[1]["Content-Security-Policy"]
    _, headers, _ = server.request("GET", "/api/runs", headers={"Origin": "http://elsewhere.example"})
    assert not [name for name in headers if name.lower().startswith("access-control")]


def test_only_our_own_names_on_loopback(server):
    for host in ("localhost", "127.0.0.1", "[::1]", "LOCALHOST:1234", f"localhost:{server.port}"):
        assert server.request("GET", "/healthz", headers={"Host": host})[0] == 200, host
    for host in ("rebound.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "[", "0.0.0.0"):
        assert server.request("GET", "/healthz", headers={"Host": host})[0] == 403, host
    twice = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert b" 403 " in server.raw(twice)


def test_a_token_is_needed_where_one_was_given(tiny_run):
    with Server(tiny_run, "--token", "s3cret", "--host", "0.0.0.0") as server:
        bearer = {"Authorization": "Bearer s3cret"}
        for path in ("/", "/api/runs", "/healthz", "/openapi.json", "/nowhere"):
            status, headers, answer = server.request("GET", path)
            assert status == 401 and headers["WWW-Authenticate"] == "Bearer" and "token" in answer["error"], path
        for wrong in ("Bearer s3cre", "Bearer s3cret2", "Bearer ", "Basic s3cret", "s3cret", "bearers3crets3cret"):
            assert server.request("GET", "/healthz", headers={"Authorization": wrong})[0] == 401, wrong
        assert server.request("GET", "/healthz", headers={**bearer, "Host": "my.machine.example"})[0] == 200
        assert server.predict({"inputs": {"text": "good"}}, bearer)[0] == 200
        assert server.request("GET", "/?token=s3cret")[0] == 200
        assert server.request("GET", "/?token=s3cre")[0] == 401
        assert server.request("GET", "/api/runs?token=s3cret")[0] == 401  # the page alone
        assert server.end()[0] == 0


def test_hosts_and_ports_that_cannot_be(heed, tiny_run, tmp_path):
    def refused(*arguments):
        done = heed("serve", *arguments)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        return done.stderr

    assert "--token" in refused(tiny_run, "--host", "0.0.0.0")
    assert "--token" in refused(tiny_run, "--host", "192.168.1.1")
    assert "not an address of this machine" in refused(tiny_run, "--host", "192.0.2.1", "--token", "x", "--port", 4000)
    assert "--port" in refused(tiny_run, "--port", 70000)
    assert "nowhere" in refused(tmp_path / "nowhere")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "is taken" in refused(tiny_run, "--port", taken.getsockname()[1])


def test_many_at_once_get_their_own_answers(server):
    texts = [f"the food was {'not ' * (i % 3)}good and word{i} lovely" for i in range(24)]
    alone = [server.ask(text) for text in texts]
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        assert list(pool.map(server.ask, texts)) == alone


def test_a_full_queue_is_told(server):
    body = json.dumps({"inputs": {"text": "good " * 2000}, "mask": {"text": [0]}})

    def status(_):
        found, headers, _ = server.request("POST", "/api/predict", body, JSON, timeout=60)
        assert found == 200 or headers["Retry-After"] == "1"
        return found

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        assert set(pool.map(status, range(32))) == {200, 503}


def test_too_many_connections_are_told(server):
    held = []
    for _ in range(32 + 64):  # those that are served at once, and those that wait
        held.append(socket.create_connection(("127.0.0.1", server.port)))
        held[-1].sendall(b"GET /healthz HTTP/1.1\r\n")  # and no more: they are waited for
        time.sleep(0.002)
    time.sleep(0.3)
    status, headers, _ = server.request("GET", "/healthz")
    assert status == 503 and headers["Retry-After"] == "1"
    for connection in held:
        connection.close()


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_after_what_runs(tiny_run, by):
    with Server(tiny_run) as server:
        body = {"inputs": {"text": "good " * 2000}}
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            asked = pool.submit(server.predict, body)
            while not asked.running():
                time.sleep(0.001)
            time.sleep(0.03)
            code, errors = server.end(by)
            assert code == 0 and errors == ""
            status, answer = asked.result()
            assert status == 200 and len(answer["inputs"]["text"]) == 2000
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", server.port), timeout=1)

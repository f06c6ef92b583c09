"""A real server of a real run, and requests that no library would send."""

import http.client
import json
import re
import signal
import socket
import subprocess

from tests.conftest import HEED


class Server:
    """`heed serve` on a free port, as a context."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [str(HEED), "serve", *map(str, arguments), "--port", "0", "--threads", "1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.process.stdout.readline()
        found = re.search(r"at (http://(\S+):(\d+)/)", line)
        assert found, (line, self.process.stderr.read())
        self.address, self.port = found.group(1), int(found.group(3))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def end(self, by=signal.SIGTERM):
        """The exit code after a signal; what it wrote to stderr."""
        self.process.send_signal(by)
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors

    def request(self, method, path, body=None, headers=None, timeout=20):
        """(status, headers, JSON or text)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            response = connection.getresponse()
            text = response.read().decode()
            is_json = (response.getheader("Content-Type") or "").startswith("application/json")
            return response.status, response.headers, json.loads(text) if is_json and text else text
        finally:
            connection.close()

    def predict(self, body, headers=None):
        data = body if isinstance(body, bytes | str) else json.dumps(body)
        status, _, answer = self.request(
            "POST", "/api/predict", data, {"Content-Type": "application/json", **(headers or {})}
        )
        return status, answer

    def ask(self, text, **more):
        """The answer to a text; it must be one."""
        status, answer = self.predict({"inputs": {"text": text}, **more})
        assert status == 200, answer
        return answer

    def raw(self, data, quiet=0.4):
        """What comes back for these bytes, until the server closes or says no more."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(data)
            answer = b""
            try:
                while chunk := connection.recv(65536):
                    answer += chunk
                    connection.settimeout(quiet)
            except (TimeoutError, ConnectionResetError):
                pass
            return answer

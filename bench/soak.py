"""bench/soak.py RUN [--requests N] [--connections C]: sends N (200 000) requests to `heed serve RUN`, right ones with and
without edits and wrong ones of every sort, over C (4) connections, and watches the server's memory and descriptors.
Fails unless every right request is answered with 200 and every wrong one with 4xx, memory stays flat and no descriptor
is left."""

import argparse
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

HEED = Path(__file__).resolve().parent.parent / "build" / "heed"
WORDS = "the food was not good but the staff was lovely and the room we had too small".split()
JSON = {"Content-Type": "application/json"}
FLAT = 2 << 20  # bytes that memory may grow by once it is warm: the noise of an allocator


def predict(**body):
    return ("POST", "/api/predict", json.dumps(body), JSON)


def right(i):
    """A prediction; every fifth with edits."""
    text = " ".join(WORDS[i % 7 : i % 7 + 2 + i % 9])
    edits = {"drop": {"text": [0]}, "mask": {"text": [0]}} if i % 5 == 0 else {}
    return predict(inputs={"text": text}, **edits)


WRONG = [
    ("POST", "/api/predict", "{", JSON),
    ("POST", "/api/predict", "\xff\x00" * 50, JSON),
    ("POST", "/api/predict", '{"inputs": {"text": "a"}}', {"Content-Type": "text/plain"}),
    ("GET", "/nowhere", None, {}),
    ("GET", "/../../etc/passwd", None, {}),
    ("DELETE", "/api/predict", None, {}),
    ("GET", "/api/runs", None, {"Host": "elsewhere.example"}),
    predict(inputs={"text": " ".join(WORDS * 200)}),
    predict(inputs={"nothing": "x"}),
    predict(inputs={"text": "a b"}, drop={"text": [7]}),
    predict(inputs={"text": "a b"}, replace={"nomap": [1, 0]}),
    predict(run="another", inputs={"text": "a"}),
    predict(id="nobody"),
    predict(**{"x" * 50_000: 1}),
]


class Server:
    """`heed serve` on a free port."""

    def __init__(self, run):
        command = [str(HEED), "serve", str(run), "--port", "0", "--threads", "1"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.search(r":(\d+)/", line)
        if not found:
            sys.exit(f"soak: the server did not start: {line}")
        self.port = int(found.group(1))

    def memory(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) * 1024

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


class Client(threading.Thread):
    """One connection that takes the next request until none is left."""

    def __init__(self, port, numbers, counts):
        super().__init__()
        self.port, self.numbers, self.counts = port, numbers, counts

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        for i in self.numbers:
            is_wrong = i % 4 == 3
            method, path, body, headers = WRONG[i // 4 % len(WRONG)] if is_wrong else right(i)
            data = body.encode("latin-1") if body else None
            for attempt in range(3):  # the server ends a connection after a thousand requests
                try:
                    connection.request(method, path, data, headers)
                    response = connection.getresponse()
                    response.read()
                    break
                except (http.client.HTTPException, OSError):
                    connection.close()
                    if attempt == 2:
                        response = None
            status = response.status if response else 0
            good = 400 <= status < 500 if is_wrong else status == 200
            self.counts["good" if good else f"{method} {path} {status}"] += 1
        connection.close()


def soak(run, requests, connections):
    server = Server(run)
    try:
        numbers, counts, samples = iter(range(requests)), [Counter() for _ in range(connections)], []
        lock = threading.Lock()

        def shared():
            while True:
                with lock:
                    i = next(numbers, None)
                if i is None:
                    return
                yield i

        before, started = server.descriptors(), time.monotonic()
        clients = [Client(server.port, shared(), count) for count in counts]
        for client in clients:
            client.start()
        while any(client.is_alive() for client in clients):
            time.sleep(0.2)
            samples.append((server.memory(), server.descriptors()))
        seconds = time.monotonic() - started
        time.sleep(3)  # idle connections are closed after two seconds
        after = server.descriptors()
    finally:
        code = server.end()
    totals = sum(counts, Counter())
    memory = [m for m, _ in samples]
    warm, late = memory[len(memory) // 4 : len(memory) // 2], memory[-max(1, len(memory) // 4) :]
    return {
        "requests": requests,
        "seconds": round(seconds, 1),
        "as_expected": totals.pop("good", 0),
        "others": totals,
        "memory_warm_mb": round(max(warm, default=memory[0]) / 1e6, 2),
        "memory_end_mb": round(max(late) / 1e6, 2),
        "grown_bytes": max(late) - max(warm, default=memory[0]),
        "descriptors_before": before,
        "descriptors_most": max(d for _, d in samples),
        "descriptors_after": after,
        "exit_code": code,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", help="a run directory")
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--connections", type=int, default=4)
    arguments = parser.parse_args()
    figures = soak(arguments.run, arguments.requests, arguments.connections)
    print(json.dumps(figures))
    mistakes = []
    if figures["others"] or figures["as_expected"] != arguments.requests:
        mistakes.append(f"not as expected: {figures['others']}")
    if figures["grown_bytes"] > FLAT:
        mistakes.append("memory grows")
    if figures["descriptors_after"] > figures["descriptors_before"]:
        mistakes.append("descriptors are left open")
    if figures["exit_code"] != 0:
        mistakes.append("the server did not end well")
    if mistakes:
        sys.exit("soak: " + "; ".join(mistakes))


if __name__ == "__main__":
    main()

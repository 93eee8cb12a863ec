"""A worker for Pawl, with Python's standard library only.

    import pawl_worker
    pawl_worker.run({"mail": lambda job, input: {"sent": True}})

PAWL_URL and PAWL_TOKEN say where the server is. A handler is given its job and the input, and returns the output. It may
- call job.step(name, function): the value is recorded, and the next attempt is given it without another call;
- call job.wait(seconds) instead of time.sleep: it ends when the lease is lost, or the worker is to stop;
- raise Failed(message, code=..., terminal=True): the job is not tried again. Any other exception is tried again.

A thread of its own keeps the lease while the handler runs. Whatever is sent may be sent twice, if the answer was lost.
"""
import http.client
import json
import os
import random
import signal
import socket
import threading
import time
import traceback
import urllib.error
import urllib.request
import uuid

PATIENCE_S = 30
POLL_S = 20


class Failed(Exception):
    """The attempt failed, and the job is tried again; with `terminal` it is not."""

    def __init__(self, message, code="Failed", terminal=False):
        super().__init__(message)
        self.code, self.terminal = code, terminal


class Refused(Exception):
    """The server said no, and would say it again."""


class Stopped(BaseException):
    """The lease is lost, or the worker is to stop: the handler ends here. No `except Exception` catches it."""


class Server:
    def __init__(self, url, token):
        self.url = url.rstrip("/")
        self.headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}

    def post(self, path, body, timeout=10, patience=PATIENCE_S):
        """Repeats what failed on its way. An answer is final, unless it says that it may be repeated."""
        data, until, pause = json.dumps(body).encode(), time.monotonic() + patience, 0.1
        while True:
            try:
                request = urllib.request.Request(self.url + path, data, self.headers)
                with urllib.request.urlopen(request, timeout=timeout) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                text = error.read().decode(errors="replace")
                if '"retryable"' not in text and error.code < 502 or time.monotonic() > until:
                    raise Refused(text) from None
            except (OSError, http.client.HTTPException, ValueError):
                if time.monotonic() > until:
                    raise
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(2 * pause, 2)


class Job:
    """One attempt, as its handler sees it."""

    def __init__(self, server, worker, claimed, asked_at, stopping):
        self.server, self.stopping, self.claimed = server, stopping, claimed
        self.id, self.attempt = claimed["job"], claimed["attempt"]
        self.address = {name: claimed[name] for name in ("job", "stage", "segment", "lease")}
        self.address["worker"] = worker
        self.steps = {step["name"]: step["value"] for step in claimed["steps"]}
        self.lost, self.over = threading.Event(), threading.Event()
        self.lease_s = claimed["leaseMs"] / 1000
        # From BEFORE it was asked for: the lease began later, so it is over before the server says so.
        self.ends_at = asked_at + self.lease_s
        threading.Thread(target=self.keep, daemon=True).start()

    def report(self, type, patience=PATIENCE_S, **fields):
        command = {"type": type, **self.address, **fields}
        answers = self.server.post("/v1/commands", {"commands": [command]}, patience=patience)["answers"]
        return answers[0]

    def keep(self):
        """The heartbeat, until the handler is over."""
        extension = 0
        while not self.over.wait(self.lease_s / 3):
            extension, asked_at = extension + 1, time.monotonic()
            try:
                answer = self.report("ExtendLease", patience=self.lease_s / 6, extension=extension)
                if answer["verdict"] != "committed":
                    return self.lost.set()
                self.ends_at = asked_at + self.lease_s
            except (OSError, http.client.HTTPException, ValueError, Refused):
                if time.monotonic() > self.ends_at - self.lease_s / 6:
                    return self.lost.set()

    def check(self):
        if self.lost.is_set() or self.stopping.is_set():
            raise Stopped()

    def wait(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.check()
            self.lost.wait(min(0.1, until - time.monotonic()))

    def step(self, name, function):
        if name not in self.steps:
            self.check()
            value = json.dumps(function(), allow_nan=False)
            version = self.claimed["version"]
            answer = self.report("RecordStep", name=name, value=value, definitionVersion=version)
            if answer["verdict"] == "cancelled":
                self.lost.set()
            self.check()
            if answer["verdict"] != "committed":
                raise Refused(json.dumps(answer["rejection"]))
            self.steps[name] = value
        return json.loads(self.steps[name])

    def run(self, handler):
        try:
            # Effects of a commit are for workers that know them: this one gives such a job back.
            if self.claimed["commit"] is not None:
                raise Stopped()
            self.check()
            # Infinity and NaN are no JSON: such an output is a failure.
            output = json.dumps(handler(self, json.loads(self.claimed["input"])), allow_nan=False)
            report = ("CommitExecution", {"output": output, "effects": []})
        except Stopped:
            report = ("ReleaseLease", {})
        except Exception as error:
            report = ("FailTask", {"error": failure(error)})
        try:
            if not self.lost.is_set():
                self.send(*report)
        finally:
            # The lease is kept until the report is answered.
            self.over.set()

    def send(self, type, fields):
        """What the server does not take, because it is too large for example, is a failure of the job."""
        try:
            answer = self.report(type, **fields)
            if answer["verdict"] != "rejected":
                return
            why = json.dumps(answer["rejection"])
        except Refused as refused:
            why = str(refused)
        if type == "CommitExecution":
            self.report("FailTask", error=failure(Failed(why, code="NotTaken")))


def failure(error):
    return {
        "type": "TERMINAL" if getattr(error, "terminal", False) else "RETRYABLE",
        "code": str(getattr(error, "code", type(error).__name__))[:100],
        "message": str(error)[:2000],
        "stack": "".join(traceback.format_exception(error))[:8000],
    }


def run(handlers, queue="default"):
    """Takes jobs of these types, one at a time, until SIGTERM or SIGINT. Start it more than once for more."""
    server = Server(os.environ["PAWL_URL"], os.environ.get("PAWL_TOKEN", ""))
    worker, stopping, polling = f"{socket.gethostname()}-{uuid.uuid4()}", threading.Event(), False

    def stop(*_):
        stopping.set()
        if polling:
            raise Stopped()

    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, stop)
    channels = [{"queue": queue, "type": type, "stage": None} for type in handlers]
    claim = {"worker": worker, "channels": channels, "max": 1, "started": True, "waitMs": POLL_S * 1000}
    request = 0
    while not stopping.is_set():
        request, asked_at = request + 1, time.monotonic()
        try:
            polling = True
            if stopping.is_set():
                return
            # The same number again gets the same leases again: a claim whose answer was lost is not lost.
            body = {**claim, "request": request}
            claimed = server.post("/v1/claims", body, 2 * POLL_S, patience=float("inf"))["claimed"]
            polling = False
        except Stopped:
            polling = False
            # It may have been answered, and nothing heard of it: what it got is given back.
            again = {**claim, "request": request, "waitMs": 0}
            claimed = server.post("/v1/claims", again, patience=5)["claimed"]
        for one in claimed:
            Job(server, worker, one, asked_at, stopping).run(handlers[one["type"]])

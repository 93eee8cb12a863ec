"""The jobs of `pawl conformance`, for the worker in Python."""
import uuid

import pawl_worker


def draw(job, input):
    drawn = job.step("draw", lambda: str(uuid.uuid4()))
    if job.attempt == 1:
        raise pawl_worker.Failed("not yet", code="EAGAIN")
    return {"drawn": drawn}


def fail(job, input):
    raise pawl_worker.Failed(input["message"], code=input["code"], terminal=True)


def nap(job, input):
    job.wait(input["ms"] / 1000)
    return {"napped": input["ms"]}


pawl_worker.run({
    "conformance-echo": lambda job, input: input,
    "conformance-draw": draw,
    "conformance-fail": fail,
    "conformance-nap": nap,
})

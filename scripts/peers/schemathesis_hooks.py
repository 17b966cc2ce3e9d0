"""Hooks of schemathesis for the HTTP API: adjusts generated requests and adds a check of error responses."""

import itertools
import os
import pathlib
import re

import schemathesis

UNIQUE = itertools.count()
ERROR_CODES = set(re.findall(r"^\| `(\w+)` \|", pathlib.Path(__file__).parents[2].joinpath("docs/reference/errors.md").read_text(), re.M))
SECRETS = [os.environ["POLIS_HOME"], os.environ["POLIS_TOKEN"].rsplit("_", 1)[-1]]


@schemathesis.hook
def before_call(context, case, kwargs):
    # Deliberately invalid requests are not adjusted: they are rejected before these values matter.
    if case.meta is None or case.meta.generation.mode.is_negative:
        return
    # schemathesis generates few distinct keys, and polis correctly refuses to reuse a key for a different request.
    key = (case.headers or {}).get("Idempotency-Key")
    if isinstance(key, str) and re.fullmatch(r"[!-~]{1,255}", key):
        case.headers["Idempotency-Key"] = f"key-{next(UNIQUE)}"
    # Other task ids in the body are random. schemathesis would attribute a 404 for one of them to the task in the path,
    # which it has just created.
    if isinstance(case.body, dict) and "taskId" in (case.path_parameters or {}):
        for edges in ("addBlocks", "addBlockedBy", "removeBlocks", "removeBlockedBy"):
            if isinstance(case.body.get(edges), list):
                case.body[edges] = []
    # No other client writes in the meantime, so the request would always wait until its timeout.
    if isinstance(case.body, dict) and isinstance(case.body.get("waitMs"), int) and case.body["waitMs"] > 50:
        case.body["waitMs"] = 50


@schemathesis.check
def every_refusal_says_why(context, response, case):
    """An error response has a code, a message and a hint. No response reveals host paths or tokens."""
    for secret in SECRETS:
        assert secret not in response.text, "the response contains a host path or a token"
    if response.status_code < 400:
        return
    assert response.headers["content-type"] == ["application/problem+json"], response.headers["content-type"]
    problem = response.json()
    assert problem["status"] == response.status_code, problem
    assert problem["code"] in ERROR_CODES, f"docs/reference/errors.md does not list {problem['code']!r}"
    for part in ("type", "title", "detail", "hint"):
        assert problem[part], f"{part} is empty"

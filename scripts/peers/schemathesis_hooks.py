"""What schemathesis is told about the HTTP API: what it may not leave to chance, and a check of our own."""

import itertools
import os
import pathlib
import re

import schemathesis

FRESH = itertools.count()
CODES = set(re.findall(r"^\| `(\w+)` \|", pathlib.Path(__file__).parents[2].joinpath("docs/reference/errors.md").read_text(), re.M))
HIDDEN = [os.environ["POLIS_HOME"], os.environ["POLIS_TOKEN"].rsplit("_", 1)[-1]]


@schemathesis.hook
def before_call(context, case, kwargs):
    # A request that is broken on purpose stays as it is: it is refused before any of this matters.
    if case.meta is None or case.meta.generation.mode.is_negative:
        return
    # Keys are drawn from few values, and a key that comes again with another request is rightly refused.
    key = (case.headers or {}).get("Idempotency-Key")
    if isinstance(key, str) and re.fullmatch(r"[!-~]{1,255}", key):
        case.headers["Idempotency-Key"] = f"key-{next(FRESH)}"
    # Tasks that are named beside the one in the address are drawn from nowhere, and a 404 for one of them would be
    # taken for one of the task that was just made.
    if isinstance(case.body, dict) and "taskId" in (case.path_parameters or {}):
        for edges in ("addBlocks", "addBlockedBy", "removeBlocks", "removeBlockedBy"):
            if isinstance(case.body.get(edges), list):
                case.body[edges] = []
    # Nobody writes while a request waits, so it would wait its whole time.
    if isinstance(case.body, dict) and isinstance(case.body.get("waitMs"), int) and case.body["waitMs"] > 50:
        case.body["waitMs"] = 50


@schemathesis.check
def every_refusal_says_why(context, response, case):
    """Code, sentence and next step, and nothing that is only the host's to know."""
    for secret in HIDDEN:
        assert secret not in response.text, "the answer shows a path of the host, or a token"
    if response.status_code < 400:
        return
    assert response.headers["content-type"] == ["application/problem+json"], response.headers["content-type"]
    problem = response.json()
    assert problem["status"] == response.status_code, problem
    assert problem["code"] in CODES, f"docs/reference/errors.md does not know {problem['code']!r}"
    for part in ("type", "title", "detail", "hint"):
        assert problem[part], f"{part} is empty"

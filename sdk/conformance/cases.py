"""The cases of cases.yaml as code: one function for each, named after its id."""

import signal
import time

from fault_proxy import (CUT_ANSWER, CUT_MIDDLE, CUT_REQUEST, DELAY, DOUBT, REFUSE, Rule)
from harness import Lacking, check

ECHO = {"echo": {}}
HELD = {"echo": {"hold": True}}
# Steps have a lease of 30 s by default; a case that waits for its expiry takes too long.
SOON_S = 10

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def gives_attempts(answer):
    return bool(answer.get("attempts"))


# --- without faults

@case
def happy_path(world):
    world.register()
    agent = world.agent()
    agent.work(ECHO, concurrency=3)
    runs = {agent.request(do="start", workflow="job", input={"n": n})["run_id"]: n
            for n in range(20)}
    check(len(runs) == 20, "20 starts are 20 runs")
    for run, n in runs.items():
        found = agent.request(do="outcome", run_id=run)
        check(found["status"] == "completed", f"the client says {found}")
        check(world.completed(run) == {"echo": {"n": n}}, "the result is not what the handler gave")
        calls = agent.all("called", run_id=run)
        check(len(calls) == 1, f"the handler was called {len(calls)} times")
        called = calls[0]
        check((called["step"], called["attempt"], called["handler"], called["input"]) ==
              ("step", 1, "echo", {"n": n}), f"the handler received {called}")
        check(called["idempotency_key"] and called["runnable_key"], "the handler lacks keys")
        agent.wait("reported", run_id=run, counted=True)


@case
def outcomes_of_steps(world):
    agent = world.agent()
    plans = {
        "again": {"answers": [{"outcome": "retry", "code": "busy", "message": "later"},
                              {"outcome": "ok", "result": {"n": 2}}]},
        "never": {"answers": [{"outcome": "fail", "code": "broken", "message": "it broke"}]},
    }
    for name in plans:
        world.register(name, handler=name, retry={"max_attempts": 3})
    agent.work(plans)
    again, never = world.start("again"), world.start("never")
    check(world.completed(again) == {"n": 2}, "the second attempt counts")
    agent.wait("called", count=2, run_id=again)
    calls = agent.all("called", run_id=again)
    check([one["attempt"] for one in calls] == [1, 2], "a retry is a second attempt")
    check(len({one["runnable_key"] for one in calls}) == 2, "each attempt has its own name")
    check(len({one["idempotency_key"] for one in calls}) == 1, "a retry has the same key")
    ended = world.outcome(never)
    check((ended["status"], ended["error"]["code"], ended["error"]["message"]) ==
          ("failed", "broken", "it broke"), f"a step that failed for good: {ended}")
    agent.wait("reported", run_id=never)
    check(len(agent.all("called", run_id=never)) == 1, "a failure for good is not tried again")


@case
def errors_are_reported(world):
    agent = world.agent()
    began = time.monotonic()
    said = agent.answer(agent.begin(do="start", workflow="unregistered"))
    check((said["event"], said.get("code")) == ("failed", "unknown_workflow"), f"it says {said}")
    check(len(world.proxy.requests("^/v1/runs", began)) == 1, "a refused request is not repeated")


@case
def wrong_token(world):
    made = world.direct.good("POST", "/v1/tokens", {"name": "root", "role": "admin"})
    world.direct.token = made["token"]
    world.register()
    agent = world.agent(token=made["token"])
    check(agent.request(do="start", workflow="job")["run_id"], "the valid token is accepted")
    other = world.agent(token=made["token"][:-4] + "AAAA")
    said = other.answer(other.begin(do="start", workflow="job"), SOON_S)
    check((said["event"], said.get("code")) == ("failed", "unauthenticated"), f"it says {said}")


@case
def long_poll_is_woken(world):
    world.register()
    agent = world.agent()
    agent.work(ECHO, concurrency=1)
    world.until(lambda: world.claims_waiting() > 0, "a claim that waits")
    for n in range(5):
        run = world.start(n=n)
        began = time.monotonic()
        called = agent.wait("called", run_id=run, deadline_s=SOON_S)
        check(called["_at"] - began < 1.5, "the claim was not woken when there was work")
        agent.wait("reported", run_id=run)
        world.until(lambda: world.claims_waiting() > 0, "a claim that waits again")
    quiet = time.monotonic()
    world.until(lambda: time.monotonic() - quiet > 2, "two quiet seconds")
    calls = len(world.proxy.requests("/v1/work/(claim|report)", quiet))
    check(calls <= 3, f"{calls} calls in two seconds without work: it does not wait")


@case
def long_step_keeps_its_claim(world):
    world.register(lease="1200ms")
    agent = world.agent()
    agent.work(HELD)
    run = world.start()
    agent.wait("called", run_id=run)
    began = time.monotonic()
    world.until(lambda: time.monotonic() - began > 4, "three leases")
    agent.send(do="release", handler="echo")
    agent.wait("reported", run_id=run, counted=True)
    world.completed(run)
    check(len(world.facts("attempt_claimed")) == 1, "the claim was lost while the step ran")
    check(len(agent.all("called")) == 1, "the handler was called again")


@case
def progress_is_shown(world):
    world.register(lease="1500ms")
    agent = world.agent()
    if "progress" not in agent.can:
        raise Lacking("progress")
    agent.work({"echo": {"hold": True, "progress": {"done": 7}}})
    run = world.start()
    world.until(lambda: [one.get("progress") for one in world.leases()] == [{"done": 7}],
                "the progress in the list of workers", SOON_S)
    agent.send(do="release", handler="echo")
    world.completed(run)


# --- lost responses

def start_with(world, *rules, key=None):
    world.register()
    agent = world.agent()
    world.proxy.add(*rules)
    command = {"do": "start", "workflow": "job", "input": {"n": 1}} | ({"key": key} if key else {})
    run = agent.request(**command)["run_id"]
    check(all(rule.times == 0 for rule in rules), "the fault did not happen")
    check([one["run_id"] for one in world.runs()] == [run], "one start is one run")


@case
def start_answer_lost(world):
    start_with(world, Rule(CUT_ANSWER, "^/v1/runs$", times=2))


@case
def start_answer_lost_under_a_key(world):
    start_with(world, Rule(CUT_ANSWER, "^/v1/runs$"), key="order-17")


@case
def start_answer_cut_in_the_middle(world):
    start_with(world, Rule(CUT_MIDDLE, "^/v1/runs$"))


@case
def start_request_lost(world):
    start_with(world, Rule(CUT_REQUEST, "^/v1/runs$", times=2))


@case
def server_unavailable_for_a_while(world):
    world.register()
    agent = world.agent()
    world.proxy.down = True
    world.proxy.cut_all()
    number = agent.begin(do="start", workflow="job")
    began = time.monotonic()
    world.until(lambda: time.monotonic() - began > 1.5, "a while")
    world.proxy.down = False
    run = agent.result(number, 2 * SOON_S)["run_id"]
    check([one["run_id"] for one in world.runs()] == [run], "one start is one run")


def claim_with(world, action):
    world.register()
    agent = world.agent()
    rule = Rule(action, "^/v1/work/(claim|report)$", when=gives_attempts)
    world.proxy.add(rule)
    agent.work(ECHO, concurrency=2)
    run = world.start()
    world.completed(run, SOON_S)
    check(rule.used == 1, "the fault did not happen")
    check(len(agent.all("called", run_id=run)) == 1, "the handler is called once")
    check(len(world.facts("attempt_claimed")) == 1, "the same claim must be requested again")


@case
def claim_answer_lost(world):
    claim_with(world, CUT_ANSWER)


@case
def claim_answer_cut_in_the_middle(world):
    claim_with(world, CUT_MIDDLE)


def report_with(world, action):
    world.register()
    agent = world.agent()
    rule = Rule(action, "^/v1/work/report$", times=2)
    world.proxy.add(rule)
    agent.work(ECHO)
    run = world.start(n=1)
    check(world.completed(run, SOON_S) == {"echo": {"n": 1}}, "the result is another")
    agent.wait("reported", run_id=run, counted=True, deadline_s=SOON_S)
    check(rule.used == 2, "the fault did not happen")
    check(len(agent.all("called", run_id=run)) == 1, "the handler is called once")
    check(len(world.facts("attempt_completed")) == 1, "the report counts once")


@case
def report_answer_lost(world):
    report_with(world, CUT_ANSWER)


@case
def report_request_lost(world):
    report_with(world, CUT_REQUEST)


@case
def many_answers_lost(world):
    world.register()
    agent = world.agent()
    rules = [Rule(CUT_ANSWER, "^/v1/work/report$", times=None, every=3),
             Rule(CUT_ANSWER, "^/v1/work/claim$", times=None, every=3, when=gives_attempts)]
    world.proxy.add(*rules)
    agent.work(ECHO, concurrency=4)
    # A few at a time, so that clients that report in batches lose responses too.
    count = 60
    for first in range(0, count, 4):
        runs = {world.start(n=n): n for n in range(first, first + 4)}
        for run, n in runs.items():
            check(world.completed(run, 2 * SOON_S) == {"echo": {"n": n}}, "a result is another")
    check(rules[0].used + rules[1].used > 4, "the faults did not happen")
    world.proxy.clear()
    world.until(lambda: len(agent.all("reported", counted=True)) == count, "all reports", SOON_S)
    check(len(world.facts("attempt_claimed")) == count, "each step is claimed once")
    check(len(agent.all("called")) == count, "each handler is called once")


# --- unavailable servers

@case
def server_killed_while_steps_run(world):
    world.register()
    agent = world.agent()
    agent.work(HELD, concurrency=3)
    runs = [world.start(n=n) for n in range(5)]
    agent.wait("called", count=3)
    world.server.kill()
    agent.send(do="release", handler="echo")
    world.restart()
    for n, run in enumerate(runs):
        check(world.completed(run) == {"echo": {"n": n}}, "a result is another")
    check(len(agent.all("called")) == 5, "each handler is called once")
    check(len(world.facts("attempt_claimed")) == 5, "each step is claimed once")
    world.until(lambda: len(agent.all("reported", counted=True)) == 5, "all reports", SOON_S)


@case
def server_killed_under_load(world):
    world.register()
    agent = world.agent()
    agent.work(ECHO, concurrency=4)
    numbers = []
    for part in range(3):
        numbers += [agent.begin(do="start", workflow="job", input={"n": part * 10 + n})
                    for n in range(10)]
        world.server.kill()
        world.restart()
    runs = [agent.result(number)["run_id"] for number in numbers]
    check(len(set(runs)) == 30, "30 starts are 30 runs")
    for n, run in enumerate(runs):
        check(world.completed(run) == {"echo": {"n": n}}, "a result is another")
    check(len(world.runs()) == 30, "no start counts twice")
    check(len(world.facts("attempt_completed")) == 30, "no report counts twice")


@case
def server_drain(world):
    world.register()
    agent = world.agent()
    agent.work(HELD, concurrency=2)
    busy = world.start(n=1)
    agent.wait("called", run_id=busy)
    world.until(lambda: world.claims_waiting() > 0, "a claim that waits")
    began = time.monotonic()
    check(world.server.stop() == 0, "the server ends in good order")
    check(time.monotonic() - began < SOON_S, "the worker holds the server up")
    world.restart()
    agent.send(do="release", handler="echo")
    check(world.completed(busy) == {"echo": {"n": 1}}, "what was under way counts")
    check(world.completed(world.start(n=2)) == {"echo": {"n": 2}}, "the worker came back")
    check(len(agent.all("called")) == 2, "each handler is called once")


# --- lost claims, ended runs

@case
def stale_claim(world):
    world.register(lease="1500ms")
    slow = world.agent()
    slow.work({"echo": {"hold": True, "answers": [{"outcome": "ok", "result": {"by": "slow"}}]}})
    run = world.start()
    slow.wait("called", run_id=run)
    slow.signal(signal.SIGSTOP)
    quick = world.agent()
    quick.work({"echo": {"answers": [{"outcome": "ok", "result": {"by": "quick"}}]}})
    check(world.completed(run) == {"by": "quick"}, "another worker takes over an expired claim")
    slow.signal(signal.SIGCONT)
    slow.send(do="release", handler="echo")
    world.until(lambda: slow.all("told_to_stop", run_id=run) or
                slow.all("reported", run_id=run, counted=False),
                "the slow one learns that it lost its claim", SOON_S)
    check(not slow.all("reported", run_id=run, counted=True), "what was lost does not count")
    check(len(world.facts("attempt_completed")) == 1, "one result counts")
    slow.wait("reported", run_id=run, deadline_s=SOON_S)
    # It continues with other work.
    quick.send(do="stop")
    quick.wait("stopped")
    check(world.completed(world.start()) == {"by": "slow"}, "the slow one works on")


@case
def cancelled_run(world):
    world.register(lease="1500ms")
    agent = world.agent()
    agent.work(HELD, concurrency=1)
    run = world.start()
    agent.wait("called", run_id=run)
    world.direct.good("POST", f"/v1/runs/{run}/cancel", {"mode": "stop"})
    agent.wait("told_to_stop", run_id=run, deadline_s=SOON_S)
    check(world.outcome(run)["status"] == "cancelled", "the run is cancelled")
    agent.wait("reported", run_id=run, counted=False, deadline_s=SOON_S)
    agent.send(do="release", handler="echo")
    check(world.completed(world.start(n=2)) == {"echo": {"n": 2}}, "the worker is free again")


@case
def compensating_run(world):
    world.direct.good("POST", "/v1/workflows", {"workflow": "job", "steps": [
        {"name": "first", "handler": "quick", "compensate": "undo"},
        {"name": "second", "handler": "echo", "after": "first", "lease": "1500ms"}]})
    agent = world.agent()
    agent.work({"quick": {}, "undo": {}, "echo": {"hold": True}})
    run = world.start()
    agent.wait("called", run_id=run, step="second")
    world.direct.good("POST", f"/v1/runs/{run}/cancel", {"mode": "compensate"})
    agent.wait("told_to_stop", run_id=run, deadline_s=SOON_S)
    agent.wait("reported", run_id=run, step="second", counted=True, deadline_s=SOON_S)
    agent.wait("called", run_id=run, handler="undo", deadline_s=SOON_S)
    check(world.outcome(run)["status"] == "cancelled", "the run was compensated")


# --- slow networks and servers

@case
def slow_network(world):
    world.register()
    agent = world.agent()
    world.proxy.byte_delay_s = 0.0002
    agent.work(ECHO, concurrency=2)
    runs = [agent.request(do="start", workflow="job", input={"n": n})["run_id"] for n in range(6)]
    for n, run in enumerate(runs):
        check(world.completed(run) == {"echo": {"n": n}}, "a result is another")
    check(len(world.runs()) == 6 and len(agent.all("called")) == 6, "everything happens once")


@case
def slow_answers(world):
    world.register(lease="3s")
    agent = world.agent()
    world.proxy.add(Rule(DELAY, "^/v1/(runs|work/report|work/heartbeat)$", times=None, seconds=0.7))
    agent.work(ECHO, concurrency=2)
    runs = [agent.request(do="start", workflow="job", input={"n": n})["run_id"] for n in range(4)]
    for n, run in enumerate(runs):
        check(world.completed(run) == {"echo": {"n": n}}, "a result is another")
    check(len(world.runs()) == 4 and len(agent.all("called")) == 4, "everything happens once")


def refused_for_a_while(world, status):
    world.register()
    agent = world.agent()
    rule = Rule(REFUSE, times=None, status=status, headers={"Retry-After": "1"})
    world.proxy.add(rule)
    began = time.monotonic()
    agent.work(ECHO, concurrency=2)
    number = agent.begin(do="start", workflow="job", input={"n": 1})
    world.until(lambda: time.monotonic() - began > 3, "three seconds")
    calls = len(world.proxy.requests(".*", began))
    check(calls > 1, "it does not try again")
    check(calls <= 16, f"{calls} calls in 3 s: Retry-After is not heeded")
    world.proxy.clear()
    run = agent.result(number, 2 * SOON_S)["run_id"]
    check(world.completed(run) == {"echo": {"n": 1}}, "it continues when the server is available")
    check(len(world.runs()) == 1, "one start is one run")


@case
def server_busy(world):
    refused_for_a_while(world, 503)


@case
def rate_limited(world):
    refused_for_a_while(world, 429)


@case
def outcome_in_doubt(world):
    world.register()
    agent = world.agent()
    rule = Rule(DOUBT, "^/v1/(runs|work/report)$", times=3)
    world.proxy.add(rule)
    agent.work(ECHO, concurrency=2)
    run = agent.request(do="start", workflow="job", input={"n": 1})["run_id"]
    check(world.completed(run) == {"echo": {"n": 1}}, "it is done in the end")
    world.until(lambda: rule.used > 1, "more than one answer that leaves the outcome open")
    check(len(world.runs()) == 1, "a start whose outcome is open is repeated under its own id")
    check(len(agent.all("called")) == 1, "a report that is repeated counts once")


# --- workers that are stopped

@case
def worker_drain(world):
    world.register()
    agent = world.agent()
    agent.work(HELD, concurrency=2)
    runs = [world.start(n=n) for n in range(5)]
    agent.wait("called", count=2)
    agent.signal(signal.SIGTERM)
    agent.send(do="release", handler="echo")
    agent.wait("stopped", deadline_s=SOON_S)
    check(agent.ends() == 0, "it ends with exit code 0")
    check(len(agent.all("reported", counted=True)) == len(agent.all("called")),
          "what was called is reported")
    check(world.leases() == [], "it left claims behind")
    done = [run for run in runs if world.outcome(run, 0)["terminal"]]
    check(len(done) == len(agent.all("called")), "what was claimed is done")
    other = world.agent()
    other.work(ECHO)
    for run in runs:
        world.completed(run, SOON_S)


@case
def idle_worker_stops_at_once(world):
    world.register()
    agent = world.agent()
    agent.work(ECHO)
    world.until(lambda: world.claims_waiting() > 0, "a claim that waits")
    began = time.monotonic()
    agent.signal(signal.SIGTERM)
    agent.wait("stopped", deadline_s=SOON_S)
    check(agent.ends() == 0, "it ends with exit code 0")
    check(time.monotonic() - began < 5, "it waited for its claim to end")
    other = world.agent()
    other.work(ECHO)
    world.completed(world.start(), SOON_S)


# --- events

@case
def events_are_resumed(world):
    world.register()
    agent = world.agent()
    agent.begin(do="events", after="0")
    for n in range(12):
        world.start(n=n)
        if n == 4:
            world.proxy.cut_all()
        if n == 8:
            world.server.kill()
            world.restart()
    wanted = [(f"{position}.{index}", entry["kind"]) for position, index, entry in
              world.entries() if not entry["thread"].startswith("access:")]
    agent.wait("fact", count=len(wanted))
    reported = [(one["place"], one["kind"]) for one in agent.all("fact")]
    check(reported == wanted, "a fact was lost, repeated or out of order")

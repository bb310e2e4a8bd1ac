#!/usr/bin/env python3
"""A worker that knows only Redis: it executes the steps of one queue. No package is needed.

usage: worker.py HOST:PORT|SOCKET QUEUE     (the server has --backend QUEUE=redis://HOST:PORT)
"""
import json, os, secrets, socket, sys


def connect(address):
    if "/" in address:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        link.connect(address)
    else:
        link = socket.create_connection(address.rsplit(":", 1))
    return link, link.makefile("rb")


def redis(connection, *words):
    link, file = connection
    parts = [str(word).encode() for word in words]
    link.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
    return read(file)


def read(file):
    line = file.readline()
    kind, rest = line[:1], line[1:-2]
    if kind == b"-":
        raise RuntimeError(rest.decode())
    if kind == b"*":
        return None if rest == b"-1" else [read(file) for _ in range(int(rest))]
    if kind == b"$":
        return None if rest == b"-1" else file.read(int(rest) + 2)[:-2].decode()
    return rest.decode()


def execute(attempt):
    """The work itself. An exception fails the attempt; the workflow decides what follows."""
    name = attempt.get("input", {}).get("name", "world")
    return {"greeting": f"hello {name}", "key": attempt["idempotency_key"]}


def work(address, queue):
    keys, me = f"holdfast:{{{queue}}}:", f"python-{os.getpid()}"
    call = lambda *words, to=connect(address): redis(to, *words)
    while True:
        found = call("XREADGROUP", "GROUP", "workers", me, "COUNT", 1, "BLOCK", 5000,
                     "STREAMS", keys + "ready", ">")
        if not found:
            continue
        entry, (_, item_id) = found[0][1][0]
        item = call("HGET", keys + "items", item_id)
        if item is None:  # it has ended meanwhile
            call("XACK", keys + "ready", "workers", entry)
            continue
        claim = ["id", item_id, "worker", me, "claim", secrets.token_urlsafe(16),
                 "token", secrets.token_urlsafe(32)]
        call("XADD", keys + "signals", "*", "kind", "claim", *claim)
        answer = call("BLPOP", keys + "answer:" + claim[5], 10)
        if answer is None or json.loads(answer[1])["verdict"] != "granted":
            continue
        try:
            kind, body = "complete", {"result": execute(json.loads(item)["payload"])}
        except Exception as error:
            kind, body = "retry", {"code": "python_error", "message": str(error)}
        call("XADD", keys + "signals", "*", "kind", kind, *claim, "body", json.dumps(body))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    work(sys.argv[1], sys.argv[2])

#!/usr/bin/env python3
"""5,000 members that are connected and receive nothing: what they cost a broker, and that a message
for one of them arrives, for all of them too.

Run as: python3 tests/broker_push_idle_test.py path/to/holdfast
"""

import concurrent.futures
import contextlib
import hashlib
import os
import resource
import sqlite3
import time

from support import broker, cli, server, ws
from support.broker import message

RECEIVERS = 5000
# Of the broker: more than the descriptors, the buffers of the system are not counted.
MOST_BYTES_EACH = 8 * 1024
# Sanitizers keep shadows, red zones and freed memory.
MOST_BYTES_EACH_SANITIZED = 512 * 1024
IDLE_S = 5
MOST_CPU_S = 0.25


class Idle(broker.BrokerTest):
    def add_receivers(self):
        """Members in bulk, as the broker would store them; token-N is the token of member N."""
        self.broker.close()
        with contextlib.closing(sqlite3.connect(self.path("broker.db"))) as db:
            mesh_id, = db.execute("SELECT mesh_id FROM mesh WHERE slug = 'team'").fetchone()
            for n in range(RECEIVERS):
                pubkey = hashlib.sha256(f"key-{n}".encode()).hexdigest()
                member = f"{n:026d}"
                db.execute(
                    "INSERT INTO member(member_id, mesh_id, pubkey, display_name, name_key, "
                    "token_hash, created_at) VALUES (?, ?, ?, ?, ?, ?, 1)",
                    (member, mesh_id, pubkey, f"idle-{n}", f"idle-{n}",
                     hashlib.sha256(f"token-{n}".encode()).digest()))
                db.execute("INSERT INTO destination VALUES (?, 'dm', ?, 0)", (mesh_id, pubkey))
                db.execute("INSERT INTO topic_subscription VALUES (?, 'alerts', ?, 'writer', 1)",
                           (mesh_id, member))
            db.commit()
        self.broker.start()

    def process_cost(self):
        """Resident bytes, and seconds of processor time."""
        pid = self.broker.process.pid
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            kilobytes = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(") ", 1)[1].split()
        return kilobytes * 1024, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_idle_receivers_cost_little_memory_and_no_time(self):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, RECEIVERS + 1000), most))
        self.add_receivers()
        address = self.broker.client().address
        warm = ws.Receiver(address, self.members["ben"]["token"])
        self.send(message("m-0"))
        warm.ack(warm.pushed(1))
        bytes_before, _ = self.process_cost()
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            receivers = list(pool.map(
                lambda n: ws.Receiver(address, f"token-{n}"), range(RECEIVERS)))
            for receiver in receivers:
                self.addCleanup(receiver.drop)
            # Every one of them had the message of before.
            list(pool.map(lambda one: one.ack(one.pushed(1)), receivers))
            bytes_each = (self.process_cost()[0] - bytes_before) / RECEIVERS
            _, cpu = self.process_cost()
            time_before = time.monotonic()
            self.pause(IDLE_S)
            spent = self.process_cost()[1] - cpu
            print(f"{RECEIVERS} receivers: {bytes_each:.0f} bytes each, "
                  f"{spent:.2f} s of processor time in {time.monotonic() - time_before:.0f} s idle")
            self.assertLess(bytes_each, MOST_BYTES_EACH_SANITIZED if cli.is_sanitized()
                            else MOST_BYTES_EACH)
            self.assertLess(spent, MOST_CPU_S)
            # A message for one of them, and one for all.
            chosen = RECEIVERS // 2
            begin = time.monotonic()
            pubkey = hashlib.sha256(f"key-{chosen}".encode()).hexdigest()
            self.assertEqual(self.send(message("m-1", kind="dm", ref=pubkey)).status, 201)
            self.assertEqual(ws.ids(receivers[chosen].pushed(1)), ["m-1"])
            print(f"one message for one of them: {(time.monotonic() - begin) * 1000:.0f} ms")
            begin = time.monotonic()
            self.assertEqual(self.send(message("m-2")).status, 201)
            list(pool.map(lambda one: one.ack(one.pushed(1)), receivers))
            print(f"one message for all of them: {time.monotonic() - begin:.1f} s, acknowledged")

    def pause(self, seconds):
        """Nothing may happen for so long."""
        end = time.monotonic() + seconds
        server.wait_until(lambda: time.monotonic() >= end, "the pause ends")


if __name__ == "__main__":
    cli.main(__doc__)

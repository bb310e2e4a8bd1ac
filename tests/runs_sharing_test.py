#!/usr/bin/env python3
"""Several processes on one store see the changes of each other and lose nothing.

Run as: python3 tests/runs_sharing_test.py path/to/holdfast
"""

import os

from support import cli


class SharedTest(cli.RunsTest):
    def setUp(self):
        super().setUp()
        self.write("quick.yaml", "workflow: quick\nsteps:\n  - {name: one, exec: ['true']}\n")

    def wait_for_end_of(self, run):
        cli.wait_until(lambda: self.shown(run)["status"] == "completed", f"the end of {run}")


class Sharing(SharedTest):
    def check_store(self, runs):
        self.assertEqual(sorted(run["run_id"] for run in self.runs()), sorted(runs))
        self.assertEqual({run["status"] for run in self.runs()}, {"completed"})
        self.assertIn("is intact", self.ok("journal", "verify", "sqlite:holdfast.db"))

    def test_a_worker_executes_the_runs_of_other_processes_in_order(self):
        runs = [self.start("quick.yaml")]
        with cli.started("work", "--quiet", cwd=self.directory) as worker:
            for _ in range(5):
                runs.append(self.start("quick.yaml"))
                self.wait_for_end_of(runs[-1])
            worker.terminate()
            self.assertEqual(worker.wait(cli.DEADLINE_S), 0)
        self.check_store(runs)

    @staticmethod
    def open_files(pid):
        files = []
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                files.append(os.readlink(f"/proc/{pid}/fd/{name}"))
            except FileNotFoundError:  # closed in the meantime
                pass
        return files

    def test_a_write_ahead_log_in_use_is_not_removed(self):
        """The last process to close the store removes the write-ahead log; any other process keeps
        it."""
        self.start("quick.yaml")
        with cli.started("run", "leave.yaml", cwd=self.directory, stdout=-1) as process:
            cli.Output(process.stdout.fileno()).wait_for(rb"holdfast approve")
            for command in (["start", "quick.yaml"], ["list"], ["cancel", self.start("nap.yaml")]):
                self.ok(*command)
                files = self.open_files(process.pid)
                self.assertEqual([file for file in files if file.endswith("(deleted)")], [])
            self.ok("approve", self.runs("--workflow", "leave")[0]["run_id"], "--actor", "ann")
            self.assertEqual(process.wait(cli.DEADLINE_S), 0)
        self.assertIn("is intact", self.ok("journal", "verify", "sqlite:holdfast.db"))

    def test_two_workers_execute_each_step_once(self):
        self.write("count.yaml", "workflow: count\nsteps:\n"
                   "  - {name: one, exec: [sh, -c, 'echo $HOLDFAST_RUN_ID >> done']}\n")
        work = ["work", "--quiet", "--with", "count.yaml"]
        with cli.started(*work, cwd=self.directory) as first, \
                cli.started(*work, cwd=self.directory) as second:
            runs = [self.start("count.yaml") for _ in range(20)]
            for run in runs:
                self.wait_for_end_of(run)
            for worker in (first, second):
                worker.terminate()
                self.assertEqual(worker.wait(cli.DEADLINE_S), 0)
        self.assertEqual(sorted(self.read("done").split()), sorted(runs))
        self.check_store(runs)


class Pages(SharedTest):
    """Runs start and end while a reader turns pages."""

    def pages(self, *options, between):
        """The run ids of all pages, in order."""
        found, cursor = [], []
        while True:
            page = self.ok_json("list", "--limit", "7", *options, *cursor)
            self.assertLessEqual(len(page["runs"]), 7)
            found += [run["run_id"] for run in page["runs"]]
            if page["next"] is None:
                return found
            cursor = ["--cursor", page["next"]]
            between()

    def test_every_run_is_on_exactly_one_page(self):
        before = [self.start("quick.yaml") for _ in range(40)]
        later = []
        with cli.started("work", "--quiet", cwd=self.directory, stderr=-1) as worker:
            def start_another():
                later.append(self.start("quick.yaml"))

            newest_first = self.pages(between=start_another)
            oldest_first = self.pages("--oldest-first", between=start_another)
            self.assertIsNone(worker.poll())
        self.assertEqual(len(newest_first), len(set(newest_first)))
        self.assertEqual([run for run in newest_first if run in before], before[::-1])
        self.assertEqual(len(oldest_first), len(set(oldest_first)))
        self.assertEqual(oldest_first[:40], before)
        self.assertGreater(len(later), 5)

    def test_with_a_filter_a_run_is_on_one_page_at_most(self):
        before = [self.start("quick.yaml") for _ in range(30)]
        with cli.started("work", "--quiet", cwd=self.directory, stderr=-1):
            found = self.pages("--status", "completed", between=lambda: None)
            self.assertEqual(len(found), len(set(found)))
            cli.wait_until(lambda: not self.runs("--status", "running"), "the end of all runs")
            found = self.pages("--status", "completed", between=lambda: self.start("quick.yaml"))
        self.assertEqual([run for run in found if run in before], before[::-1])

    def test_the_past_does_not_change_while_it_is_read(self):
        before = [self.start("quick.yaml") for _ in range(20)]
        position = str(self.ok_json("status")["as_of"]["position"])
        with cli.started("work", "--quiet", cwd=self.directory, stderr=-1):
            for _ in range(2):
                found = self.pages("--at", position, between=lambda: self.start("quick.yaml"))
                self.assertEqual(found, before[::-1])
                states = {run["status"] for run in self.runs("--at", position)}
                self.assertEqual(states, {"running"})


if __name__ == "__main__":
    cli.main(__doc__)

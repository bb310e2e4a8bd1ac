#include "apps/cli/cli_help.h"

namespace holdfast::help {

const char* const kProgram =
    "Holdfast keeps work alive: runs of workflows survive crashes, restarts and lost workers,\n"
    "and anyone can ask at any time what is happening and why.";
const char* const kProgramExamples = R"(First commands to try, with a workflow in order.yaml:
  holdfast run order.yaml --input '{"total":12}'   # carry it out, with live progress
  holdfast list                                    # what there is
  holdfast explain latest                          # why it is where it is, and what to do next
  holdfast timeline latest                         # what happened, and how long it took
  holdfast work --drain                            # go on with whatever is open

Runs are kept in a store: sqlite:PATH or postgres://user@host/database?schema=NAME, named by
--store or HOLDFAST_STORE; without either it is sqlite:holdfast.db in this folder. Or a server has
the store (`holdfast server`): named by --server or HOLDFAST_SERVER, same commands, same answers.

Exit codes:
  0    done
  1    done, and the answer is bad: the run failed or was cancelled, doctor found a fault
  2    cannot be done as asked: wrong arguments, missing file, no such run, not a journal
  3    the data is damaged
  4    conflict: somebody else was first, nothing was written
  5    the store, the server or the machine failed
  6    the run waits for others (run --until-blocked)
  130  stopped by Ctrl-C)";

const char* const kJournal = "Read, check and move journals.";
const char* const kJournalExamples = R"(Examples:
  holdfast journal stat sqlite:demo.db
  holdfast journal cat sqlite:demo.db --thread run:1
  holdfast journal cat --help)";

const char* const kAppend = "Append one entry to a thread and wait until it is on disk.";
const char* const kAppendExamples = R"(The store is made if it does not exist.

Examples:
  holdfast journal append sqlite:demo.db run:1 run_started '{"workflow":"hello"}'
  echo '{"result":42}' | holdfast journal append sqlite:demo.db run:1 step_done -

Only if the thread is still as you have read it (exit code 4 if it is not):
  holdfast journal append sqlite:demo.db run:1 run_ended --expected-rev 2)";

const char* const kStat = "Show what a journal is: its id, positions, newest hash and size.";
const char* const kStatExamples = R"(Examples:
  holdfast journal stat sqlite:demo.db
  holdfast journal stat postgres://me@db.example/work --json)";

const char* const kCat = "Print entries: the whole journal in commit order, or one thread.";
const char* const kCatExamples = R"(A line is: time, position, thread#seq, kind, data.

Examples:
  holdfast journal cat sqlite:demo.db
  holdfast journal cat sqlite:demo.db --from 100 --limit 20      from position 100
  holdfast journal cat sqlite:demo.db --thread run:1 --from 5    from entry 5 of the thread
  holdfast journal cat sqlite:demo.db --follow                   and what comes later; Ctrl-C ends
  holdfast journal cat sqlite:demo.db --json | jq .data)";

const char* const kVerify = "Prove a whole journal: every hash, the chain, every thread.";
const char* const kVerifyExamples =
    R"(Changes nothing. Exit code 0: every byte is as it was written. 3: damaged; the message
names the place.

Examples:
  holdfast journal verify sqlite:demo.db
  holdfast journal verify sqlite:demo.db --json)";

const char* const kExport = "Write a whole journal as JSON lines.";
const char* const kExportExamples =
    R"(The lines are a header, one per entry, and an end line with the hash over everything.
A file appears under its name only when it is complete and on disk.

Examples:
  holdfast journal export sqlite:demo.db demo.jsonl
  holdfast journal export sqlite:demo.db | gzip > demo.jsonl.gz)";

const char* const kImport = "Make a journal from an export: same id, positions and hashes.";
const char* const kImportExamples =
    R"(Nothing is written unless the whole file is good. An import that was broken off goes on when
it is run again.

Examples:
  holdfast journal import sqlite:restored.db demo.jsonl
  gunzip -c demo.jsonl.gz | holdfast journal import sqlite:restored.db -)";

const char* const kCopy = "Copy a whole journal to another store, byte for byte.";
const char* const kCopyExamples =
    R"(Bodies, hashes and checkpoints are the same afterwards. A copy that was broken off goes on
when it is run again; a finished one is brought up to date.
Until it is complete, the target cannot be opened as a journal.

Examples:
  holdfast journal copy sqlite:demo.db sqlite:backup.db
  holdfast journal copy sqlite:demo.db 'postgres://me@db.example/work?schema=demo'
  holdfast journal copy 'postgres://me@db.example/work?schema=demo' sqlite:back.db)";

const char* const kSeal = "Move old batches into compressed segments, one per thread.";
const char* const kSealExamples =
    R"(Nothing is lost and nothing changes for readers. Safe at any time, also while other
programs append.

Examples:
  holdfast journal seal sqlite:demo.db
  holdfast journal seal sqlite:demo.db --below 1000    keep the batches from 1000 on as they are
  holdfast journal seal sqlite:demo.db --reclaim       and give the freed space back)";

const char* const kWorkflow = "Check workflow files; look at the workflows that a store knows.";
const char* const kWorkflowExamples = R"(Examples:
  holdfast workflow check orders.yaml
  holdfast workflow schema > workflow.schema.json
  holdfast workflow list
  holdfast workflow diff order order.yaml)";

const char* const kWorkflowCheck = "Check workflow files: every fault with its line.";
const char* const kWorkflowCheckExamples =
    R"(A file is YAML or JSON. A first one to try:
  workflow: orders
  version: "1"
  steps:
    - name: charge
      retry: {max_attempts: 5, delay: 2s, backoff: exponential}
    - name: ship
      after: charge

Each fault is one line: file:line:column: place: what is wrong [code]. Warnings have "warning:"
before the place and do not change the exit code. Nothing is changed or run. --json prints one
object with valid, files, errors and warnings.
Exit code 0: all files are valid. 2: a file has faults or cannot be read.

Examples:
  holdfast workflow check orders.yaml
  holdfast workflow check flows/*.yaml
  holdfast workflow check --json orders.yaml | jq .errors
  generate_workflow | holdfast workflow check -)";

const char* const kWorkflowSchema = "Print the JSON Schema of workflow files, for editors.";
const char* const kWorkflowSchemaExamples =
    R"(With it an editor completes fields, shows what they mean and marks mistakes. Many editors
find it by a comment in the first line of a YAML file:
  # yaml-language-server: $schema=workflow.schema.json

The schema knows the fields and their values; how steps fit together only check knows.

Examples:
  holdfast workflow schema > workflow.schema.json)";

const char* const kSimulate =
    "Try a workflow, or Holdfast itself, in a world where everything goes wrong that can.";
const char* const kSimulateExamples =
    R"(The real engine, journal and log run in virtual time: processes that die at any step, stores
that fail, clocks that jump, workers that stall, repeat themselves and come late. When the faults
end, every run must end. The same seed gives the same simulation.

With FILE it is your workflow. Handlers, http and exec steps are not called: they answer what the
world file declares (order.sim.yaml beside order.yaml), which also says what people decide, which
events come, and the invariants, what must never happen:

  runs: {count: 1..3, inputs: [{order_id: o-1}]}
  handlers:
    charge:
      - {ok: {receipt: r-1}, weight: 8, takes: 100ms..3s}
      - {error: busy, retryable: true}
      - {error: no_answer, done: true}     # it happened, and the answer was lost
  decisions: {review: {approve: 4, reject: 1, after: 1m..2h}}
  events: [{event: paid, chance: 90, after: 1s..3h}]
  invariants:
    - {step: ship, needs: charge}
    - {step: charge, followed_by: [ship, refund], as: executed}
    - {step: charge, at_most: 1, as: executed}
    - {ends_within: 4h}

Without such a file every handler answers {} after 1 ms to 1 s, and everything is approved.
docs/simulate.md has all of it.

The first seed that breaks an invariant is made as short as it can be, and told in the words of
your workflow, with the one command that plays it again. Steps, transitions, decisions and outcomes
that no simulation met are listed. Without FILE workflows are made up, and everything is judged by a
model of what Holdfast promises.

Examples:
  holdfast simulate order.yaml
  holdfast simulate order.yaml --seeds 5000 --faults crash,worker
  holdfast simulate order.yaml --seed 42 --story
  holdfast simulate order.yaml --with shipping.yaml --world rough.sim.yaml --json
  holdfast simulate backup.yaml --real
  holdfast simulate --seconds 60 --coverage

Exit codes: 0 nothing was broken; 1 an invariant or a promise was, or --coverage without FILE found
something that was never met; 2 a file or an option cannot be used.)";

const char* const kBench = "Measure this machine.";
const char* const kBenchExamples = R"(Examples:
  holdfast bench journal --quick
  holdfast bench engine --quick
  holdfast bench workflow --quick
  holdfast bench engine --help)";

const char* const kBenchJournal = "Measure a journal against the raw disk under it.";
const char* const kBenchJournalExamples =
    R"(limit is what the disk does without a journal (append + fdatasync of the same bytes; on
PostgreSQL one row per commit), measured in the same run; ratio is value / limit.
Prints a table on a terminal, otherwise JSON lines. The store must not exist yet; without
--store it is a temporary file under $TMPDIR or /var/tmp.

Examples:
  holdfast bench journal
  holdfast bench journal --quick --json
  holdfast bench journal --store sqlite:/data/bench.db --keep)";

const char* const kBenchEngine = "Measure runs and steps against the raw disk under them.";
const char* const kBenchEngineExamples =
    R"(Handlers do nothing, so what is measured is the engine. limit is what the disk does with the
same bytes and as many syncs, measured in the same run; for claims with many pending attempts it
is the rate with few, for the last steps of a long run the time of its first. ratio is
value / limit. A single chain is also measured in syncs of the disk.
A long run is measured as a loop and as a for_each; in memory its time is the processor's. With
large payloads, value is how far the process grows and limit the bytes of the payloads.
Cases: one_step, chains, single_chain, fan_out, long_run, long_run_in_memory, pending, sleeping,
payloads.
Prints a table on a terminal, otherwise JSON lines. The store must not exist yet; without
--store it is a temporary file under $TMPDIR or /var/tmp.

Examples:
  holdfast bench engine
  holdfast bench engine --only single_chain
  holdfast bench engine --store postgres://user@host/database?schema=scratch --json)";

const char* const kBenchWorkflow = "Measure conditions, lists, joins and waits.";
const char* const kBenchWorkflowExamples =
    R"(Handlers do nothing, so what is measured is the engine. limit is the steps per second of
plain chains of 10 steps, 64 at once, measured in the same run; ratio is value / limit.
Cases: conditions, for_each, diamond, waking, asleep.
Prints a table on a terminal, otherwise JSON lines. The store must not exist yet; without
--store it is a temporary file under $TMPDIR or /var/tmp.

Examples:
  holdfast bench workflow
  holdfast bench workflow --only for_each
  holdfast bench workflow --only asleep --sleeping 100000)";

const char* const kBenchServer = "Measure a server with workers elsewhere.";
const char* const kBenchServerExamples =
    R"(Starts `holdfast server` on a new SQLite store in a process of its own and loads it over
loopback. Handlers do nothing. limit is what the embedded engine does with the same runs, measured
in turn in the same run; ratio is value / limit.
Cases: one_step_batched, one_step_single, chain_batched, chain_single, latency, wake, cheapest,
idle.
Prints a table on a terminal, otherwise JSON lines. The store is a temporary file under $TMPDIR or
/var/tmp.

Examples:
  holdfast bench server
  holdfast bench server --only latency)";

}  // namespace holdfast::help

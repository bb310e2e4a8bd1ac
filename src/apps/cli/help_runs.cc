#include "apps/cli/help_runs.h"

namespace holdfast::help {

const Text kRun = {
    "Start a run of a workflow file and carry it out here, with live progress.",
    R"(The run is kept in the store (made if it does not exist), so it survives this program: after
Ctrl-C, a crash or a reboot `holdfast work` goes on where it was. Steps that are done are never
done again.

exec, http, log, wait, pause, approval, await_event and child steps need nothing else. Every other
step needs a handler: it waits until a program that has registered it works on the same store. The
command says at once which handlers those are. Approvals and events are given from another terminal;
the command to copy is shown.

With --server the run is started there and followed from here; workers of the server carry it out.

Examples:
  holdfast run order.yaml --input '{"total":12}'
  holdfast run order.yaml --input @order.json --key order-42   one run, however often it is typed
  holdfast run parent.yaml --with child.yaml
  holdfast run order.yaml --until-blocked       stop when only others can move it: exit code 6

Exit codes: 0 completed, 1 failed or cancelled, 6 it waits (--until-blocked), 130 Ctrl-C.)"};

const Text kWork = {
    "Go on with everything that is open: steps, timers, schedules.",
    R"(Runs until Ctrl-C; then what is under way is ended first (a second Ctrl-C leaves at once, and
what was under way is taken again when its lease is over). Any number of these, on one machine or
several, share the work of a store. With --server it carries out http and exec steps of the server,
as `holdfast worker` does.

Examples:
  holdfast work
  holdfast work --drain                  until nothing can be done now
  holdfast work --queue reports --threads 4
  holdfast work --with nightly.yaml      registers the workflow first: its schedule begins)"};

const Text kStart = {
    "Start a run without carrying it out: prints its id.",
    R"(WORKFLOW is a file, or the name of a workflow that the store knows. `holdfast work`, or any
program that works on the store, carries it out.

Examples:
  holdfast start order.yaml --input '{"total":12}'
  holdfast start order --key order-42 --attribute customer=ann --attribute total=12)"};

const Text kList = {
    "List runs, newest first.",
    R"(A run stays on its page while others start and end. --status may be given several times: new,
started, running, idle, paused, compensating, completed, failed, cancelled, continued.

Examples:
  holdfast list
  holdfast list --status failed --since 2026-11-16
  holdfast list --workflow order --attribute customer=ann
  holdfast list --at 1h                  as it was an hour ago
  holdfast list --json | jq -r '.runs[].run_id')"};

const Text kShow = {"Show one run: how far each step is, what it waits for, what came of it.",
                    R"(RUN is an id, the beginning or the end of one, or latest.
Values under keys that name secrets (password, token, api_key and the like) are not shown.

Examples:
  holdfast show latest
  holdfast show 9f3c21
  holdfast show latest --at r5           as it was at its revision 5
  holdfast show latest --json | jq .context)"};

const Text kExplain = {
    "Say why a run is where it is, and what would move it.",
    R"(One sentence, then every cause down to what is outside: a person, an event, a time, a worker,
a child run and what that waits for; then the commands to copy.

Examples:
  holdfast explain latest
  holdfast explain 9f3c21 --at 10m       why was it there ten minutes ago?
  holdfast explain latest --json | jq -r .reason)"};

const Text kGraph = {"Show the steps of a run and what joins them, or of a workflow file.",
                     R"(Examples:
  holdfast graph latest
  holdfast graph order.yaml
  holdfast graph latest --dot | dot -Tsvg > run.svg
  holdfast graph latest --mermaid)"};

const Text kTimeline = {
    "Show what happened to a run, and how long each attempt took.",
    R"(A bar per attempt; nothing is left out because it was repeated. --events prints every fact.

Examples:
  holdfast timeline latest
  holdfast timeline latest --events
  holdfast timeline latest --json | jq '.events[].summary')"};

const Text kDiff = {
    "Show what changed in a run between two points.",
    R"(A point is a log position (123), a revision of the run (r5), a time or an age (10m).

Examples:
  holdfast diff latest --from r3
  holdfast diff latest --from 10m --to 5m
  holdfast diff latest --from r3 --to r5 --json)"};

const Text kStatus = {"Show the whole store in numbers: runs, queues, what needs attention.",
                      R"(Examples:
  holdfast status
  holdfast status --at 2026-11-16T14:02:00Z
  holdfast status --json | jq .queues)"};

const Text kDoctor = {
    "Look for what is not as it should be, and say what to do.",
    R"(Looks at every run that has not ended: is there something that will move it, is its
definition there, were its workers lost, is it overdue? Changes nothing. `holdfast journal verify`
proves the bytes.

Examples:
  holdfast doctor
  holdfast doctor --json | jq .verdict

Exit codes: 0 all is well, or there are only warnings; 1 a fault was found.)"};

const Text kCancel = {
    "Cancel a run: nothing of it is carried out any more.",
    R"(Steps that are done are compensated if the workflow says so (compensate_on_cancel), or with
--compensate; with --stop nothing more happens at all.

Examples:
  holdfast cancel latest --actor ann --comment 'ordered twice'
  holdfast cancel 9f3c21 --compensate)"};

const Text kSignal = {"Send an event to a run; it is kept until the run waits for it.",
                      R"(Examples:
  holdfast signal latest payment --data '{"amount":12}'
  holdfast signal 9f3c21 payment --data @payment.json --key payment-77   counts once)"};

const Text kResume = {"Resume a run that is paused.",
                      R"(Examples:
  holdfast resume latest
  holdfast resume 9f3c21 --step check --actor ann --comment 'looks right')"};

const Text kApprove = {"Grant an approval a run waits for.",
                       R"(Examples:
  holdfast approve latest --actor ann
  holdfast approve 9f3c21 --step manager --actor ann --comment 'fine with me')"};

const Text kReject = {"Refuse an approval a run waits for: the step fails.",
                      R"(Examples:
  holdfast reject latest --actor ann --comment 'too expensive')"};

const Text kReplay = {
    "Repeat a run as a new one: whole, or from a step on.",
    R"(Prints the id of the new run; `holdfast work` carries it out. Steps that cannot be undone are
only repeated with --allow-irreversible.

Examples:
  holdfast replay latest
  holdfast replay 9f3c21 --from-step ship
  holdfast replay 9f3c21 --input '{"total":13}')"};

const Text kWorkflowList = {"List the workflows that a store knows.",
                            R"(Examples:
  holdfast workflow list
  holdfast workflow list --json)"};

const Text kWorkflowShow = {"Show a workflow that a store knows: its steps and its definition.",
                            R"(Examples:
  holdfast workflow show order
  holdfast workflow show order@2          version 2
  holdfast workflow show order@3fa94c     the definition with this fingerprint
  holdfast workflow show order --json | jq .definition)"};

const Text kWorkflowDiff = {"Show what is different between two definitions.",
                            R"(Each is a file, NAME, NAME@VERSION or NAME@FINGERPRINT.

Examples:
  holdfast workflow diff order order.yaml       what would registering this file change?
  holdfast workflow diff order@1 order@2)"};

const Text kCompletion = {"Print a script that completes commands in a shell.",
                          R"(Examples:
  source <(holdfast completion bash)            in ~/.bashrc
  source <(holdfast completion zsh)             in ~/.zshrc, after compinit)"};

}  // namespace holdfast::help

#include "apps/cli/help_server.h"

namespace holdfast::help {

const Text kServer = {
    "Serve a store to programs on this machine and others, over HTTP.",
    R"(The store is made if it does not exist. Timers, schedules and recovery happen here; steps are
carried out by workers: `holdfast worker`, programs with a client, or this process itself (--work,
for http and exec steps). Several servers may share a PostgreSQL store.

As long as the store has no token, everybody on this machine may do everything and nobody else
anything; `holdfast token create` makes the first. Listen to other machines with --tls-cert and
--tls-key, or behind a proxy that speaks TLS.

Ctrl-C or SIGTERM stops it in good order: waiting calls are answered, what is under way has --grace
seconds.

Examples:
  holdfast server
  holdfast server --store postgres://me@db.example/work --work 4
  holdfast server --listen 0.0.0.0:7717 --tls-cert server.pem --tls-key server.key
  holdfast server --socket /run/holdfast/socket --log json
  curl http://127.0.0.1:7717/readyz

Every command takes --server http://127.0.0.1:7717 then, or HOLDFAST_SERVER.)"};

const Text kWorker = {
    "Carry out steps of a server in this process: http, exec, and programs as handlers.",
    R"(Runs until Ctrl-C; then what is under way is ended and reported first. Any number of these,
on one machine or several, share the work. A worker that is lost loses nothing: its steps are taken
by others when their leases are over.

A handlers file says what stands for the handlers of steps, as exec and http steps say it:
  handlers:
    charge: {exec: [./charge.sh]}
    notify: {http: {url: "https://shop.example/notify", allowed_hosts: [shop.example]}}

The credential shop_key of an http step is the variable HOLDFAST_CREDENTIAL_SHOP_KEY.

Examples:
  holdfast worker --server http://127.0.0.1:7717
  holdfast worker --handlers handlers.yaml --queue reports --threads 4
  HOLDFAST_TOKEN=hf_… holdfast worker --server https://work.example --only-handlers)"};

const Text kToken = {"Make, list and revoke the tokens that programs show to a server.",
                     R"(Examples:
  holdfast token create --role worker --name billing --queue billing
  holdfast token list
  holdfast token revoke 3f2a9c41d07b5e6688aa12cd)"};

const Text kTokenCreate = {
    "Make a token: prints it, this once.",
    R"(The store keeps only a hash of it. From the first token on a server asks everybody who comes
over the network for one; who owns the server's process may come by its socket without.

Roles:
  viewer    looks
  client    looks, starts runs, sends events
  worker    carries out steps; with --queue only of those queues
  operator  looks, starts, cancels, approves, registers workflows
  admin     everything, also tokens and backups
With --workflow a viewer, client or operator sees and touches runs of those workflows only.

Examples:
  holdfast token create --role admin --name ann > ann.token
  holdfast token create --role worker --name billing --queue billing --queue refunds
  holdfast token create --role client --name shop --workflow order --expires 90d
  holdfast list --server https://work.example --token-file ann.token)"};

const Text kTokenList = {"List tokens: who may do what, and until when. Secrets are not shown.",
                         R"(Examples:
  holdfast token list
  holdfast token list --json | jq '.tokens[] | select(.valid)')"};

const Text kTokenRevoke = {
    "Revoke a token: whoever shows it is refused from now on.",
    R"(ID is the first part of a token, between hf_ and the next _; `token list` shows it.

Examples:
  holdfast token revoke 3f2a9c41d07b5e6688aa12cd)"};

const Text kBackup = {
    "Write everything a store holds to a file, consistent as of one moment.",
    R"(Servers and workers may go on meanwhile. The file appears under its name only when it is
complete, on disk and was read back. It holds inputs and results as they are: keep it as safe as the
store. `holdfast restore` makes a store of it.

Examples:
  holdfast backup --out monday.jsonl
  holdfast backup --server https://work.example --token-file admin.token --out monday.jsonl
  holdfast backup | zstd > monday.jsonl.zst)"};

const Text kRestore = {
    "Make a store from a backup: same runs, same history, same hashes.",
    R"(The store must not hold anything yet. Nothing is written unless the whole file is good; what
was written is proved afterwards. A restore that was broken off goes on when it is run again.

Examples:
  holdfast restore monday.jsonl --store sqlite:restored.db
  zstd -dc monday.jsonl.zst | holdfast restore - --store postgres://me@db.example/work)"};

const Text kQueues = {"List the queues of a server: what waits in them, and what it waits for.",
                      R"(Examples:
  holdfast queues --server http://127.0.0.1:7717
  holdfast queues --json | jq '.queues[] | select(.blocked != [])')"};

const Text kWorkers = {"List the workers of a server: who is there, and what each is at.",
                       R"(Examples:
  holdfast workers --server http://127.0.0.1:7717
  holdfast workers --json | jq '.workers[].leases')"};

const Text kSchedules = {
    "List the schedules of a server; pause, resume or trigger one.",
    R"(Times that pass while a schedule is paused are not made up for. trigger starts a run now and
prints its id, whether the schedule is paused or not.

Examples:
  holdfast schedules --server http://127.0.0.1:7717
  holdfast schedules pause report nightly --actor ann --comment 'the printer is away'
  holdfast schedules resume report nightly
  holdfast schedules trigger report nightly --input '{"day":"2026-11-16"}')"};

const Text kApprovals = {"List who is waited for: approvals and pauses, oldest first.",
                         R"(Examples:
  holdfast approvals --server http://127.0.0.1:7717
  holdfast approvals --json | jq -r '.approvals[].run_id')"};

}  // namespace holdfast::help

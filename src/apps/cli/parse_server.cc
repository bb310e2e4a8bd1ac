#include <CLI/CLI.hpp>

#include "apps/cli/grammar.h"
#include "apps/cli/help_server.h"

namespace holdfast {

namespace {

void add_word(CLI::App& app, const std::string& name, std::string& target,
              const std::vector<std::string>& words, const char* help) {
  limit_to(app.add_option(name, target, help)->type_name("WORD"), words);
}

void add_numbers(CLI::App& app, ServeOptions& options) {
  add_number(app, "--work", options.work,
             "Threads that carry out http and exec steps here (default: 0)");
  add_number(app, "--grace", options.grace_s,
             "Seconds for what is under way when it is told to stop (default: 30)");
  add_number(app, "--rate", options.rate, "Requests per second and token (default: 0, no limit)");
  add_number(app, "--max-auth-failures", options.max_auth_failures,
             "Failed authentications per minute and address (default: 60; 0: no limit)");
  add_number(app, "--max-body", options.max_body_bytes, "Bytes of one request at most");
  add_number(app, "--max-connections", options.max_connections, "Connections at most");
  add_number(app, "--idle-timeout", options.idle_timeout_s,
             "Seconds until a connection without a request is closed");
  add_number(app, "--request-timeout", options.request_timeout_s,
             "Seconds for a request to arrive whole");
  add_number(app, "--io-threads", options.io_threads, "Threads for all connections");
}

void add_serve(Grammar& grammar, CLI::App& program) {
  auto [serve, options] =
      grammar.add<ServeOptions>(program, "server", help::kServer.what, help::kServer.examples);
  add_option(*serve, "--store", options->store, "URL",
             "The store (default: $HOLDFAST_STORE, else sqlite:holdfast.db)");
  add_list(*serve, "--listen", options->listen, "HOST:PORT",
           "Where it listens; may be given several times (default: 127.0.0.1:7717)");
  add_option(*serve, "--socket", options->socket, "PATH", "Also a unix socket, for its owner");
  add_option(*serve, "--tls-cert", options->tls_cert, "FILE", "The certificate chain, PEM");
  add_option(*serve, "--tls-key", options->tls_key, "FILE", "Its key, PEM");
  serve->get_option("--tls-cert")->needs("--tls-key");
  serve->get_option("--tls-key")->needs("--tls-cert");
  add_word(*serve, "--log", options->log, {"text", "json"}, "What it writes to standard error");
  add_word(*serve, "--log-level", options->log_level, {"debug", "info", "warning", "error"},
           "What is worth a line (default: info)");
  add_numbers(*serve, *options);
}

void add_worker(Grammar& grammar, CLI::App& program) {
  auto [worker, options] =
      grammar.add<WorkerOptions>(program, "worker", help::kWorker.what, help::kWorker.examples);
  add_server(*worker, options->backend);
  add_option(*worker, "--handlers", options->handlers, "FILE",
             "Which programs and URLs stand for handlers");
  add_list(*worker, "--queue", options->queues, "NAME",
           "Only steps of this queue (default: all that the token allows)");
  add_number(*worker, "--threads", options->threads, "Steps at once (default: 4)");
  add_option(*worker, "--name", options->name, "NAME",
             "What lists call it (default: the name of this machine)");
  worker->add_flag("--only-handlers", options->only_handlers,
                   "Leave the http and exec steps of workflows to others");
  worker->add_flag("--quiet", options->quiet, "Print nothing");
}

void add_tokens(Grammar& grammar, CLI::App& program) {
  CLI::App& token = Grammar::add_family(program, "token", help::kToken.what, help::kToken.examples);
  auto [create, options] =
      add_backend_command<TokenCreateOptions>(grammar, token, "create", help::kTokenCreate);
  limit_to(
      create->add_option("--role", options->role, "What it allows")->type_name("ROLE")->required(),
      {"viewer", "client", "worker", "operator", "admin"});
  create->add_option("--name", options->name, "Whose it is, for the record")
      ->type_name("NAME")
      ->required();
  add_list(*create, "--queue", options->queues, "NAME", "Of a worker: only steps of this queue");
  add_list(*create, "--workflow", options->workflows, "NAME", "Only runs of this workflow");
  add_option(*create, "--expires", options->expires, "TIME",
             "When it is over: a time, or how long from now (30d)");
  add_option(*create, "--actor", options->actor, "WHO", "Who makes it, for the record");
  add_backend_command<TokenListOptions>(grammar, token, "list", help::kTokenList);
  auto [revoke, revoke_options] =
      add_backend_command<TokenRevokeOptions>(grammar, token, "revoke", help::kTokenRevoke);
  add_text(*revoke, "ID", revoke_options->id, "the id of the token, not the token");
}

void add_backups(Grammar& grammar, CLI::App& program) {
  auto [backup, options] =
      add_backend_command<BackupOptions>(grammar, program, "backup", help::kBackup);
  add_option(*backup, "--out", options->out, "FILE",
             "The file to write (default: -, standard output)");
  backup->add_flag("--force", options->force, "Replace FILE if it exists");

  auto [restore, restore_options] =
      grammar.add<RestoreOptions>(program, "restore", help::kRestore.what, help::kRestore.examples);
  add_text(*restore, "FILE", restore_options->file, "a backup; - reads standard input");
  add_option(*restore, "--store", restore_options->store, "URL",
             "The store to make (default: $HOLDFAST_STORE, else sqlite:holdfast.db)");
}

void add_lists(Grammar& grammar, CLI::App& program) {
  add_backend_command<QueuesOptions>(grammar, program, "queues", help::kQueues);
  add_backend_command<WorkersOptions>(grammar, program, "workers", help::kWorkers);
  auto [schedules, options] =
      add_backend_command<SchedulesOptions>(grammar, program, "schedules", help::kSchedules);
  limit_to(
      schedules
          ->add_option("ACTION", options->action, "pause, resume or trigger; none: they are listed")
          ->type_name(""),
      {"pause", "resume", "trigger"});
  schedules->add_option("WORKFLOW", options->workflow, "the workflow")->type_name("");
  schedules->add_option("TRIGGER", options->trigger, "its trigger")->type_name("");
  add_option(*schedules, "--input", options->input, "JSON",
             "Of trigger, the input: a JSON object, @FILE, or - for standard input");
  add_option(*schedules, "--actor", options->actor, "WHO", "Who does it, for the record");
  add_option(*schedules, "--comment", options->comment, "TEXT", "Why, for the record");
  add_backend_command<ApprovalsOptions>(grammar, program, "approvals", help::kApprovals);
}

}  // namespace

void add_server_commands(Grammar& grammar, CLI::App& program) {
  add_serve(grammar, program);
  add_worker(grammar, program);
  add_tokens(grammar, program);
  add_backups(grammar, program);
  add_lists(grammar, program);
}

}  // namespace holdfast

#include "apps/cli/option_groups.h"

#include <fmt/format.h>

namespace holdfast::cli {

void add_server(Arguments& arguments, BackendOptions& backend) {
  arguments.option("--server", "URL", backend.server,
                   "Server: http://HOST:PORT, https://HOST:PORT or unix:PATH (default: "
                   "$HOLDFAST_SERVER)");
  arguments.option("--token-file", "FILE", backend.token_file,
                   "File that holds the token for the server (default: the token in "
                   "$HOLDFAST_TOKEN)");
  arguments.option("--tls-ca", "FILE", backend.tls_ca,
                   "PEM file of the certificate authorities to trust for the server (default: "
                   "$HOLDFAST_TLS_CA, else the system's)");
}

void add_backend(Arguments& arguments, BackendOptions& backend) {
  add_store_option(arguments, backend.store);
  add_server(arguments, backend);
}

void add_store_option(Arguments& arguments, std::string& store) {
  arguments.option("--store", "URL", store,
                   "Store: sqlite:PATH or postgres://USER@HOST/DATABASE (default: $HOLDFAST_STORE, "
                   "else sqlite:holdfast.db)");
}

void add_store(Arguments& arguments, std::string& store, const char* name) {
  arguments.required(name, store, "the store: sqlite:PATH or postgres://USER@HOST/DATABASE");
}

void add_run(Arguments& arguments, std::string& run) {
  arguments.required("RUN", run, "the run: its id, the first or last characters of it, or latest");
}

void add_at(Arguments& arguments, std::string& at) {
  arguments.option("--at", "POINT", at,
                   "Show an earlier state: a log position (123), a time (2026-11-16T14:02:00Z) or "
                   "an age (10m) (default: now)");
}

void add_run_at(Arguments& arguments, std::string& at) {
  arguments.option("--at", "POINT", at,
                   "Show an earlier state: a log position (123), a revision of the run (r5), a "
                   "time (2026-11-16T14:02:00Z) or an age (10m) (default: now)");
}

void add_json(Arguments& arguments, const char* name, std::string& target, const std::string& what,
              const std::string& default_value) {
  arguments.option(
      name, "JSON", target,
      what + ": a JSON object, @FILE, or - for standard input (default: " + default_value + ")");
}

void add_actor(Arguments& arguments, std::string& actor) {
  arguments.option("--actor", "NAME", actor, "Who does this, for the record");
}

void add_comment(Arguments& arguments, std::string& comment) {
  arguments.option("--comment", "TEXT", comment, "Why, for the record");
}

void add_key(Arguments& arguments, std::string& key) {
  arguments.option("--key", "KEY", key,
                   "Idempotency key: repeating the command with the same key has no further "
                   "effect");
}

void add_start_options(Arguments& arguments, const StartOptionTargets& targets) {
  add_json(arguments, "--input", targets.input, "Input of the run");
  arguments.option("--id", "UUID", targets.id, "Id of the run (default: a new one)");
  arguments.option("--key", "KEY", targets.key,
                   "Idempotency key: at most one run of the workflow is started for each key");
  arguments.option("--trigger", "NAME", targets.trigger,
                   "Trigger of the workflow (default: the first)");
}

void add_threads(Arguments& arguments, std::optional<std::uint64_t>& threads) {
  arguments.option("--threads", "N", threads, "Steps to execute at once (default: 4)");
}

Result<std::size_t> worker_threads(const std::optional<std::uint64_t>& option) {
  constexpr std::uint64_t kMaximum = 10'000;
  constexpr std::uint64_t kDefault = 4;
  if (option == 0U || option > kMaximum) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("--threads needs a number from 1 to {}, not {}", kMaximum, *option)}
        .with("field", "threads");
  }
  return static_cast<std::size_t>(option.value_or(kDefault));
}

}  // namespace holdfast::cli

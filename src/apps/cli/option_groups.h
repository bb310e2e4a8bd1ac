// Arguments and options that several commands share, with one help text each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/cli/arguments.h"
#include "holdfast/result.h"

namespace holdfast::cli {

// The backend that the options name: a store, or a server that has one. See apps/cli/backend.h.
struct BackendOptions {
  std::string store = {};       // URL; empty: not given
  std::string server = {};      // URL; empty: not given
  std::string token_file = {};  // holds the token that authenticates this program to the server
  std::string tls_ca = {};      // PEM: the certificate authorities that may sign for the server
};

// --server, --token-file, --tls-ca
void add_server(Arguments& arguments, BackendOptions& backend);
// The same and --store.
void add_backend(Arguments& arguments, BackendOptions& backend);
// --store alone, of a store that may not exist yet.
void add_store_option(Arguments& arguments, std::string& store);
// STORE
void add_store(Arguments& arguments, std::string& store, const char* name = "STORE");

// RUN
void add_run(Arguments& arguments, std::string& run);
// --at, of the whole store and of one run.
void add_at(Arguments& arguments, std::string& at);
void add_run_at(Arguments& arguments, std::string& at);
// --input, --data: a JSON object. `what` begins the help text.
void add_json(Arguments& arguments, const char* name, std::string& target, const std::string& what,
              const std::string& default_value = "{}");
void add_actor(Arguments& arguments, std::string& actor);
void add_comment(Arguments& arguments, std::string& comment);
// --key of commands that may be repeated.
void add_key(Arguments& arguments, std::string& key);

// --threads of commands that execute steps in a store.
void add_threads(Arguments& arguments, std::optional<std::uint64_t>& threads);
// The number given, or the default. Fails with invalid_argument.
Result<std::size_t> worker_threads(const std::optional<std::uint64_t>& option);

// --id, --key, --trigger, --input of commands that start a run.
struct StartOptionTargets {
  std::string& id;
  std::string& key;
  std::string& trigger;
  std::string& input;
};
void add_start_options(Arguments& arguments, const StartOptionTargets& targets);

}  // namespace holdfast::cli

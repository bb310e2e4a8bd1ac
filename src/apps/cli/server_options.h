// What `holdfast server` and the commands around servers were asked to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/backend_options.h"

namespace holdfast {

struct ServeOptions {
  std::string store;                // empty: HOLDFAST_STORE, or sqlite:holdfast.db
  std::vector<std::string> listen;  // HOST:PORT; empty: 127.0.0.1:7717
  std::string socket;               // path of a unix socket; empty: none
  std::string tls_cert;             // PEM files, both or none
  std::string tls_key;
  std::uint64_t work = 0;    // threads that carry out http and exec steps here
  std::string log = "text";  // or json
  std::string log_level = "info";
  std::uint64_t grace_s = 30;  // for what is under way when it is told to stop
  // What is not named is as the server has it.
  std::optional<std::uint64_t> max_body_bytes;
  std::optional<std::uint64_t> max_connections;
  std::optional<std::uint64_t> idle_timeout_s;
  std::optional<std::uint64_t> request_timeout_s;
  std::uint64_t rate = 0;                // requests per second and token; 0: no limit
  std::uint64_t max_auth_failures = 60;  // a minute from one address; 0: no limit
  std::optional<std::uint64_t> io_threads;
};

struct TokenCreateOptions {
  BackendOptions backend;
  std::string name;
  std::string role;
  std::vector<std::string> queues;
  std::vector<std::string> workflows;
  std::string expires;  // 30d, or a time; empty: never
  std::string actor;
};

struct TokenListOptions {
  BackendOptions backend;
};

struct TokenRevokeOptions {
  BackendOptions backend;
  std::string id;
};

struct BackupOptions {
  BackendOptions backend;
  std::string out = "-";  // "-": standard output
  bool force = false;
};

struct RestoreOptions {
  std::string store;
  std::string file;
};

struct QueuesOptions {
  BackendOptions backend;
};

struct WorkersOptions {
  BackendOptions backend;
};

struct SchedulesOptions {
  BackendOptions backend;
  std::string action;  // pause, resume or trigger; empty: they are listed
  std::string workflow;
  std::string trigger;
  std::string input;  // of trigger: JSON, @FILE or -
  std::string actor;
  std::string comment;
};

struct ApprovalsOptions {
  BackendOptions backend;
};

}  // namespace holdfast

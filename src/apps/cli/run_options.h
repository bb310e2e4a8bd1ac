// What the commands on runs were asked to do. `run` is an id, a beginning or an end of one, or
// latest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/backend_options.h"

namespace holdfast {

// A JSON text: {"a":1}, @FILE, or - for standard input; empty: {}.
using JsonArgument = std::string;

struct RunFileOptions {
  BackendOptions backend;
  std::string file;
  JsonArgument input;
  std::string id;
  std::string key;
  std::string trigger;
  std::string actor;
  std::vector<std::string> with;  // more workflow files
  std::optional<std::uint64_t> threads;
  bool until_blocked = false;
  bool quiet = false;
};

struct WorkOptions {
  BackendOptions backend;
  std::vector<std::string> with;
  std::vector<std::string> queues;
  std::optional<std::uint64_t> threads;
  bool drain = false;
  bool quiet = false;
};

struct StartRunOptions {
  BackendOptions backend;
  std::string workflow;  // a file, or the name of a workflow the store knows
  JsonArgument input;
  std::string id;
  std::string key;
  std::string trigger;
  std::string queue;
  std::string actor;
  std::string comment;
  std::vector<std::string> attributes;  // NAME=VALUE
};

struct ListRunsOptions {
  BackendOptions backend;
  std::string workflow;
  std::vector<std::string> statuses;
  std::string since;
  std::string until;
  std::vector<std::string> attributes;
  std::optional<std::uint64_t> limit;
  std::string cursor;
  bool oldest_first = false;
  bool archived = false;
  std::string at;
};

struct ShowRunOptions {
  BackendOptions backend;
  std::string run;
  std::string at;
};

struct ExplainOptions {
  BackendOptions backend;
  std::string run;
  std::string at;
};

struct GraphOptions {
  BackendOptions backend;
  std::string run;  // or a workflow file
  std::string at;
  bool dot = false;
  bool mermaid = false;
  bool history = false;
};

struct TimelineOptions {
  BackendOptions backend;
  std::string run;
  std::string at;
  bool events = false;
};

struct DiffOptions {
  BackendOptions backend;
  std::string run;
  std::string from;
  std::string to;
};

struct StatusOptions {
  BackendOptions backend;
  std::string at;
};

struct DoctorOptions {
  BackendOptions backend;
  std::string at;
};

struct CancelRunOptions {
  BackendOptions backend;
  std::string run;
  std::string actor;
  std::string comment;
  std::string key;
  bool compensate = false;
  bool stop = false;
};

struct SignalRunOptions {
  BackendOptions backend;
  std::string run;
  std::string event;
  JsonArgument data;
  std::string correlation;
  std::string key;
  std::string actor;
};

// resume, approve and reject
struct ResolveOptions {
  enum class Verb : std::uint8_t { resume, approve, reject };
  Verb verb = Verb::resume;
  BackendOptions backend;
  std::string run;
  std::string step;
  std::string actor;
  std::string comment;
  std::string key;
};

struct ReplayRunOptions {
  BackendOptions backend;
  std::string run;
  std::string from_step;
  JsonArgument input;
  bool allow_irreversible = false;
  std::string id;
  std::string actor;
  std::string comment;
};

}  // namespace holdfast

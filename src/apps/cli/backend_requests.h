// What commands request from a backend: one struct per query and per command. `run` is an id, the
// first or last characters of one, or "latest"; `at`, `from` and `to` are points in time as At
// parses them. Empty members are not sent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "access/tokens.h"
#include "holdfast/run.h"
#include "runs/language/definition/definition.h"

namespace holdfast::cli {

// Queries

struct ListRuns {
  std::string workflow = {};
  std::vector<std::string> statuses = {};
  std::string since = {};
  std::string until = {};
  std::vector<std::string> attributes = {};  // NAME=VALUE
  std::optional<std::uint64_t> limit = {};
  std::string cursor = {};
  bool oldest_first = false;
  bool archived = false;
  std::string at = {};
};

struct ShowRun {
  std::string run;
  std::string at = {};
};

struct ExplainRun {
  std::string run;
  std::string at = {};
};

struct ShowGraph {
  std::string run;
  std::string at = {};
  bool dot = false;
  bool mermaid = false;
  bool history = false;  // as JSON: also the input and output of each step
};

struct ShowTimeline {
  std::string run;
  std::string at = {};
  bool events = false;
};

struct DiffRun {
  std::string run;
  std::string from = {};
  std::string to = {};
};

struct ShowStatus {
  std::string at = {};
};

struct Diagnose {
  std::string at = {};
};

struct ListWorkflows {};

struct ShowWorkflow {
  std::string name;  // NAME, NAME@VERSION or NAME@FINGERPRINT
};

struct ListWorkflowVersions {
  std::string name;
};

struct ListTokens {};

// What only a server knows: its queues, workers, schedules and approvals. JSON only.
struct ListServerState {
  std::string name;
  std::string alternative;  // what to use with a store instead
};

using Query = std::variant<ListRuns, ShowRun, ExplainRun, ShowGraph, ShowTimeline, DiffRun,
                           ShowStatus, Diagnose, ListWorkflows, ShowWorkflow, ListWorkflowVersions,
                           ListTokens, ListServerState>;

// Commands on a run

struct CancelRun {
  std::string run = {};
  CancelOptions options = {};
};

struct SignalRun {
  std::string run = {};
  std::string event = {};
  std::string data = {};  // a JSON object
  SignalOptions options = {};
};

struct DecideRun {
  enum class Decision : std::uint8_t { resume, approve, reject };
  Decision decision = Decision::resume;
  std::string run = {};
  DecisionOptions options = {};
};

using RunControl = std::variant<CancelRun, SignalRun, DecideRun>;

// Commands that make a run

struct StartRun {
  std::string workflow = {};
  std::string input = {};
  StartOptions options = {};
  std::shared_ptr<const Definition> definition = nullptr;  // registered first
};

struct ReplayRun {
  std::string run = {};
  ReplayOptions options = {};
};

using RunStart = std::variant<StartRun, ReplayRun>;

// Commands of administrators

struct RevokeToken {
  std::string id;
};

struct ChangeSchedule {
  std::string action;  // pause, resume or trigger
  std::string workflow;
  std::string trigger;
  std::string input = {};  // of trigger: a JSON object
  std::string actor = {};
  std::string comment = {};
};

using AdminCommand = std::variant<CreateToken, RevokeToken, ChangeSchedule>;

}  // namespace holdfast::cli

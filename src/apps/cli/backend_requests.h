// What commands request from a backend: the queries of the API, and commands with the options of
// the public library. `run` is an id, the first or last characters of one, or "latest".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "access/tokens.h"
#include "holdfast/run.h"
#include "runs/api/query_requests.h"
#include "runs/api/run_requests.h"
#include "runs/api/store_requests.h"
#include "runs/language/definition/definition.h"

namespace holdfast::cli {

using Query = std::variant<ListRequest, ShowRequest, ExplainRequest, GraphRequest, TimelineRequest,
                           DiffRequest, StatusRequest, DoctorRequest, WorkflowsRequest,
                           WorkflowRequest, VersionsRequest, TokensRequest, QueuesRequest,
                           WorkersRequest, SchedulesRequest, ApprovalsRequest, DeadLettersRequest>;

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

struct MutateRun {
  std::string run = {};
  GraphMutation mutation = {};
  MutationOptions options = {};
};

struct MigrateRun {
  std::string run = {};
  MigrateOptions options = {};
};

struct RetryRun {
  std::string run = {};
  RetryStepOptions options = {};
};

struct DiscardRun {
  std::string run = {};
  DiscardStepOptions options = {};
};

using RunControl =
    std::variant<CancelRun, SignalRun, DecideRun, MutateRun, MigrateRun, RetryRun, DiscardRun>;

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

struct DeliverSchedule {
  std::string workflow;
  std::string trigger;
  DeliverRequest request = {};
};

struct RegisterWorkflow {
  std::shared_ptr<const Definition> definition;
  bool dry_run = false;
};

using AdminCommand = std::variant<CreateToken, RevokeToken, ChangeSchedule, DeliverSchedule,
                                  RegisterWorkflow, DeadLetterBulkRequest, CloseCircuitRequest>;

}  // namespace holdfast::cli

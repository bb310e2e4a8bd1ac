// Workflow: builds the definition of a workflow. A run keeps the definition it was started on, also
// when a newer one is registered.
//
//   Workflow("order").version("1")
//       .trigger("placed", {{"order_id", DataField::string()}, {"total", DataField::number()}})
//       .step("charge", {.retry = {.max_attempts = 3, .delay = 100ms},
//                        .input = {{"order", "order_id"}, {"currency", literal("EUR")}},
//                        .output = "payment",
//                        .compensate = {.handler = "refund"}})
//       .approval("review", "Is this large order genuine?")
//       .step("ship", {.queue = "slow", .lease = 60s})
//       .log("refused", "order {order_id} was refused")
//       .transition("charge", "review", When::path("total").greater(1000))
//       .transition("charge", "ship")
//       .transition("review", "ship")
//       .on_error("review", "refused")
//       .build();
//
// Steps are connected in two ways: `after` waits for other steps; a transition leads from one step
// to the next. Of several transitions the first whose condition holds is taken; they may lead back.
//
// build() and Engine::register_workflow check the workflow and report all faults at once. A
// Workflow is a value without synchronisation.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "holdfast/condition.h"
#include "holdfast/result.h"
#include "holdfast/step_settings.h"

namespace holdfast {

struct CronTrigger {
  // What happens at a time that has a run already.
  enum class Idempotency : std::uint8_t { return_existing_run, skip_duplicate, none };
  // What happens to times that passed while no engine was running.
  enum class CatchUp : std::uint8_t { skip, latest };
  // Who starts the runs: the engine, or a scheduler that calls Engine::deliver_cron.
  enum class Delivery : std::uint8_t { engine, external };

  std::string expression = {};  // "30 8 * * 1-5"
  std::string timezone = {};    // "Europe/Berlin"
  Idempotency idempotency = Idempotency::return_existing_run;
  CatchUp catch_up = CatchUp::skip;
  Delivery delivery = Delivery::engine;
  DataFields payload = {};
};

// The purpose of an error route.
enum class Recovery : std::uint8_t { none, compensation, undo };

// A checked workflow. An immutable value.
class WorkflowDefinition {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& version() const { return version_; }
  // SHA-256 of json() in lower-case hex: equal for equal definitions, in whichever form they were
  // written.
  [[nodiscard]] const std::string& fingerprint() const { return fingerprint_; }
  [[nodiscard]] const std::string& json() const { return json_; }  // in canonical form

 private:
  friend class Workflow;
  WorkflowDefinition() = default;

  std::string name_;
  std::string version_;
  std::string fingerprint_;
  std::string json_;
};

class Workflow {
 public:
  // Targets of transitions that are not steps: the path ends; the run fails.
  static constexpr std::string_view kComplete = "complete";
  static constexpr std::string_view kFail = "fail";

  // monostate: a handler is called.
  using Kind = std::variant<std::monostate, LogStep, WaitStep, PauseStep, ApprovalStep, EventStep,
                            HttpStep, ExecStep, ChildStep>;
  struct Step {
    std::string name;
    StepSettings settings;
    Kind kind = {};
  };
  struct Trigger {
    std::string name;
    DataFields payload;
    std::optional<CronTrigger> cron = {};
  };
  struct Transition {
    std::string from;
    std::string to;
    bool on_error = false;
    std::optional<When> when = {};
    Recovery recovery = Recovery::none;
  };
  // The content of the workflow.
  struct Parts {
    std::string name;
    std::string version = {};
    std::string description = {};
    std::vector<Trigger> triggers = {};
    std::vector<Step> steps = {};
    std::vector<Transition> transitions = {};
    std::string entry = {};
    std::chrono::milliseconds timeout{0};
    std::uint32_t max_visits = 0;
    DataMapping output = {};
    bool compensate_on_cancel = false;
  };

  explicit Workflow(std::string_view name) : parts_{.name = std::string(name)} {}

  Workflow& version(std::string_view version) {
    parts_.version = version;
    return *this;
  }
  Workflow& description(std::string_view text) {
    parts_.description = text;
    return *this;
  }

  // A trigger that starts runs. Without any, the workflow has the trigger "manual", which accepts
  // any object.
  Workflow& trigger(std::string_view name, DataFields payload = {});
  Workflow& cron(std::string_view name, CronTrigger when);

  // A step that calls a handler.
  Workflow& step(std::string_view name, StepSettings settings = {});
  Workflow& log(std::string_view name, std::string_view message, StepSettings settings = {});
  Workflow& log(std::string_view name, LogStep log, StepSettings settings = {});
  Workflow& wait(std::string_view name, std::chrono::milliseconds duration,
                 StepSettings settings = {});
  // Waits until a time: a path to it (ISO 8601, or milliseconds since 1970) or the time itself.
  Workflow& wait_until(std::string_view name, std::string_view path_or_time,
                       StepSettings settings = {});
  Workflow& wait_until(std::string_view name, std::chrono::system_clock::time_point time,
                       StepSettings settings = {});
  // pause waits until the run is resumed; approval waits for a decision: approval completes the
  // step, rejection fails it.
  Workflow& pause(std::string_view name, std::string_view reason = {}, StepSettings settings = {});
  Workflow& approval(std::string_view name, std::string_view reason = {},
                     StepSettings settings = {});
  Workflow& await_event(std::string_view name, std::string_view event, StepSettings settings = {});
  Workflow& await_event(std::string_view name, EventStep events, StepSettings settings = {});
  Workflow& http(std::string_view name, HttpStep request, StepSettings settings = {});
  Workflow& exec(std::string_view name, std::vector<std::string> command,
                 StepSettings settings = {});
  Workflow& exec(std::string_view name, ExecStep process, StepSettings settings = {});
  Workflow& child(std::string_view name, std::string_view workflow, StepSettings settings = {});
  Workflow& child(std::string_view name, ChildStep child, StepSettings settings = {});

  // The next step after a step completed (transition) or failed for good (on_error). The first
  // match is taken.
  Workflow& transition(std::string_view from, std::string_view to);
  Workflow& transition(std::string_view from, std::string_view to, When when);
  Workflow& on_error(std::string_view from, std::string_view to,
                     Recovery recovery = Recovery::none);
  Workflow& on_error(std::string_view from, std::string_view to, When when,
                     Recovery recovery = Recovery::none);

  // The first step, when transitions lead back to it.
  Workflow& entry(std::string_view step) {
    parts_.entry = step;
    return *this;
  }
  // The maximum duration of a run; 0: none.
  Workflow& timeout(std::chrono::milliseconds timeout) {
    parts_.timeout = timeout;
    return *this;
  }
  // How often each step may be visited; 0: the default.
  Workflow& max_visits(std::uint32_t visits) {
    parts_.max_visits = visits;
    return *this;
  }
  // The result of a run; without it, the context.
  Workflow& output(DataMapping mapping) {
    parts_.output = std::move(mapping);
    return *this;
  }
  // Completed steps are compensated when a run is cancelled.
  Workflow& compensate_on_cancel() {
    parts_.compensate_on_cancel = true;
    return *this;
  }

  // invalid_definition: the message names every fault, the field "errors" has them as JSON.
  [[nodiscard]] Result<WorkflowDefinition> build() const;

  [[nodiscard]] const std::string& name() const { return parts_.name; }
  [[nodiscard]] const std::string& version() const { return parts_.version; }
  [[nodiscard]] const std::vector<Step>& steps() const { return parts_.steps; }
  [[nodiscard]] const Parts& parts() const { return parts_; }

 private:
  Workflow& add(std::string_view name, StepSettings settings, Kind kind);

  Parts parts_;
};

}  // namespace holdfast

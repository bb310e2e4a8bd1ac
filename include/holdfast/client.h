// Client: a program's connection to a server (`holdfast server`). It has the functions of Engine,
// so that moving from an embedded engine to a server changes one line:
//
//   auto engine = holdfast::Client::connect("http://127.0.0.1:7717");
//
// When a function returns success, its effect is durable at the server. While the server is
// unavailable, calls are repeated for up to `patience`. A repeated call takes effect once: starts
// carry an id or a key, commands carry a key; the client generates them where the caller gives
// none.
//
// Errors are those of Engine, and: unavailable when the server could not be reached (what_next is
// in_doubt when the call may have been executed), permission_denied. Every function of a moved-from
// client returns invalid_argument.
//
// All members except moving and destruction may be called from any thread. No call may be in
// progress when a client is destroyed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"
#include "holdfast/run.h"
#include "holdfast/step.h"
#include "holdfast/workflow.h"

namespace holdfast {

// An event of work().
struct WorkEvent {
  enum class Kind : std::uint8_t {
    step_reported,  // the report is durable
    step_lost,      // the claim was lost, so the result does not count
    unreachable,    // the server is unavailable; sent once until it is reachable again
    reachable,
    draining,  // the server is stopping; steps in progress are still reported
  };

  Kind kind = Kind::step_reported;
  StepInfo step = {};
  StepResult::Kind result = StepResult::Kind::ok;
  std::chrono::milliseconds taken{0};  // by the handler
  std::string message = {};            // the error of a failed step, or the reason
};

struct ClientOptions {
  std::string token = {};        // hf_...; empty: the server does not require one
  std::string tls_ca_file = {};  // PEM; empty: the certificate authorities of the system
  // How this program appears in the worker list of the server.
  std::string name = {};  // empty: the host name
  std::string version = {};
  // The queues that work() serves; empty: all that the token allows.
  std::vector<std::string> queues = {};
  std::chrono::milliseconds patience{30'000};  // how long calls are repeated
  // work() also executes http and exec steps, including those of workflows that others registered.
  bool built_in_steps = true;
  // Returns the secret of a credential that http steps refer to; empty when it is unknown.
  std::function<std::optional<std::string>(std::string_view name)> credential = nullptr;
  // Receives the events of work(), from any thread. Must not block.
  std::function<void(const WorkEvent&)> observe = nullptr;
};

class Client {
 public:
  // url: http://HOST:PORT, https://HOST:PORT or unix:/PATH. Authenticates at the server:
  // invalid_url, invalid_argument, unavailable, permission_denied.
  static Result<Client> connect(std::string_view url, const ClientOptions& options = {});
  Client(Client&& other) noexcept;
  Client& operator=(Client&& other) noexcept;
  ~Client();

  // As in Engine. Definitions are checked before they are sent.
  Result<void> register_workflow(const Workflow& workflow);
  Result<void> register_workflow(const WorkflowDefinition& workflow);
  Result<void> register_workflow_json(std::string_view spec);
  Result<void> register_workflow_yaml(std::string_view text, std::string_view name = "workflow");
  Result<void> register_workflow_file(const std::string& path);
  // Handlers stay in this program and are called by work(). A call of work() in progress does not
  // use a handler that is registered later.
  Result<void> register_handler(std::string_view name, StepHandler handler);

  // run_id, in all functions: an id, the first or last characters of one (at least four), or
  // latest.
  Result<StartedRun> start(std::string_view workflow, std::string_view input = "{}",
                           const StartOptions& options = {});
  Result<DeliveredRun> deliver_cron(std::string_view workflow, std::string_view trigger,
                                    const DeliverOptions& options);
  Result<void> cancel(std::string_view run_id, const CancelOptions& options = {});
  Result<void> resume(std::string_view run_id, const DecisionOptions& options = {});
  Result<void> approve(std::string_view run_id, const DecisionOptions& options);
  Result<void> reject(std::string_view run_id, const DecisionOptions& options);
  Result<void> retry(std::string_view run_id, const RetryStepOptions& options = {});
  Result<void> discard(std::string_view run_id, const DiscardStepOptions& options = {});
  // As in Engine; run_id of a query or a selection is the whole id.
  Result<DeadLetterPage> dead_letters(const DeadLetterQuery& query = {});
  Result<DeadLetterDecision> redrive_dead_letters(const DeadLetterSelection& selection);
  Result<DeadLetterDecision> discard_dead_letters(const DeadLetterSelection& selection);
  Result<std::vector<std::string>> close_circuit_breaker(std::string_view workflow,
                                                         std::string_view step,
                                                         const CloseCircuitOptions& options = {});
  Result<void> signal(std::string_view run_id, std::string_view event,
                      std::string_view payload = "{}", const SignalOptions& options = {});
  Result<void> mutate_graph(std::string_view run_id, const GraphMutation& mutation,
                            const MutationOptions& options = {});
  Result<void> migrate(std::string_view run_id, const MigrateOptions& options = {});
  Result<StartedRun> replay(std::string_view run_id, const ReplayOptions& options = {});
  Result<void> set_search_attributes(std::string_view run_id, std::string_view changes,
                                     std::string_view idempotency_key = "");
  Result<void> archive(std::string_view run_id, std::string_view reason);
  Result<void> unarchive(std::string_view run_id);

  // Executes steps with this number of threads, including the calling one, until stop is requested.
  // Steps that were claimed by then are still executed and reported. Leases are extended meanwhile;
  // the stop token of a handler is stopped when its claim is lost or its run is being compensated.
  // While the server is unavailable, work() keeps trying; after a stop for `patience`.
  // unknown_handler when there is no handler; permission_denied.
  Result<void> work(std::size_t threads, const std::stop_token& stop);

  // Values under keys that name secrets are redacted by the server.
  Result<RunView> inspect(std::string_view run_id);
  // Waits until the run has ended or until the timeout; RunView::terminal is true if it has ended.
  Result<RunView> wait(std::string_view run_id, std::chrono::milliseconds timeout);
  Result<RunExplanation> explain(std::string_view run_id, std::string_view at = "");
  Result<std::string> snapshot_json(std::string_view run_id, std::string_view at = "");
  Result<std::string> graph_json(std::string_view run_id, std::string_view at = "");
  Result<std::string> timeline_json(std::string_view run_id, std::string_view at = "");
  Result<std::string> diff_json(std::string_view run_id, std::string_view from,
                                std::string_view to = "");
  Result<RunPage> list(const ListOptions& options = {});
  Result<std::string> status_json(std::string_view at = "");
  Result<std::string> doctor_json(std::string_view at = "");
  // {"version","started_at","position","you":{"name","role"},"draining"}
  Result<std::string> server_json();

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  // invalid_argument when it is moved-from.
  [[nodiscard]] Result<Impl*> live() const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast

// Client: the engine of a server (`holdfast server`), from any program that can reach it. It has
// the functions of Engine, so moving handlers out of the process of the engine is one line:
//
//   auto engine = holdfast::Client::connect("http://127.0.0.1:7717");
//
// What a function has returned is durable at the server. Calls are repeated while the server cannot
// be reached, up to `patience`, and each counts once however often it was sent: starts go under an
// id or a key, commands under a key; where the caller gives none the client makes one.
//
// Errors are those of Engine. In addition: unavailable when the server could not be reached (what
// next is in_doubt when the call may have been carried out all the same), permission_denied. Every
// function of a client that was moved from returns invalid_argument.
//
// All members are safe to call from any thread, but for moving and destroying. No call may be under
// way when a client is destroyed.
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

// Something that happened in work().
struct WorkEvent {
  enum class Kind : std::uint8_t {
    step_reported,  // the report is durable
    step_lost,      // the claim was lost: the result did not count
    unreachable,    // the server; once until it is reachable again
    reachable,
    draining,  // the server is about to stop; what is under way is still reported
  };

  Kind kind = Kind::step_reported;
  StepInfo step = {};
  StepResult::Kind result = StepResult::Kind::ok;
  std::chrono::milliseconds taken{0};  // by the handler
  std::string message = {};            // why; the error of a step that failed
};

struct ClientOptions {
  std::string token = {};        // hf_...; empty: the server knows the caller otherwise
  std::string tls_ca_file = {};  // PEM; empty: the authorities of the system
  // Of this program, for those who look at the server's list of workers.
  std::string name = {};  // empty: that of the machine
  std::string version = {};
  // Where work() looks for steps; empty: everywhere the token allows.
  std::vector<std::string> queues = {};
  std::chrono::milliseconds patience{30'000};  // how long calls are repeated
  // work() also executes http and exec steps, as an Engine does: also what workflows of others say.
  bool built_in_steps = true;
  // The secret that a credential name of an http step stands for; empty when there is none.
  std::function<std::optional<std::string>(std::string_view name)> credential = nullptr;
  // Is told what happens in work(). Any thread; must not block.
  std::function<void(const WorkEvent&)> observe = nullptr;
};

class Client {
 public:
  // url: http://HOST:PORT, https://HOST:PORT or unix:/PATH. Asks the server who this is:
  // invalid_url, invalid_argument, unavailable, permission_denied.
  static Result<Client> connect(std::string_view url, const ClientOptions& options = {});
  Client(Client&& other) noexcept;
  Client& operator=(Client&& other) noexcept;
  ~Client();

  // As Engine has them; what is wrong with a definition is found here, before it is sent.
  Result<void> register_workflow(const Workflow& workflow);
  Result<void> register_workflow(const WorkflowDefinition& workflow);
  Result<void> register_workflow_json(std::string_view spec);
  Result<void> register_workflow_yaml(std::string_view text, std::string_view name = "workflow");
  Result<void> register_workflow_file(const std::string& path);
  // Handlers stay in this program: work() calls them. Work that is under way does not see it.
  Result<void> register_handler(std::string_view name, StepHandler handler);

  // `run_id` everywhere: also a beginning or an end of one, of at least four characters, or latest.
  Result<StartedRun> start(std::string_view workflow, std::string_view input = "{}",
                           const StartOptions& options = {});
  Result<void> cancel(std::string_view run_id, const CancelOptions& options = {});
  Result<void> resume(std::string_view run_id, const DecisionOptions& options = {});
  Result<void> approve(std::string_view run_id, const DecisionOptions& options);
  Result<void> reject(std::string_view run_id, const DecisionOptions& options);
  Result<void> signal(std::string_view run_id, std::string_view event,
                      std::string_view payload = "{}", const SignalOptions& options = {});
  Result<StartedRun> replay(std::string_view run_id, const ReplayOptions& options = {});
  Result<void> set_search_attributes(std::string_view run_id, std::string_view changes,
                                     std::string_view idempotency_key = "");
  Result<void> archive(std::string_view run_id, std::string_view reason);
  Result<void> unarchive(std::string_view run_id);

  // Executes steps with so many threads, this one included, until stop is requested; what was
  // claimed by then is still executed and reported. Claims are kept alive meanwhile; the stop token
  // of a handler is stopped when its claim is lost, or its run goes back. While the server cannot
  // be reached it goes on trying; after stop was requested for `patience`. unknown_handler when
  // there is nothing to do it with; permission_denied.
  Result<void> work(std::size_t threads, const std::stop_token& stop);

  // Values under keys that name secrets are not in what a server shows, so not in these either.
  Result<RunView> inspect(std::string_view run_id);
  // The same when the run has ended, or after the timeout: `terminal` tells.
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
  // invalid_argument when it was moved from.
  [[nodiscard]] Result<Impl*> live() const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast

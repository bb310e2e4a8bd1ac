// Session: the implementation of Client: calls to the server, and the handlers of this process.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "apps/client/attempt_handlers.h"
#include "apps/client/client_api.h"
#include "apps/client/operation_call.h"
#include "base/clock.h"
#include "base/random.h"
#include "holdfast/client.h"
#include "runs/api/store_requests.h"

namespace holdfast {

class Definition;

namespace client {

class Session {
 public:
  explicit Session(const ClientOptions& options) : options_(options) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Call first, once: queries the server, as Client::connect.
  Result<void> open(std::string_view url);
  // Instead of open, for workers: waits for a server that is unavailable, until stop is requested.
  // Errors that a later call would have as well are returned at once.
  Result<void> open_when_available(std::string_view url, const std::stop_token& stop,
                                   const Api::Waiting& waiting);

  Result<void> add_definition(const Definition& definition);
  Result<void> add_handler(std::string_view name, AttemptHandler handler);
  Result<void> work(std::size_t threads, const std::stop_token& stop);

  // A query. invalid_argument if the run id is empty.
  template <HasFields T>
  Result<std::string> get(const T& request) {
    if constexpr (requires { request.run; }) {
      HOLDFAST_CHECK(check_run(request.run));
    }
    return call({"GET", target_of(request)});
  }
  template <typename Request, typename Response, typename Parameters>
  Result<std::string> post(const OperationOf<Request, Response, Parameters>& operation,
                           const std::type_identity_t<Request>& request) {
    HOLDFAST_TRY(std::string body, request_json(request));
    return call({operation.method, path_of(operation), std::move(body)});
  }
  // A command on a run. invalid_argument if its id is empty.
  template <typename Request, typename Response, typename Parameters>
  Result<std::string> command(const OperationOf<Request, Response, Parameters>& operation,
                              std::string_view run_id,
                              const std::type_identity_t<Request>& request) {
    HOLDFAST_CHECK(check_run(run_id));
    HOLDFAST_TRY(std::string body, request_json(request));
    return call({operation.method, path_of(operation, {run_id}), std::move(body)});
  }
  // Not repeated if it may have been executed: what was decided is not selected again. Unless it is
  // about one run that has ended, or only a preview.
  Result<DeadLetterDecision> decide(DeadLetterAction action, const DeadLetterSelection& selection);
  Result<std::string> call(const ApiCall& call) { return api_->call(call); }
  // The key, or a new one: a command has its effect once, however often it is sent.
  std::string key_or_new(std::string_view key) { return key.empty() ? new_id() : std::string(key); }
  std::string new_id();
  Result<RunView> wait(std::string_view run_id, std::chrono::milliseconds timeout);

 private:
  Result<void> prepare(std::string_view url);
  static Result<void> check_run(std::string_view run_id);

  ClientOptions options_;
  SystemClock clock_;
  SystemRandom random_;
  std::unique_ptr<Api> api_;
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<const AttemptHandlers> handlers_;
};

}  // namespace client

class Client::Impl : public client::Session {
 public:
  using Session::Session;
};

}  // namespace holdfast

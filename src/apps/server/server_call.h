// Call: one authenticated request that waits for its response. It is answered once, from any
// thread, possibly later.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/server/authenticator.h"
#include "apps/server/query.h"
#include "apps/server/routes.h"
#include "apps/terminal/show_view.h"
#include "base/fields.h"
#include "net/http_server.h"
#include "runs/api/strict_reader.h"
#include "runs/engine/engine_loop.h"
#include "runs/service/run_commands.h"

namespace holdfast {

struct Service;

class Call {
 public:
  Call(Service& service, net::ExchangePtr exchange, const Route& route,
       std::vector<std::string> arguments, Query query, Caller caller);

  Service& service;
  const net::ExchangePtr exchange;
  const Route& route;
  const std::vector<std::string> arguments;  // the parameters of the path, decoded
  Query query;
  const Caller caller;

  // By name.
  [[nodiscard]] Query::PathParameters path_parameters() const;
  [[nodiscard]] const net::Request& request() const { return exchange->request(); }
  // JSON, unless the caller accepts text only.
  [[nodiscard]] Form form() const;
  // The style of text responses: width and colour, from the query.
  Result<Style> style();

  void answer(net::Response response);
  void answer_json(std::string_view json, int status = 200);
  void answer_text(std::string text);
  // In the form that the caller accepts.
  void answer_view(const View& view, const Style& style);
  void fail(const Error& error);
  // Adds a field to an error whose outcome is unknown, by which the caller can find out. Call it
  // before another thread has the call.
  void identify(std::string_view name, std::string_view value);
  // Counts and logs a response that is sent elsewhere. why: of a failure, for the log.
  void note(int status, const std::string& why = {});

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<std::pair<std::string, std::string>> identity_;
};
using CallPtr = std::shared_ptr<Call>;

// The body as a JSON object; {} when it is empty. invalid_argument when the content type or the
// value is another; invalid_json.
Result<JsonText> json_body(const Call& call);

// Reads the body strictly. Every query parameter must have been read by then: the others are
// unknown.
template <HasFields T>
Result<T> read_body(const Call& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const JsonText body, json_body(call));
  return read_object<T>(body.view());
}

// The parameters of a query, in the path and behind it. Others are unknown.
template <HasFields T>
Result<T> read_query(Call& call) {
  return call.query.read<T>(call.path_parameters());
}

// Lets the loop decide; an error is the response to the call.
template <typename T>
void submit(const CallPtr& call, TurnFunction<T> decide, std::function<void(T)> then);
// As submit, for a query. When the loop waits for the disk, a reader answers from the store.
template <typename T>
void submit_or_read(const CallPtr& call, TurnFunction<T> query, std::function<void(T)> then);
// Runs the work in a reader thread; an error is the response to the call.
void read(const CallPtr& call, std::function<Result<void>()> work);
// Answers with a view of the journal.
void inspect(const CallPtr& call, std::function<Result<View>(RunQueries&)> query);

// Calls `then` with the run that the first path parameter names, if the caller may see it.
void with_run(const CallPtr& call, std::function<void(const RunId& run)> then);
Error run_not_found(const RunId& run);
// permission_denied when the caller is limited to other workflows.
Result<void> check_workflow(const Caller& caller, std::string_view workflow);
// Adds the check that the caller may see the workflow of the run.
template <typename T>
TurnFunction<T> guarded(const Call& call, const RunId& run, TurnFunction<T> decide);

}  // namespace holdfast

#include "apps/server/call_submit.h"

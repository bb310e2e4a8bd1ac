// Call: one request of somebody who is known, on its way to an answer. It may be answered later
// and from any thread, once.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/server/caller.h"
#include "apps/server/query.h"
#include "apps/server/routes.h"
#include "apps/server/strict_body.h"
#include "apps/terminal/answers.h"
#include "base/fields.h"
#include "net/http_server.h"
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
  const std::vector<std::string> arguments;  // what stands for {…} in the path, decoded
  Query query;
  const Caller caller;

  [[nodiscard]] const net::Request& request() const { return exchange->request(); }
  // What the caller wants to see: JSON unless it asks for text.
  [[nodiscard]] Form form() const;
  // Of texts, from the query: width and colour.
  Result<Style> style();

  void answer(net::Response response);
  void answer_json(std::string_view json, int status = 200);
  void answer_text(std::string text);
  void fail(const Error& error);
  // By what the caller can find out what became of the request, if that stays open. Before it is
  // handed to another thread.
  void identify(std::string_view name, std::string_view value);
  // Counts and logs an answer that is given elsewhere. why: of a failure, for the log.
  void note(int status, const std::string& why = {});

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<std::pair<std::string, std::string>> identity_;
};
using CallPtr = std::shared_ptr<Call>;

// The body as a JSON object; {} when there is none. invalid_argument when it says to be something
// else; invalid_json.
Result<JsonText> json_body(const Call& call);

// And of the query: what was not asked for by then is not known here.
template <HasFields T>
Result<T> read_body(const Call& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const JsonText body, json_body(call));
  return read_object<T>(body.view());
}

// For operations whose query says nothing. False: the call was answered.
bool has_plain_query(const CallPtr& call);

// Asks the loop; a refusal is the answer of the call.
template <typename T>
void ask(const CallPtr& call, Question<T> question, std::function<void(T)> then);
// As ask, of a question that only reads. When the loop waits for the disk, a reader answers it from
// what is stored.
template <typename T>
void ask_or_read(const CallPtr& call, Question<T> question, std::function<void(T)> then);
// Lets a reader do it; an error is the answer of the call.
void read(const CallPtr& call, std::function<Result<void>()> work);
// The answer is what a reader finds in the journal, in the form the caller wants.
void look(const CallPtr& call, std::function<Result<std::string>(Answers&)> view);

// The run that the first argument of the path names, if the caller may see it.
void with_run(const CallPtr& call, std::function<void(const RunId& run)> then);
// permission_denied when the caller is limited to other workflows.
Result<void> check_workflow(const Caller& caller, std::string_view workflow);
// Only when the question is about a workflow the caller may see.
template <typename T>
Question<T> guarded(const Call& call, const RunId& run, Question<T> question);

}  // namespace holdfast

#include "apps/server/call_ask.h"

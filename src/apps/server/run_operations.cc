// Starting runs, and waiting for their outcome.
#include <algorithm>

#include "apps/server/server_call.h"
#include "apps/server/server_operations.h"
#include "apps/server/server_problem.h"
#include "apps/server/work_responses.h"
#include "net/http_text.h"
#include "runs/view/run_source.h"

namespace holdfast {

namespace {

constexpr std::size_t kMostStarts = 1000;

bool is_trace_text(std::string_view text) {
  constexpr std::size_t kLongest = 512;
  return !text.empty() && text.size() <= kLongest &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f; });
}

// {"traceparent","tracestate"} from the headers; empty: none.
Payload trace_of(const net::Request& request) {
  const std::string_view parent = request.header("traceparent");
  if (!is_trace_text(parent)) {
    return {};
  }
  JsonWriter json;
  json.begin_object().member("traceparent", parent);
  if (const std::string_view state = request.header("tracestate"); is_trace_text(state)) {
    json.member("tracestate", state);
  }
  json.end_object();
  return std::move(json).take_text();
}

Result<RunCommands::Start> start_of(const Call& call, StartRequest request, const Payload& trace) {
  HOLDFAST_CHECK(check_workflow(call.caller, request.workflow));
  request.actor = call.caller.actor(request.actor);
  return call.service.commands.start(request, trace);
}

OutcomeResponse outcome_of(const RunEnd& end) {
  OutcomeResponse outcome;
  outcome.run_id = to_string(end.run_id);
  outcome.workflow = end.workflow.str();
  outcome.status = to_text(end.status);
  outcome.terminal = true;
  outcome.result = end.result;
  outcome.error = end.error;
  return outcome;
}

OutcomeResponse outcome_of(const RunProjection& run) {
  if (const auto end = run_end_of(run)) {
    return outcome_of(*end);
  }
  OutcomeResponse outcome;
  outcome.run_id = to_string(run.run_id());
  outcome.workflow = run.started().has_value() ? run.started()->workflow.str() : "";
  outcome.status = to_text(run.status());
  return outcome;
}

// A call that waits for the end of a run, and is answered with the current state when its time is
// up. The loop only reports the end; the state is read from the store, so that no response waits
// for a disk that accepts no writes.
class OutcomeWait : public std::enable_shared_from_this<OutcomeWait> {
 public:
  // existed: of a start, else empty.
  OutcomeWait(CallPtr call, const RunId& run, std::optional<bool> existed)
      : call_(std::move(call)), run_(run), existed_(existed) {}

  void begin(std::chrono::milliseconds patience) {
    if (patience.count() == 0) {
      answer_stored();
      return;
    }
    const auto run_wait = std::make_shared<RunWait>();
    run_wait->run = run_;
    run_wait->notify = [self = shared_from_this()](const std::optional<RunEnd>& end) {
      self->ended(end);
    };
    run_wait_ = run_wait;
    wait(patience);
    // Registers before it reads the run, so that no end is missed.
    std::vector<LoopRequest> requests{AddRunWait{run_wait}};
    requests.emplace_back(std::make_shared<FunctionCommand<bool>>(
        [run = run_](Turn& turn) -> Result<bool> {
          if (turn.state().runs().is_live(run)) {
            return true;
          }
          HOLDFAST_TRY(const bool exists, turn.state().runs().exists(run));
          if (!exists) {
            return run_not_found(run);
          }
          return false;
        },
        [self = shared_from_this()](const Result<bool>& live) { self->checked(live); }));
    service().loop.submit(std::move(requests));
  }

 private:
  Service& service() { return call_->service; }

  void checked(const Result<bool>& live) {
    if (!live.ok()) {
      leave([&] { fail(live.error()); });
    } else if (!live.value()) {
      leave([&] { answer_stored(); });
    }
  }

  // A start that is durable has not failed.
  void fail(const Error& error) {
    if (existed_.has_value()) {
      call_->answer_json(started_text(Started{run_, *existed_}), *existed_ ? 200 : 201);
    } else {
      call_->fail(error);
    }
  }

  // Until the time is up, the caller disconnects, or the server stops.
  void wait(std::chrono::milliseconds patience) {
    const auto give_up = [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->give_up();
      }
    };
    {
      const std::scoped_lock lock(mutex_);
      if (finished_) {
        return;
      }
      alarm_ = service().alarm.after(patience, give_up);
    }
    // Both may call it immediately.
    call_->exchange->when_gone(give_up);
    const Waiters::Ticket ticket = service().waiters.add(give_up);
    bool finished = false;
    {
      const std::scoped_lock lock(mutex_);
      waiter_ = ticket;
      finished = finished_;
    }
    if (finished) {
      service().waiters.remove(ticket);
    }
  }

  void ended(const std::optional<RunEnd>& end) {
    if (!finish()) {
      return;
    }
    if (!end.has_value()) {
      answer_stored();
      return;
    }
    answer(outcome_of(*end));
  }

  void give_up() {
    leave([&] { answer_stored(); });
  }

  // Withdraws the registration at the loop.
  template <typename Answer>
  void leave(Answer answer) {
    if (!finish()) {
      return;
    }
    if (RunWaitPtr known = run_wait_.lock()) {
      service().loop.submit(RemoveRunWait{std::move(known)});
    }
    answer();
  }

  bool finish() {
    const std::scoped_lock lock(mutex_);
    if (alarm_.has_value()) {
      service().alarm.cancel(*alarm_);
    }
    service().waiters.remove(waiter_);
    return !std::exchange(finished_, true);
  }

  void answer_stored() {
    const Result<void> taken = service().readers.run([self = shared_from_this()] {
      if (const Result<void> read = self->read_and_answer(); !read.ok()) {
        self->fail(read.error());
      }
    });
    if (!taken.ok()) {
      fail(taken.error());
    }
  }

  Result<void> read_and_answer() {
    Journal& journal = service().loop.journal();
    // Another server may have started it.
    HOLDFAST_CHECK(journal.catch_up());
    HOLDFAST_TRY(const auto entries, journal.load(run_thread(run_)));
    if (entries.empty()) {
      return run_not_found(run_);
    }
    RunProjection run(run_);
    for (const Entry& entry : entries) {
      run.fold(entry);
    }
    answer(outcome_of(run));
    return {};
  }

  void answer(OutcomeResponse outcome) {
    outcome.existed = existed_;
    call_->answer_json(response_json(outcome), existed_.value_or(true) ? 200 : 201);
  }

  const CallPtr call_;
  const RunId run_;
  const std::optional<bool> existed_;
  std::weak_ptr<RunWait> run_wait_;  // the loop owns it
  std::mutex mutex_;
  std::optional<Alarm::Ticket> alarm_;
  Waiters::Ticket waiter_ = 0;
  bool finished_ = false;
};

std::chrono::milliseconds time_of(std::uint64_t ms) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(ms));
}

// The header Idempotency-Key is the same as the member idempotency_key; both must agree. An empty
// header is an error: without a key, every repetition would start another run.
Result<StartRequest> start_request(const Call& call) {
  HOLDFAST_TRY(StartRequest request, read_body<StartRequest>(call));
  for (const net::Header& header : call.request().headers) {
    if (!net::same_ignoring_case(header.name, "Idempotency-Key")) {
      continue;
    }
    if (header.value.empty() ||
        (!request.idempotency_key.empty() && request.idempotency_key != header.value)) {
      return Error{ErrorCode::invalid_argument,
                   header.value.empty()
                       ? "the header Idempotency-Key is empty"
                       : "conflicting idempotency keys: the header Idempotency-Key is repeated "
                         "with another value, or differs from the member idempotency_key"}
          .with("field", "idempotency_key");
    }
    request.idempotency_key = header.value;
  }
  return request;
}

}  // namespace

Result<void> start_run(const CallPtr& call) {
  HOLDFAST_TRY(const WaitRequest parameters, read_query<WaitRequest>(*call));
  HOLDFAST_TRY(const StartRequest request, start_request(*call));
  HOLDFAST_TRY(auto start, start_of(*call, request, trace_of(call->request())));
  call->identify("run_id", to_string(start.run_id));
  if (!request.idempotency_key.empty()) {
    call->identify("idempotency_key", request.idempotency_key);
  }
  submit<Started>(call, std::move(start.decide),
                  [call, wait = parameters.wait](const Started& started) {
                    if (wait.has_value()) {
                      std::make_shared<OutcomeWait>(call, started.run_id, started.existed)
                          ->begin(time_of(*wait));
                    } else {
                      call->answer_json(started_text(started), started.existed ? 200 : 201);
                    }
                  });
  return {};
}

Result<void> start_runs(const CallPtr& call) {
  HOLDFAST_TRY(const StartBatchRequest body, read_body<StartBatchRequest>(*call));
  if (body.runs.size() > kMostStarts) {
    return Error{ErrorCode::invalid_argument, "a batch starts at most 1000 runs"}.with("field",
                                                                                       "runs");
  }
  using StartOutcomes = std::vector<Result<Started>>;
  auto starts = std::make_shared<std::vector<Result<RunCommands::Start>>>();
  const Payload trace = trace_of(call->request());
  for (const Payload& start : body.runs) {
    auto request =
        start.is_object()
            ? read_object<StartRequest>(start.view())
            : Result<StartRequest>(
                  Error{ErrorCode::invalid_argument, "a start must be a JSON object"}.with("field",
                                                                                           "runs"));
    starts->push_back(request.ok() ? start_of(*call, std::move(request).value(), trace)
                                   : Result<RunCommands::Start>(request.error()));
  }
  submit<StartOutcomes>(
      call,
      [starts](Turn& turn) -> Result<StartOutcomes> {
        StartOutcomes outcomes;
        for (const auto& start : *starts) {
          const Turn::Mark mark = turn.mark();
          Result<Started> started =
              start.ok() ? start.value().decide(turn) : Result<Started>(start.error());
          if (!started.ok()) {
            turn.roll_back_to(mark);
          }
          outcomes.push_back(std::move(started));
        }
        return outcomes;
      },
      [call](const StartOutcomes& outcomes) {
        StartBatchResponse response;
        for (const Result<Started>& started : outcomes) {
          StartResult& result = response.results.emplace_back();
          if (started.ok()) {
            result.run_id = to_string(started.value().run_id);
            result.existed = started.value().existed;
          } else {
            result.problem = problem_json(started.error());
          }
        }
        call->answer_json(response_json(response));
      });
  return {};
}

Result<void> get_outcome(const CallPtr& call) {
  HOLDFAST_TRY(const OutcomeRequest request, read_query<OutcomeRequest>(*call));
  with_run(call, [call, wait = request.wait.value_or(0)](const RunId& run) {
    std::make_shared<OutcomeWait>(call, run, std::nullopt)->begin(time_of(wait));
  });
  return {};
}

}  // namespace holdfast

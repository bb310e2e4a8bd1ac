// Runs: how they are started, and what came of them.
#include <algorithm>

#include "apps/server/operations.h"
#include "apps/server/server_call.h"
#include "apps/server/server_problem.h"
#include "apps/server/work_answers.h"
#include "net/http_text.h"
#include "runs/view/run_source.h"

namespace holdfast {

namespace {

constexpr std::size_t kMostStarts = 1000;

struct StartBody {
  std::string workflow;
  GivenObject input;
  GivenText run_id;
  GivenText idempotency_key;
  GivenText queue;
  GivenText trigger;
  GivenObject search_attributes;
  std::string actor;
  std::string comment;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("workflow", self.workflow);
    v.optional("input", self.input);
    v.optional("run_id", self.run_id);
    v.optional("idempotency_key", self.idempotency_key);
    v.optional("queue", self.queue);
    v.optional("trigger", self.trigger);
    v.optional("search_attributes", self.search_attributes);
    v.optional("actor", self.actor);
    v.optional("comment", self.comment);
  }
};

// Each is read on its own: one that is not right is the answer to itself alone.
struct BatchBody {
  std::vector<Payload> runs;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("runs", self.runs);
  }
};

bool is_trace_text(std::string_view text) {
  constexpr std::size_t kLongest = 512;
  return !text.empty() && text.size() <= kLongest &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f; });
}

// {"traceparent","tracestate"}, as the headers say it; empty: there is none.
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

Result<RunQuestions::Start> start_of(const Call& call, const StartBody& body,
                                     const Payload& trace) {
  HOLDFAST_CHECK(check_workflow(call.caller, body.workflow));
  StartOptions options;
  options.run_id = body.run_id;
  options.idempotency_key = body.idempotency_key;
  options.queue = body.queue;
  options.trigger = body.trigger;
  options.search_attributes = std::string(body.search_attributes.view());
  options.actor = call.caller.actor(body.actor);
  options.comment = body.comment;
  return call.service.questions.start(body.workflow, body.input.empty() ? "{}" : body.input.view(),
                                      options, trace);
}

void write_end(JsonWriter& json, const RunEnd& end) {
  json.member("run_id", to_string(end.run_id)).member("workflow", end.workflow.view());
  json.member("status", to_text(end.status)).member("terminal", true);
  if (!end.result.empty()) {
    json.key("result").raw(JsonText::trusted(std::string(end.result.view())));
  }
  if (!end.error.empty()) {
    json.key("error").raw(JsonText::trusted(std::string(end.error.view())));
  }
}

void write_open(JsonWriter& json, const RunProjection& run) {
  json.member("run_id", to_string(run.run_id()));
  json.member("workflow", run.started().has_value() ? run.started()->workflow.view() : "");
  json.member("status", to_text(run.status())).member("terminal", false);
}

void write_outcome(JsonWriter& json, const RunProjection& run) {
  if (const auto end = run_end_of(run)) {
    write_end(json, *end);
  } else {
    write_open(json, run);
  }
}

// A caller waits for the end of a run, and gets what there is when the time is over. The loop only
// tells of the end: what is stored is read, so that no answer waits for a disk that takes no
// writes.
class OutcomeWait : public std::enable_shared_from_this<OutcomeWait> {
 public:
  // `existed` is part of the answer to a start.
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
      self->told(end);
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
            return Error{ErrorCode::run_not_found, "there is no run " + to_string(run)}.with(
                "run_id", to_string(run));
          }
          return false;
        },
        [self = shared_from_this()](const Result<bool>& live) { self->looked(live); }));
    service().loop.submit(std::move(requests));
  }

 private:
  Service& service() { return call_->service; }

  void looked(const Result<bool>& live) {
    if (!live.ok()) {
      leave([&] { fail(live.error()); });
    } else if (!live.value()) {
      leave([&] { answer_stored(); });
    }
  }

  // A run that was started is not a failed start.
  void fail(const Error& error) {
    if (existed_.has_value()) {
      call_->answer_json(started_text(Started{run_, *existed_}), *existed_ ? 200 : 201);
    } else {
      call_->fail(error);
    }
  }

  // Until the time is over, nobody is there any more, or the server is stopped.
  void wait(std::chrono::milliseconds patience) {
    const auto give_up = [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->give_up();
      }
    };
    {
      const std::scoped_lock lock(mutex_);
      if (over_) {
        return;
      }
      alarm_ = service().alarm.after(patience, give_up);
    }
    // Either may call at once.
    call_->exchange->when_gone(give_up);
    const Waiters::Ticket ticket = service().waiters.add(give_up);
    bool over = false;
    {
      const std::scoped_lock lock(mutex_);
      waiter_ = ticket;
      over = over_;
    }
    if (over) {
      service().waiters.remove(ticket);
    }
  }

  void told(const std::optional<RunEnd>& end) {
    if (!end_it()) {
      return;
    }
    if (!end.has_value()) {
      answer_stored();
      return;
    }
    JsonWriter json;
    begin_answer(json);
    write_end(json, *end);
    finish_answer(std::move(json));
  }

  void give_up() {
    leave([&] { answer_stored(); });
  }

  // The loop forgets about it too.
  template <typename Answer>
  void leave(Answer answer) {
    if (!end_it()) {
      return;
    }
    if (RunWaitPtr known = run_wait_.lock()) {
      service().loop.submit(RemoveRunWait{std::move(known)});
    }
    answer();
  }

  bool end_it() {
    const std::scoped_lock lock(mutex_);
    if (alarm_.has_value()) {
      service().alarm.cancel(*alarm_);
    }
    service().waiters.remove(waiter_);
    return !std::exchange(over_, true);
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
      return Error{ErrorCode::run_not_found, "there is no run " + to_string(run_)}.with(
          "run_id", to_string(run_));
    }
    RunProjection run(run_);
    for (const Entry& entry : entries) {
      run.fold(entry);
    }
    JsonWriter json;
    begin_answer(json);
    write_outcome(json, run);
    finish_answer(std::move(json));
    return {};
  }

  void begin_answer(JsonWriter& json) {
    json.begin_object();
    if (existed_.has_value()) {
      json.member("existed", *existed_);
    }
  }
  void finish_answer(JsonWriter json) {
    json.end_object();
    call_->answer_json(std::move(json).take(), existed_.value_or(true) ? 200 : 201);
  }

  const CallPtr call_;
  const RunId run_;
  const std::optional<bool> existed_;
  std::weak_ptr<RunWait> run_wait_;  // the loop owns it
  std::mutex mutex_;
  std::optional<Alarm::Ticket> alarm_;
  Waiters::Ticket waiter_ = 0;
  bool over_ = false;
};

Result<std::optional<std::chrono::milliseconds>> wait_of(Call& call) {
  HOLDFAST_TRY(const auto wait,
               call.query.number("wait", static_cast<std::uint64_t>(kLongestWait.count())));
  HOLDFAST_CHECK(call.query.finish());
  if (!wait.has_value()) {
    return std::optional<std::chrono::milliseconds>();
  }
  return std::optional(std::chrono::milliseconds(static_cast<std::int64_t>(*wait)));
}

// The header counts as the member; both must agree. An empty one is not taken for none: then every
// repetition would start another run.
Result<StartBody> start_body(const Call& call) {
  HOLDFAST_TRY(StartBody body, read_body<StartBody>(call));
  for (const net::Header& header : call.request().headers) {
    if (!net::same_ignoring_case(header.name, "Idempotency-Key")) {
      continue;
    }
    if (header.value.empty() ||
        (!body.idempotency_key.empty() && body.idempotency_key != header.value)) {
      return Error{ErrorCode::invalid_argument,
                   header.value.empty()
                       ? "the header Idempotency-Key is empty"
                       : "two idempotency keys: the header Idempotency-Key, or the header and the "
                         "member idempotency_key, differ"}
          .with("field", "idempotency_key");
    }
    body.idempotency_key = header.value;
  }
  return body;
}

}  // namespace

void start_run(const CallPtr& call) {
  const auto wait = wait_of(*call);
  const auto body = wait.ok() ? start_body(*call) : Result<StartBody>(wait.error());
  auto start = body.ok() ? start_of(*call, body.value(), trace_of(call->request()))
                         : Result<RunQuestions::Start>(body.error());
  if (!start.ok()) {
    return call->fail(start.error());
  }
  call->identify("run_id", to_string(start.value().run_id));
  if (!body.value().idempotency_key.empty()) {
    call->identify("idempotency_key", body.value().idempotency_key);
  }
  ask<Started>(
      call, std::move(start.value().question), [call, wait = wait.value()](const Started& started) {
        if (wait.has_value()) {
          std::make_shared<OutcomeWait>(call, started.run_id, started.existed)->begin(*wait);
        } else {
          call->answer_json(started_text(started), started.existed ? 200 : 201);
        }
      });
}

void start_runs(const CallPtr& call) {
  const auto body = read_body<BatchBody>(*call);
  if (!body.ok()) {
    return call->fail(body.error());
  }
  if (body.value().runs.size() > kMostStarts) {
    return call->fail(
        Error{ErrorCode::invalid_argument, "at most 1000 runs fit into one call"}.with("field",
                                                                                       "runs"));
  }
  using StartAnswers = std::vector<Result<Started>>;
  auto starts = std::make_shared<std::vector<Result<RunQuestions::Start>>>();
  const Payload trace = trace_of(call->request());
  for (const Payload& start : body.value().runs) {
    const auto parsed =
        start.is_object()
            ? read_object<StartBody>(start.view())
            : Result<StartBody>(
                  Error{ErrorCode::invalid_argument, "a start must be a JSON object"}.with("field",
                                                                                           "runs"));
    starts->push_back(parsed.ok() ? start_of(*call, parsed.value(), trace)
                                  : Result<RunQuestions::Start>(parsed.error()));
  }
  ask<StartAnswers>(
      call,
      [starts](Turn& turn) -> Result<StartAnswers> {
        StartAnswers answers;
        for (const auto& start : *starts) {
          const Turn::Mark mark = turn.mark();
          Result<Started> started =
              start.ok() ? start.value().question(turn) : Result<Started>(start.error());
          if (!started.ok()) {
            turn.roll_back_to(mark);
          }
          answers.push_back(std::move(started));
        }
        return answers;
      },
      [call](const StartAnswers& answers) {
        JsonWriter json;
        json.begin_object().key("results").begin_array();
        for (const Result<Started>& started : answers) {
          if (started.ok()) {
            json.raw(JsonText::trusted(started_text(started.value())));
          } else {
            json.begin_object().member("problem", problem_json(started.error())).end_object();
          }
        }
        json.end_array().end_object();
        call->answer_json(std::move(json).take());
      });
}

void get_outcome(const CallPtr& call) {
  const auto wait = wait_of(*call);
  if (!wait.ok()) {
    return call->fail(wait.error());
  }
  with_run(call, [call, wait = wait.value()](const RunId& run) {
    std::make_shared<OutcomeWait>(call, run, std::nullopt)
        ->begin(wait.value_or(std::chrono::milliseconds(0)));
  });
}

}  // namespace holdfast

// Commands on runs. Each is durable when it is answered, with what the run does then.
#include <fmt/format.h>

#include "apps/server/operations.h"
#include "apps/server/server_call.h"
#include "apps/server/server_filter.h"
#include "apps/server/server_problem.h"
#include "apps/server/work_answers.h"
#include "runs/inspect/live_run_view.h"

namespace holdfast {

namespace {

enum class BodyMode : std::uint8_t { as_defined, compensate, stop };

}  // namespace

template <>
inline constexpr std::string_view kEnumNames<BodyMode>[] = {"as_defined", "compensate", "stop"};

namespace {

CancelMode mode_of(BodyMode mode) { return static_cast<CancelMode>(mode); }

struct CancelBody {
  BodyMode mode = BodyMode::as_defined;
  std::string actor;
  std::string comment;
  GivenText idempotency_key;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("mode", self.mode);
    v.optional("actor", self.actor);
    v.optional("comment", self.comment);
    v.optional("idempotency_key", self.idempotency_key);
  }
};

struct SignalBody {
  std::string event;
  GivenObject data;
  GivenText correlation;
  std::string actor;
  GivenText idempotency_key;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("event", self.event);
    v.optional("data", self.data);
    v.optional("correlation", self.correlation);
    v.optional("actor", self.actor);
    v.optional("idempotency_key", self.idempotency_key);
  }
};

struct ResolveBody {
  GivenText step;
  std::string actor;
  std::string comment;
  GivenObject metadata;
  GivenText idempotency_key;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("step", self.step);
    v.optional("actor", self.actor);
    v.optional("comment", self.comment);
    v.optional("metadata", self.metadata);
    v.optional("idempotency_key", self.idempotency_key);
  }
};

struct ReplayBody {
  GivenText from_step;
  GivenObject input;
  bool allow_irreversible = false;
  GivenText run_id;
  std::string actor;
  std::string comment;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("from_step", self.from_step);
    v.optional("input", self.input);
    v.optional("allow_irreversible", self.allow_irreversible);
    v.optional("run_id", self.run_id);
    v.optional("actor", self.actor);
    v.optional("comment", self.comment);
  }
};

struct AttributesBody {
  GivenObject changes;
  GivenText idempotency_key;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("changes", self.changes);
    v.optional("idempotency_key", self.idempotency_key);
  }
};

struct ArchiveBody {
  std::string reason;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("reason", self.reason);
  }
};

struct Nothing {
  template <typename Self, typename Visitor>
  static void visit(Self& /*self*/, Visitor& /*v*/) {}
};

std::string plain_steered(const RunId& run, const std::string& did) {
  return fmt::format("run {} {}\n", to_string(run), did);
}

// The question, and in the same turn what the run does then.
void steer(const CallPtr& call, const RunId& run, std::string did, const Question<Done>& question) {
  struct Steered {
    Explanation why;
    Position before;
  };
  const auto wanted = call->style();
  if (!wanted.ok()) {
    return call->fail(wanted.error());
  }
  const Style style = wanted.value();
  call->identify("run_id", to_string(run));
  const Question<Steered> both = [run, question](Turn& turn) -> Result<Steered> {
    HOLDFAST_CHECK(question(turn));
    HOLDFAST_TRY(Explanation why, explain_in_turn(turn, run));
    return Steered{std::move(why), turn.state().position()};
  };
  ask<Steered>(call, guarded(*call, run, both),
               [call, run, style, did = std::move(did)](const Steered& steered) {
                 if (call->form() == Form::json) {
                   return call->answer_json(to_json(steered.why).view());
                 }
                 const auto show = [call, run, style, did, steered] {
                   Answers answers(call->service.loop.journal(), call->service.clock, Form::text,
                                   style);
                   auto text = show_steered(answers, run, did, steered.before, steered.why, style);
                   call->answer_text(text.ok() ? std::move(text).value() : plain_steered(run, did));
                 };
                 // It is done, also when it cannot be shown.
                 if (!call->service.readers.run(show).ok()) {
                   call->answer_text(plain_steered(run, did));
                 }
               });
}

void steer(const CallPtr& call, const RunId& run, std::string did,
           Result<Question<Done>> question) {
  if (!question.ok()) {
    return call->fail(question.error());
  }
  steer(call, run, std::move(did), question.value());
}

void resolve(const CallPtr& call, ManualAction action, const std::string& did) {
  const auto body = read_body<ResolveBody>(*call);
  if (!body.ok()) {
    return call->fail(body.error());
  }
  DecisionOptions options;
  options.step = body.value().step;
  options.actor = call->caller.actor(body.value().actor);
  options.comment = body.value().comment;
  options.metadata = std::string(body.value().metadata.view());
  options.idempotency_key = body.value().idempotency_key;
  with_run(call, [call, action, did, options](const RunId& run) {
    const std::string by = action == ManualAction::resumed ? "" : " by " + options.actor;
    steer(call, run, did + by, call->service.questions.resolve(run, action, options));
  });
}

ReplayOptions replay_of(const Call& call, const ReplayBody& body) {
  ReplayOptions options;
  options.from_step = body.from_step;
  options.input = std::string(body.input.view());
  options.allow_irreversible = body.allow_irreversible;
  options.run_id = body.run_id;
  options.actor = call.caller.actor(body.actor);
  options.comment = body.comment;
  return options;
}

}  // namespace

void cancel_run(const CallPtr& call) {
  const auto body = read_body<CancelBody>(*call);
  if (!body.ok()) {
    return call->fail(body.error());
  }
  CancelOptions options;
  options.actor = call->caller.actor(body.value().actor);
  options.comment = body.value().comment;
  options.idempotency_key = body.value().idempotency_key;
  options.mode = mode_of(body.value().mode);
  with_run(call, [call, options](const RunId& run) {
    steer(call, run, "is told to end", call->service.questions.cancel(run, options));
  });
}

void signal_run(const CallPtr& call) {
  const auto body = read_body<SignalBody>(*call);
  if (!body.ok()) {
    return call->fail(body.error());
  }
  SignalOptions options;
  options.correlation = body.value().correlation;
  options.idempotency_key = body.value().idempotency_key;
  options.actor = call->caller.actor(body.value().actor);
  with_run(call, [call, options, event = body.value().event,
                  data = body.value().data](const RunId& run) {
    steer(call, run, "got event " + event,
          call->service.questions.signal(run, event, data.empty() ? "{}" : data.view(), options));
  });
}

void resume_run(const CallPtr& call) { resolve(call, ManualAction::resumed, "is resumed"); }
void approve_run(const CallPtr& call) { resolve(call, ManualAction::approved, "is approved"); }
void reject_run(const CallPtr& call) { resolve(call, ManualAction::rejected, "is rejected"); }

void replay_run(const CallPtr& call) {
  const auto body = read_body<ReplayBody>(*call);
  if (!body.ok()) {
    return call->fail(body.error());
  }
  const ReplayOptions options = replay_of(*call, body.value());
  with_run(call, [call, options](const RunId& run) {
    auto replay = call->service.questions.replay(run, options);
    if (!replay.ok()) {
      return call->fail(replay.error());
    }
    call->identify("run_id", to_string(replay.value().run_id));
    ask<Started>(call, guarded(*call, run, std::move(replay.value().question)),
                 [call](const Started& started) {
                   call->answer_json(started_text(started), started.existed ? 200 : 201);
                 });
  });
}

void set_attributes(const CallPtr& call) {
  const auto body = read_body<AttributesBody>(*call);
  if (!body.ok()) {
    return call->fail(body.error());
  }
  with_run(call, [call, body = body.value()](const RunId& run) {
    steer(call, run, "has other attributes",
          call->service.questions.set_search_attributes(run, body.changes.view(),
                                                        body.idempotency_key));
  });
}

void archive_run(const CallPtr& call) {
  const auto body = read_body<ArchiveBody>(*call);
  if (!body.ok()) {
    return call->fail(body.error());
  }
  with_run(call, [call, reason = body.value().reason](const RunId& run) {
    steer(call, run, "is put away", RunQuestions::archive(run, reason));
  });
}

void unarchive_run(const CallPtr& call) {
  const auto body = read_body<Nothing>(*call);
  if (!body.ok()) {
    return call->fail(body.error());
  }
  with_run(call, [call](const RunId& run) {
    steer(call, run, "is taken out again", RunQuestions::unarchive(run));
  });
}

// --- many at once

namespace {

enum class BulkAction : std::uint8_t { cancel, retry };

}  // namespace

template <>
inline constexpr std::string_view kEnumNames<BulkAction>[] = {"cancel", "retry"};

namespace {

struct BulkBody {
  BulkAction action = BulkAction::cancel;
  FilterBody filter;
  bool all = false;
  bool dry_run = false;
  std::uint64_t limit = 100;
  BodyMode mode = BodyMode::as_defined;
  bool allow_irreversible = false;
  std::string actor;
  std::string comment;
  GivenText key = "retry";

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("action", self.action);
    v.optional("filter", self.filter);
    v.optional("all", self.all);
    v.optional("dry_run", self.dry_run);
    v.optional("limit", self.limit);
    v.optional("mode", self.mode);
    v.optional("allow_irreversible", self.allow_irreversible);
    v.optional("actor", self.actor);
    v.optional("comment", self.comment);
    v.optional("key", self.key);
  }
};

// A filter that restricts nothing must be meant.
Result<void> check_bulk(const BulkBody& body) {
  const auto bad = [](std::string_view field, const std::string& message) {
    return Error{ErrorCode::invalid_argument, message}.with("field", field);
  };
  if (body.limit == 0 || body.limit > 1000) {
    return bad("limit", "limit is a number from 1 to 1000");
  }
  if (body.filter.empty() && !body.all) {
    return bad("filter",
               "an empty filter selects every run: name workflow, statuses, since, until or "
               "attributes in filter, or say \"all\": true");
  }
  if (!body.filter.empty() && body.all) {
    return bad("all", "all and filter exclude each other");
  }
  return {};
}

bool can_be(BulkAction action, const RunRow& row) {
  return action == BulkAction::cancel ? !row.terminal
                                      : row.status == "failed" || row.status == "cancelled";
}

struct Selected {
  std::vector<RunId> runs;
  bool more = false;
};

Result<Selected> select(const Call& call, const BulkBody& body) {
  constexpr std::size_t kPage = 1000;
  RunListQuery query;
  query.newest_first = false;
  query.limit = kPage;
  HOLDFAST_TRY(query.filter, filter_of(body.filter, call.caller, call.service.clock.now()));
  Journal& journal = call.service.loop.journal();
  HOLDFAST_TRY(const Moment moment, Inspector(journal, call.service.clock).moment({}));
  Selected selected;
  do {
    HOLDFAST_TRY(const RunRows page, list_runs(journal, query, moment));
    for (const RunRow& row : page.rows) {
      if (!can_be(body.action, row)) {
        continue;
      }
      if (selected.runs.size() == body.limit) {
        selected.more = true;
        return selected;
      }
      HOLDFAST_TRY(const RunId run, parse_run_id(row.run_id));
      selected.runs.push_back(run);
    }
    query.cursor = page.next;
  } while (!query.cursor.empty());
  return selected;
}

// What became of one of them: the new run of a retry, or nothing.
using BulkAnswers = std::vector<Result<std::optional<RunId>>>;

Result<std::optional<RunId>> do_one(Service& service, const Call& call, const BulkBody& body,
                                    const RunId& run, Turn& turn) {
  if (body.action == BulkAction::cancel) {
    CancelOptions options;
    options.actor = call.caller.actor(body.actor);
    options.comment = body.comment;
    options.mode = mode_of(body.mode);
    HOLDFAST_CHECK(service.questions.cancel(run, options)(turn));
    return std::optional<RunId>();
  }
  ReplayOptions options;
  options.allow_irreversible = body.allow_irreversible;
  options.run_id = to_string(derive_run_id({"bulk_retry", to_string(run), body.key}));
  options.actor = call.caller.actor(body.actor);
  options.comment = body.comment;
  HOLDFAST_TRY(const auto replay, service.questions.replay(run, options));
  HOLDFAST_TRY(const Started started, replay.question(turn));
  return std::optional(started.run_id);
}

void answer_bulk(const CallPtr& call, const BulkBody& body, const Selected& selected,
                 const BulkAnswers& answers) {
  JsonWriter json;
  json.begin_object().member("action", to_text(body.action)).member("dry_run", body.dry_run);
  json.member("matched", static_cast<std::uint64_t>(selected.runs.size()));
  std::uint64_t done = 0;
  for (const auto& answer : answers) {
    done += answer.ok() ? 1U : 0U;
  }
  json.member("done", done).key("runs").begin_array();
  for (std::size_t i = 0; i < selected.runs.size(); ++i) {
    json.begin_object().member("run_id", to_string(selected.runs[i]));
    if (i < answers.size() && !answers[i].ok()) {
      json.member("problem", problem_json(answers[i].error()));
    } else if (i < answers.size() && answers[i].value().has_value()) {
      json.member("new_run_id", to_string(*answers[i].value()));
    }
    json.end_object();
  }
  json.end_array().member("more", selected.more).end_object();
  call->answer_json(std::move(json).take());
}

}  // namespace

void bulk_runs(const CallPtr& call) {
  auto parsed = read_body<BulkBody>(*call);
  if (!parsed.ok()) {
    return call->fail(parsed.error());
  }
  if (const Result<void> checked = check_bulk(parsed.value()); !checked.ok()) {
    return call->fail(checked.error());
  }
  const auto body = std::make_shared<const BulkBody>(std::move(parsed).value());
  read(call, [call, body]() -> Result<void> {
    HOLDFAST_TRY(Selected found, select(*call, *body));
    const auto selected = std::make_shared<const Selected>(std::move(found));
    if (body->dry_run || selected->runs.empty()) {
      answer_bulk(call, *body, *selected, {});
      return {};
    }
    ask<BulkAnswers>(
        call,
        [call, body, selected](Turn& turn) -> Result<BulkAnswers> {
          BulkAnswers answers;
          for (const RunId& run : selected->runs) {
            const Turn::Mark mark = turn.mark();
            auto answer = do_one(call->service, *call, *body, run, turn);
            if (!answer.ok()) {
              turn.roll_back_to(mark);
            }
            answers.push_back(std::move(answer));
          }
          return answers;
        },
        [call, body, selected](const BulkAnswers& answers) {
          answer_bulk(call, *body, *selected, answers);
        });
    return {};
  });
}

}  // namespace holdfast

// Commands on runs. The response is sent when the command is durable, and describes what the run
// does next.
#include <fmt/format.h>

#include "apps/server/server_call.h"
#include "apps/server/server_filter.h"
#include "apps/server/server_operations.h"
#include "apps/server/server_problem.h"
#include "apps/server/work_responses.h"
#include "runs/inspect/live_run_view.h"

namespace holdfast {

namespace {

std::string plain_result(const RunId& run, const std::string& did) {
  return fmt::format("run {} {}\n", to_string(run), did);
}

// Executes the command and, in the same turn, explains what the run does next. did: what the
// command did, for text responses.
void control(const CallPtr& call, const RunId& run, std::string did,
             const TurnFunction<Done>& command) {
  struct Controlled {
    Explanation why;
    Position before;
  };
  const auto read_style = call->style();
  if (!read_style.ok()) {
    return call->fail(read_style.error());
  }
  const Style style = read_style.value();
  call->identify("run_id", to_string(run));
  const TurnFunction<Controlled> both = [run, command](Turn& turn) -> Result<Controlled> {
    HOLDFAST_CHECK(command(turn));
    HOLDFAST_TRY(Explanation why, explain_in_turn(turn, run));
    return Controlled{std::move(why), turn.state().position()};
  };
  submit<Controlled>(
      call, guarded(*call, run, both),
      [call, run, style, did = std::move(did)](const Controlled& controlled) {
        if (call->form() == Form::json) {
          return call->answer_json(to_json(controlled.why).view());
        }
        const auto show = [call, run, style, did, controlled] {
          Inspector inspector(call->service.loop.journal(), call->service.clock);
          auto text =
              show_command_result(inspector, run, did, controlled.before, controlled.why, style);
          call->answer_text(text.ok() ? std::move(text).value() : plain_result(run, did));
        };
        // The command is durable even if its result cannot be shown.
        if (!call->service.readers.run(show).ok()) {
          call->answer_text(plain_result(run, did));
        }
      });
}

// Reads the body, then calls `then` with the run and the request.
template <HasFields Request>
void with_request(const CallPtr& call,
                  std::function<void(const RunId& run, const Request& request)> then) {
  auto body = read_body<Request>(*call);
  if (!body.ok()) {
    return call->fail(body.error());
  }
  if constexpr (requires { body.value().actor; }) {
    body.value().actor = call->caller.actor(body.value().actor);
  }
  with_run(call, [then = std::move(then), request = std::move(body).value()](const RunId& run) {
    then(run, request);
  });
}

void resolve(const CallPtr& call, ManualAction action, const std::string& did) {
  with_request<DecisionRequest>(
      call, [call, action, did](const RunId& run, const DecisionRequest& request) {
        const std::string by = action == ManualAction::resumed ? "" : " by " + request.actor;
        control(call, run, did + by, call->service.commands.resolve(run, action, request));
      });
}

}  // namespace

void cancel_run(const CallPtr& call) {
  with_request<CancelRequest>(call, [call](const RunId& run, const CancelRequest& request) {
    control(call, run, std::string(kCancelResult), call->service.commands.cancel(run, request));
  });
}

void signal_run(const CallPtr& call) {
  with_request<SignalRequest>(call, [call](const RunId& run, const SignalRequest& request) {
    control(call, run, "received event " + request.event,
            call->service.commands.signal(run, request));
  });
}

void resume_run(const CallPtr& call) { resolve(call, ManualAction::resumed, "is resumed"); }
void approve_run(const CallPtr& call) { resolve(call, ManualAction::approved, "is approved"); }
void reject_run(const CallPtr& call) { resolve(call, ManualAction::rejected, "is rejected"); }

void mutate_graph(const CallPtr& call) {
  with_request<MutateRequest>(call, [call](const RunId& run, const MutateRequest& request) {
    control(call, run, mutation_result(request.mutation_id),
            call->service.commands.mutate_graph(run, request));
  });
}

void migrate_run(const CallPtr& call) {
  with_request<MigrateRequest>(call, [call](const RunId& run, const MigrateRequest& request) {
    control(call, run, std::string(kMigrationResult), call->service.commands.migrate(run, request));
  });
}

void retry_run(const CallPtr& call) {
  with_request<RetryRequest>(call, [call](const RunId& run, const RetryRequest& request) {
    control(call, run, std::string(kRetryResult), call->service.commands.retry(run, request));
  });
}

void discard_run(const CallPtr& call) {
  with_request<DiscardRequest>(call, [call](const RunId& run, const DiscardRequest& request) {
    control(call, run, std::string(kDiscardResult), call->service.commands.discard(run, request));
  });
}

void replay_run(const CallPtr& call) {
  with_request<ReplayRequest>(call, [call](const RunId& run, const ReplayRequest& request) {
    auto replay = call->service.commands.replay(run, request);
    if (!replay.ok()) {
      return call->fail(replay.error());
    }
    call->identify("run_id", to_string(replay.value().run_id));
    submit<Started>(call, guarded(*call, run, std::move(replay.value().decide)),
                    [call](const Started& started) {
                      call->answer_json(started_text(started), started.existed ? 200 : 201);
                    });
  });
}

void set_attributes(const CallPtr& call) {
  with_request<AttributesRequest>(call, [call](const RunId& run, const AttributesRequest& request) {
    control(call, run, "has new attributes", call->service.commands.set_attributes(run, request));
  });
}

void archive_run(const CallPtr& call) {
  with_request<ArchiveRequest>(call, [call](const RunId& run, const ArchiveRequest& request) {
    control(call, run, "is archived", RunCommands::archive(run, request));
  });
}

void unarchive_run(const CallPtr& call) {
  with_request<UnarchiveRequest>(call, [call](const RunId& run, const UnarchiveRequest&) {
    control(call, run, "is no longer archived", RunCommands::unarchive(run));
  });
}

namespace {

// A command on every run must be requested explicitly.
Result<void> check_bulk(const BulkRequest& body) {
  const auto bad = [](std::string_view field, const std::string& message) {
    return Error{ErrorCode::invalid_argument, message}.with("field", field);
  };
  if (body.limit == 0 || body.limit > 1000) {
    return bad("limit", "limit must be a number from 1 to 1000");
  }
  if (body.filter.empty() && !body.all) {
    return bad("filter",
               "an empty filter selects every run: set workflow, statuses, since, until or "
               "attributes in filter, or set \"all\": true");
  }
  if (!body.filter.empty() && body.all) {
    return bad("all", "all and filter exclude each other");
  }
  return {};
}

bool applies_to(BulkAction action, const RunRow& row) {
  return action == BulkAction::cancel ? !row.terminal
                                      : row.status == "failed" || row.status == "cancelled";
}

struct Selected {
  std::vector<RunId> runs;
  bool more = false;
};

Result<Selected> select(const Call& call, const BulkRequest& body) {
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
      if (!applies_to(body.action, row)) {
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

// Per run: the new run of a retry, if there is one, or why the command failed.
using BulkOutcomes = std::vector<Result<std::optional<RunId>>>;

Result<std::optional<RunId>> execute_one(RunCommands& commands, const BulkRequest& request,
                                         const RunId& run, Turn& turn) {
  if (request.action == BulkAction::cancel) {
    CancelRequest cancel;
    cancel.actor = request.actor;
    cancel.comment = request.comment;
    cancel.mode = request.mode;
    HOLDFAST_CHECK(commands.cancel(run, cancel)(turn));
    return std::optional<RunId>();
  }
  ReplayRequest again;
  again.allow_irreversible = request.allow_irreversible;
  again.run_id = to_string(derive_run_id({"bulk_retry", to_string(run), request.key}));
  again.actor = request.actor;
  again.comment = request.comment;
  HOLDFAST_TRY(const auto replay, commands.replay(run, again));
  HOLDFAST_TRY(const Started started, replay.decide(turn));
  return std::optional(started.run_id);
}

void answer_bulk(const CallPtr& call, const BulkRequest& request, const Selected& selected,
                 const BulkOutcomes& outcomes) {
  BulkResponse response;
  response.action = request.action;
  response.dry_run = request.dry_run;
  response.matched = selected.runs.size();
  response.more = selected.more;
  for (std::size_t i = 0; i < selected.runs.size(); ++i) {
    BulkResult& result = response.runs.emplace_back();
    result.run_id = to_string(selected.runs[i]);
    if (i >= outcomes.size()) {
      continue;
    }
    if (!outcomes[i].ok()) {
      result.problem = problem_json(outcomes[i].error());
      continue;
    }
    ++response.done;
    if (outcomes[i].value().has_value()) {
      result.new_run_id = to_string(*outcomes[i].value());
    }
  }
  call->answer_json(response_json(response));
}

}  // namespace

void bulk_runs(const CallPtr& call) {
  auto parsed = read_body<BulkRequest>(*call);
  if (!parsed.ok()) {
    return call->fail(parsed.error());
  }
  if (const Result<void> checked = check_bulk(parsed.value()); !checked.ok()) {
    return call->fail(checked.error());
  }
  parsed.value().actor = call->caller.actor(parsed.value().actor);
  const auto request = std::make_shared<const BulkRequest>(std::move(parsed).value());
  read(call, [call, request]() -> Result<void> {
    HOLDFAST_TRY(Selected found, select(*call, *request));
    const auto selected = std::make_shared<const Selected>(std::move(found));
    if (request->dry_run || selected->runs.empty()) {
      answer_bulk(call, *request, *selected, {});
      return {};
    }
    submit<BulkOutcomes>(
        call,
        [call, request, selected](Turn& turn) -> Result<BulkOutcomes> {
          BulkOutcomes outcomes;
          for (const RunId& run : selected->runs) {
            const Turn::Mark mark = turn.mark();
            auto outcome = execute_one(call->service.commands, *request, run, turn);
            if (!outcome.ok()) {
              turn.roll_back_to(mark);
            }
            outcomes.push_back(std::move(outcome));
          }
          return outcomes;
        },
        [call, request, selected](const BulkOutcomes& outcomes) {
          answer_bulk(call, *request, *selected, outcomes);
        });
    return {};
  });
}

}  // namespace holdfast

#include "apps/cli/store_backend.h"

#include <fmt/format.h>

#include "apps/cli/argument_values.h"
#include "apps/server/server_problem.h"
#include "runs/service/circuit_commands.h"
#include "runs/service/dead_letters.h"
#include "runs/service/migration_report.h"
#include "storage/journal/journal_transfer.h"
#include "storage/journal/open_journal.h"

namespace holdfast::cli {

namespace {

Result<RunListQuery> list_query(const ListRequest& request, TimeMs now) {
  RunListQuery query;
  query.newest_first = request.order == RunOrder::newest;
  query.limit = static_cast<std::size_t>(request.limit.value_or(query.limit));
  query.cursor = request.cursor;
  query.filter.workflow = request.workflow;
  query.filter.archived = request.archived;
  if (!request.since.empty()) {
    HOLDFAST_TRY(query.filter.started_from, time_argument("since", request.since, now));
  }
  if (!request.until.empty()) {
    HOLDFAST_TRY(query.filter.started_before, time_argument("until", request.until, now));
  }
  HOLDFAST_TRY(const std::string attributes, attributes_argument(request.attributes));
  HOLDFAST_CHECK(query.filter.select(request.statuses, attributes));
  return query;
}

// The token as lists show it, with its secret.
std::string created_json(const Token& token, TimeMs now, std::string_view text) {
  std::string json(to_json(token, now).view());
  json.pop_back();
  json += R"(,"token":)";
  append_json_string(json, text);
  return json + "}";
}

}  // namespace

// Answers each query from the store.
class StoreQueries {
 public:
  StoreQueries(StoreBackend& backend, Form form) : backend_(backend), form_(form) {}

  Result<std::string> operator()(const ListRequest& request) {
    HOLDFAST_TRY(const At at, At::parse(request.at));
    HOLDFAST_TRY(RunQueries found, queries());
    HOLDFAST_CHECK(found.inspector().moment(at));
    HOLDFAST_TRY(const RunListQuery query, list_query(request, backend_.context_.clock.now()));
    return shown(found.list(query, request.at));
  }
  // Of one run, or of the store.
  template <typename Request>
  Result<std::string> operator()(const Request& request) {
    HOLDFAST_CHECK(check_points(request));
    HOLDFAST_TRY(RunQueries found, queries());
    if constexpr (requires { request.run; }) {
      HOLDFAST_TRY(const RunId run, backend_.reader_->find(request.run));
      return shown(found.of_run(run, request));
    } else {
      return shown(found.of_store(request));
    }
  }
  Result<std::string> operator()(const TokensRequest&) {
    HOLDFAST_TRY(StoreReader* const reader, backend_.reader());
    HOLDFAST_CHECK(reader->journal().catch_up());
    HOLDFAST_TRY(const auto entries, reader->journal().load(tokens_thread()));
    Tokens tokens;
    for (const auto& entry : entries) {
      tokens.fold(entry);
    }
    return std::string(to_json(tokens, backend_.context_.clock.now()).view());
  }
  // What only a server knows.
  Result<std::string> operator()(const QueuesRequest&) {
    return backend_.needs_server("`holdfast status` shows the queues of a store");
  }
  Result<std::string> operator()(const WorkersRequest&) { return (*this)(QueuesRequest{}); }
  Result<std::string> operator()(const SchedulesRequest&) {
    return backend_.needs_server("`holdfast workflow list` lists the workflows of a store");
  }
  Result<std::string> operator()(const ApprovalsRequest&) {
    return backend_.needs_server(
        "`holdfast list --status paused` lists the runs of a store that wait");
  }
  Result<std::string> operator()(const DeadLettersRequest& request) {
    HOLDFAST_TRY(RunQueries found, queries());
    std::string body;
    HOLDFAST_CHECK(found.inspector().query([&](Turn& turn) -> Result<void> {
      HOLDFAST_TRY(const auto page, read_dead_letters(request, kSeesAll)(turn));
      body = response_json(page);
      return {};
    }));
    return body;
  }

  bool fault = false;

 private:
  Result<RunQueries> queries() {
    HOLDFAST_TRY(StoreReader* const reader, backend_.reader());
    return RunQueries(reader->journal(), backend_.context_.clock, form_);
  }
  // Before the store is opened: an invalid point is reported first.
  template <typename Request>
  static Result<void> check_points(const Request& request) {
    if constexpr (requires { request.to; }) {
      HOLDFAST_CHECK(At::parse(request.to));
      HOLDFAST_CHECK(At::parse(request.from));
    } else if constexpr (requires { request.at; }) {
      HOLDFAST_CHECK(At::parse(request.at));
    }
    return {};
  }
  Result<std::string> shown(const Result<View>& view) {
    if (!view.ok()) {
      return view.error();
    }
    fault = is_fault(view.value());
    return render_view(view.value(), form_, backend_.style());
  }

  StoreBackend& backend_;
  Form form_;
};

namespace {

// Executes one command on a run.
struct RunController {
  Engine& engine;
  const std::string& run_id;

  Result<void> operator()(const CancelRun& command) const {
    return engine.cancel(run_id, command.options);
  }
  Result<void> operator()(const SignalRun& command) const {
    return engine.signal(run_id, command.event, command.data, command.options);
  }
  Result<void> operator()(const MutateRun& command) const {
    return engine.mutate_graph(run_id, command.mutation, command.options);
  }
  Result<void> operator()(const MigrateRun& command) const {
    return engine.migrate(run_id, command.options);
  }
  Result<void> operator()(const DecideRun& command) const {
    switch (command.decision) {
      case DecideRun::Decision::approve:
        return engine.approve(run_id, command.options);
      case DecideRun::Decision::reject:
        return engine.reject(run_id, command.options);
      case DecideRun::Decision::resume:
        break;
    }
    return engine.resume(run_id, command.options);
  }
  Result<void> operator()(const RetryRun& command) const {
    return engine.retry(run_id, command.options);
  }
  Result<void> operator()(const DiscardRun& command) const {
    return engine.discard(run_id, command.options);
  }
};

// What was done, to follow "run ID ".
struct ActionText {
  std::string operator()(const CancelRun&) const { return std::string(kCancelResult); }
  std::string operator()(const SignalRun& command) const { return event_result(command.event); }
  std::string operator()(const MutateRun& command) const {
    return mutation_result(command.mutation.id);
  }
  std::string operator()(const MigrateRun&) const { return std::string(kMigrationResult); }
  std::string operator()(const DecideRun& command) const {
    switch (command.decision) {
      case DecideRun::Decision::approve:
        return approval_result(command.options.actor);
      case DecideRun::Decision::reject:
        return rejection_result(command.options.actor);
      case DecideRun::Decision::resume:
        break;
    }
    return std::string(kResumeResult);
  }
  std::string operator()(const RetryRun&) const { return std::string(kRetryResult); }
  std::string operator()(const DiscardRun&) const { return std::string(kDiscardResult); }
};

}  // namespace

Result<StoreReader*> StoreBackend::reader() {
  if (!reader_.has_value()) {
    HOLDFAST_TRY(StoreReader opened, StoreReader::open(store_, context_));
    reader_.emplace(std::move(opened));
  }
  return &*reader_;
}

Result<Backend::Answer> StoreBackend::answer(const Query& query, Form form) {
  StoreQueries queries(*this, form);
  HOLDFAST_TRY(std::string text, std::visit(queries, query));
  return Answer{std::move(text), queries.fault};
}

Result<Engine> StoreBackend::engine() {
  EngineOptions options;
  options.create = false;
  return open_engine(store_, options);
}

Result<std::string> StoreBackend::control(const RunControl& command) {
  HOLDFAST_TRY(StoreReader* const opened, reader());
  const std::string& name =
      std::visit([](const auto& one) -> const std::string& { return one.run; }, command);
  HOLDFAST_TRY(const RunId run, opened->find(name));
  HOLDFAST_TRY(const Position before, opened->journal().catch_up());
  HOLDFAST_TRY(Engine controlled, engine());
  HOLDFAST_CHECK(std::visit(RunController{controlled, to_string(run)}, command));
  Inspector inspector(opened->journal(), context_.clock);
  HOLDFAST_TRY(const Explanation why, inspector.explain(run));
  if (form() == Form::json) {
    return std::string(to_json(why).view()) + '\n';
  }
  return show_command_result(inspector, run, std::visit(ActionText{}, command), before, why,
                             style());
}

Result<StartedRun> StoreBackend::start(const RunStart& command) {
  if (const auto* const replay = std::get_if<ReplayRun>(&command)) {
    HOLDFAST_TRY(StoreReader* const opened, reader());
    HOLDFAST_TRY(const RunId run, opened->find(replay->run));
    HOLDFAST_TRY(Engine replaying, engine());
    return replaying.replay(to_string(run), replay->options);
  }
  const auto& start = std::get<StartRun>(command);
  EngineOptions options;
  options.create = start.definition != nullptr;
  HOLDFAST_TRY(Engine starting, open_engine(store_, options));
  if (start.definition != nullptr) {
    HOLDFAST_CHECK(starting.register_workflow_json(start.definition->spec().view()));
  }
  return starting.start(start.workflow, start.input, start.options);
}

Result<std::string> StoreBackend::administer(const AdminCommand& command) {
  return std::visit([this](const auto& one) { return run(one); }, command);
}

Result<std::unique_ptr<Loop>> StoreBackend::open_loop(OpenMode mode) {
  HOLDFAST_TRY(auto journal, open_journal(store_.url, mode, context_.clock, context_.random));
  LoopOptions options;
  options.owner = "cli";
  return Loop::open(std::move(journal), context_.clock, context_.random, options);
}

Result<std::string> StoreBackend::run(const CreateToken& command) {
  TokenParts::RandomBytes random;
  context_.random.fill(random);
  const TokenParts parts(random);
  HOLDFAST_TRY(const auto loop, open_loop(OpenMode::create));
  HOLDFAST_TRY(const TokenCreated created,
               loop->execute<TokenCreated>([&](Turn& turn) -> Result<TokenCreated> {
                 HOLDFAST_TRY(TokenCreated fact,
                              decide_create(turn.state().registry().tokens(), command, parts.id,
                                            parts.secret, turn.now()));
                 HOLDFAST_CHECK(turn.emit(fact));
                 return fact;
               }));
  const TimeMs now = context_.clock.now();
  return created_json(Token{created, now}, now, bearer_text(parts.id, parts.secret));
}

Result<std::string> StoreBackend::run(const RevokeToken& command) {
  HOLDFAST_CHECK(reader());  // its not_found error names the store
  HOLDFAST_TRY(const auto loop, open_loop(OpenMode::write));
  HOLDFAST_CHECK(loop->execute<Done>([&](Turn& turn) -> Result<Done> {
    HOLDFAST_TRY(const auto fact, decide_revoke(turn.state().registry().tokens(), command.id, ""));
    if (fact.has_value()) {
      HOLDFAST_CHECK(turn.emit(*fact));
    }
    return Done{};
  }));
  return std::string();
}

Result<std::string> StoreBackend::run(const ChangeSchedule&) {
  return needs_server("`holdfast start` starts a run in a store");
}

Result<std::string> StoreBackend::run(const DeliverSchedule& command) {
  HOLDFAST_CHECK(reader());  // its not_found error names the store
  HOLDFAST_TRY(const auto loop, open_loop(OpenMode::write));
  RunCommands commands(context_.clock, context_.random, "cli");
  HOLDFAST_TRY(auto deliver, commands.deliver(command.workflow, command.trigger, command.request));
  HOLDFAST_TRY(const Delivered delivered, loop->execute<Delivered>(std::move(deliver)));
  return response_json(deliver_response(delivered));
}

Result<std::string> StoreBackend::run(const RegisterWorkflow& command) {
  RegisterResponse response = registration(*command.definition);
  response.dry_run = command.dry_run;
  if (command.dry_run) {
    HOLDFAST_TRY(StoreReader* const opened, reader());
    Inspector inspector(opened->journal(), context_.clock);
    HOLDFAST_CHECK(inspector.query([&](Turn& turn) -> Result<void> {
      HOLDFAST_TRY(MigrationReport report, migration_report(turn, *command.definition));
      response.runs = std::move(report.runs);
      response.more = report.more;
      return {};
    }));
    return response_json(response);
  }
  HOLDFAST_TRY(const auto loop, open_loop(OpenMode::create));
  HOLDFAST_TRY(const bool existed, loop->execute<bool>([&](Turn& turn) -> Result<bool> {
    const Definition& definition = *command.definition;
    const bool known =
        turn.state().registry().current(definition.workflow()) == definition.fingerprint();
    HOLDFAST_CHECK(turn.emit_registration(definition));
    return known;
  }));
  response.existed = existed;
  return response_json(response);
}

Result<std::string> StoreBackend::run(const DeadLetterBulkRequest& command) {
  HOLDFAST_CHECK(reader());  // its not_found error names the store
  HOLDFAST_TRY(const auto loop, open_loop(OpenMode::write));
  RunCommands commands(context_.clock, context_.random, "cli");
  HOLDFAST_TRY(auto decide, decide_dead_letters(commands, command, kSeesAll));
  HOLDFAST_TRY(const DeadLetterOutcomes decided,
               loop->execute<DeadLetterOutcomes>(std::move(decide)));
  return response_json(bulk_response(
      command, decided, [](const Error& error) -> Payload { return problem_json(error); }));
}

Result<std::string> StoreBackend::run(const CloseCircuitRequest& command) {
  HOLDFAST_CHECK(reader());  // its not_found error names the store
  HOLDFAST_TRY(const auto loop, open_loop(OpenMode::write));
  HOLDFAST_TRY(const CloseCircuitResponse closed,
               loop->execute<CloseCircuitResponse>(close_circuit(command)));
  return response_json(closed);
}

Error StoreBackend::needs_server(std::string_view alternative) const {
  return Error{ErrorCode::invalid_argument,
               fmt::format("this command needs a server, and {} is a store; name a server with "
                           "--server or HOLDFAST_SERVER (`holdfast server` starts one); {}",
                           shown_url(store_.url), alternative)};
}

Result<void> StoreBackend::backup(std::ostream& out, const Progress& progress) {
  HOLDFAST_TRY(const auto log, open_log_to_read(store_.url, context_));
  HOLDFAST_CHECK(export_journal(*log, out, progress));
  return {};
}

}  // namespace holdfast::cli

#include "apps/cli/store_backend.h"

#include <fmt/format.h>

#include "apps/cli/arguments.h"
#include "storage/journal/journal_transfer.h"

namespace holdfast {

namespace {

using Answer = Backend::Answer;

Result<Answer> answer_of(Result<std::string> text) {
  HOLDFAST_TRY(std::string said, std::move(text));
  return Answer{std::move(said)};
}

Result<RunListQuery> query_of(const ListRunsOptions& options, TimeMs now) {
  RunListQuery query;
  query.newest_first = !options.oldest_first;
  query.limit = static_cast<std::size_t>(options.limit.value_or(query.limit));
  query.cursor = options.cursor;
  query.filter.workflow = options.workflow;
  query.filter.archived = options.archived;
  if (!options.since.empty()) {
    HOLDFAST_TRY(query.filter.started_from, time_argument("since", options.since, now));
  }
  if (!options.until.empty()) {
    HOLDFAST_TRY(query.filter.started_before, time_argument("until", options.until, now));
  }
  HOLDFAST_TRY(const std::string attributes, attributes_argument(options.attributes));
  HOLDFAST_CHECK(query.filter.ask_for(options.statuses, attributes));
  return query;
}

CancelMode mode_of(const CancelRunOptions& options) {
  return options.stop         ? CancelMode::stop
         : options.compensate ? CancelMode::compensate
                              : CancelMode::as_defined;
}

}  // namespace

Result<StoreReader*> StoreBackend::reader() {
  if (!reader_.has_value()) {
    HOLDFAST_TRY(StoreReader opened, StoreReader::open(store_, context_));
    reader_.emplace(std::move(opened));
  }
  return &*reader_;
}

Result<Answers> StoreBackend::answers() {
  HOLDFAST_TRY(StoreReader* const opened, reader());
  return Answers(opened->journal(), context_.clock, form(), style());
}

Result<StoreBackend::RunAtPoint> StoreBackend::run_at(const std::string& run,
                                                      const std::string& at) {
  HOLDFAST_TRY(const At point, At::parse(at));
  HOLDFAST_TRY(Answers asked, answers());
  HOLDFAST_TRY(const RunId id, reader_->find(run));
  return RunAtPoint{id, point, std::move(asked)};
}

Result<Answer> StoreBackend::inspect(const ListRunsOptions& options) {
  HOLDFAST_TRY(const At point, At::parse(options.at));
  HOLDFAST_TRY(Answers asked, answers());
  HOLDFAST_CHECK(asked.inspector().moment(point));
  HOLDFAST_TRY(const RunListQuery query, query_of(options, context_.clock.now()));
  return answer_of(asked.list(query, point));
}

Result<Answer> StoreBackend::inspect(const ShowRunOptions& options) {
  HOLDFAST_TRY(RunAtPoint seen, run_at(options.run, options.at));
  return answer_of(seen.answers.run(seen.run, seen.at));
}

Result<Answer> StoreBackend::inspect(const ExplainOptions& options) {
  HOLDFAST_TRY(RunAtPoint seen, run_at(options.run, options.at));
  return answer_of(seen.answers.explain(seen.run, seen.at));
}

Result<Answer> StoreBackend::inspect(const GraphOptions& options) {
  HOLDFAST_TRY(RunAtPoint seen, run_at(options.run, options.at));
  return answer_of(seen.answers.graph(seen.run, seen.at, graph_view_of(options)));
}

Result<Answer> StoreBackend::inspect(const TimelineOptions& options) {
  HOLDFAST_TRY(RunAtPoint seen, run_at(options.run, options.at));
  return answer_of(seen.answers.timeline(
      seen.run, seen.at,
      options.events ? Answers::TimelineForm::events : Answers::TimelineForm::bars));
}

Result<Answer> StoreBackend::inspect(const DiffOptions& options) {
  HOLDFAST_TRY(const At to, At::parse(options.to));
  HOLDFAST_TRY(RunAtPoint seen, run_at(options.run, options.from));
  return answer_of(seen.answers.diff(seen.run, seen.at, to));
}

Result<Answer> StoreBackend::inspect(const StatusOptions& options) {
  HOLDFAST_TRY(const At point, At::parse(options.at));
  HOLDFAST_TRY(Answers asked, answers());
  return answer_of(asked.status(point));
}

Result<Answer> StoreBackend::inspect(const DoctorOptions& options) {
  HOLDFAST_TRY(const At point, At::parse(options.at));
  HOLDFAST_TRY(Answers asked, answers());
  HOLDFAST_TRY(auto diagnosed, asked.doctor(point));
  return Answer{std::move(diagnosed.text), diagnosed.fault};
}

Result<Answer> StoreBackend::workflows() {
  HOLDFAST_TRY(Answers asked, answers());
  return answer_of(asked.workflows());
}

Result<Answer> StoreBackend::workflow(const std::string& name) {
  HOLDFAST_TRY(Answers asked, answers());
  return answer_of(asked.workflow(name));
}

Result<std::shared_ptr<const Definition>> StoreBackend::definition(const std::string& name) {
  HOLDFAST_TRY(Answers asked, answers());
  return asked.inspector().workflow(name);
}

Result<std::vector<KnownWorkflow>> StoreBackend::versions(const std::string& name) {
  HOLDFAST_TRY(Answers asked, answers());
  return asked.inspector().versions(name);
}

Result<std::string> StoreBackend::run_id(const std::string& run) {
  HOLDFAST_TRY(StoreReader* const opened, reader());
  HOLDFAST_TRY(const RunId found, opened->find(run));
  return to_string(found);
}

Result<Engine> StoreBackend::engine() {
  EngineOptions options;
  options.create = false;
  return open_engine(store_, options);
}

Result<std::string> StoreBackend::control(const std::string& run, std::string_view did,
                                          const Action& action) {
  HOLDFAST_TRY(RunAtPoint seen, run_at(run, ""));
  HOLDFAST_TRY(const Position before, reader_->journal().catch_up());
  HOLDFAST_TRY(Engine opened, engine());
  HOLDFAST_CHECK(action(opened, to_string(seen.run)));
  HOLDFAST_TRY(const Explanation why, seen.answers.inspector().explain(seen.run));
  if (form() == Form::json) {
    return std::string(to_json(why).view()) + '\n';
  }
  return show_steered(seen.answers, seen.run, did, before, why, style());
}

Result<std::string> StoreBackend::control(const CancelRunOptions& options) {
  CancelOptions cancel;
  cancel.actor = options.actor;
  cancel.comment = options.comment;
  cancel.idempotency_key = options.key;
  cancel.mode = mode_of(options);
  return control(options.run, kCancelDeed, [&](Engine& opened, const std::string& run) {
    return opened.cancel(run, cancel);
  });
}

Result<std::string> StoreBackend::control(const SignalRunOptions& options) {
  SignalOptions signal;
  signal.correlation = options.correlation;
  signal.idempotency_key = options.key;
  signal.actor = options.actor;
  return control(options.run, event_deed(options.event),
                 [&](Engine& opened, const std::string& run) {
                   return opened.signal(run, options.event, options.data, signal);
                 });
}

Result<std::string> StoreBackend::control(const ResolveOptions& options) {
  DecisionOptions decision;
  decision.step = options.step;
  decision.actor = options.actor;
  decision.comment = options.comment;
  decision.idempotency_key = options.key;
  switch (options.verb) {
    case ResolveOptions::Verb::resume:
      break;
    case ResolveOptions::Verb::approve:
      return control(
          options.run, approval_deed(options.actor),
          [&](Engine& opened, const std::string& run) { return opened.approve(run, decision); });
    case ResolveOptions::Verb::reject:
      return control(
          options.run, rejection_deed(options.actor),
          [&](Engine& opened, const std::string& run) { return opened.reject(run, decision); });
  }
  return control(options.run, kResumeDeed, [&](Engine& opened, const std::string& run) {
    return opened.resume(run, decision);
  });
}

Result<StartedRun> StoreBackend::replay(const ReplayRunOptions& options) {
  ReplayOptions replay;
  replay.input = options.input;
  replay.from_step = options.from_step;
  replay.allow_irreversible = options.allow_irreversible;
  replay.run_id = options.id;
  replay.actor = options.actor;
  replay.comment = options.comment;
  HOLDFAST_TRY(const std::string run, run_id(options.run));
  HOLDFAST_TRY(Engine opened, engine());
  return opened.replay(run, replay);
}

Result<StartedRun> StoreBackend::start(const Start& start) {
  EngineOptions options;
  options.create = start.definition != nullptr;
  HOLDFAST_TRY(Engine opened, open_engine(store_, options));
  if (start.definition != nullptr) {
    HOLDFAST_CHECK(opened.register_workflow_json(start.definition->spec().view()));
  }
  return opened.start(start.workflow, start.input, start.options);
}

Result<std::string> StoreBackend::snapshot(const std::string& run_id) {
  HOLDFAST_TRY(StoreReader* const opened, reader());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  HOLDFAST_TRY(const JsonText json, opened->inspector().snapshot(run));
  return std::string(json.view());
}

Result<std::string> StoreBackend::server_json(std::string_view, std::string_view instead) {
  return Error{ErrorCode::invalid_argument,
               fmt::format("this is a question to a server, and {} is a store: name a server with "
                           "--server or HOLDFAST_SERVER, `holdfast server` starts one; {}",
                           shown_url(store_.url), instead)};
}

Result<std::string> StoreBackend::post_to_server(std::string_view path, std::string_view,
                                                 std::string_view instead) {
  return server_json(path, instead);
}

Result<void> StoreBackend::backup(std::ostream& out, const Progress& progress) {
  HOLDFAST_TRY(const auto log, open_log_to_read(store_.url, context_));
  HOLDFAST_CHECK(export_journal(*log, out, progress));
  return {};
}

}  // namespace holdfast

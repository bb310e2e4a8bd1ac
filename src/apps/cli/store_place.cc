#include "apps/cli/store_place.h"

#include <fmt/format.h>

#include "apps/cli/arguments.h"
#include "storage/journal/journal_transfer.h"

namespace holdfast {

namespace {

using Answer = WorkPlace::Answer;

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

Result<Looker*> StorePlace::looker() {
  if (!looker_.has_value()) {
    HOLDFAST_TRY(Looker opened, Looker::open(store_, context_));
    looker_.emplace(std::move(opened));
  }
  return &*looker_;
}

Result<Answers> StorePlace::answers() {
  HOLDFAST_TRY(Looker* const opened, looker());
  return Answers(opened->journal(), context_.clock, form(), style());
}

Result<StorePlace::Sight> StorePlace::sight(const std::string& run, const std::string& at) {
  HOLDFAST_TRY(const At point, At::parse(at));
  HOLDFAST_TRY(Answers asked, answers());
  HOLDFAST_TRY(const RunId id, looker_->find(run));
  return Sight{id, point, std::move(asked)};
}

Result<Answer> StorePlace::look(const ListRunsOptions& options) {
  HOLDFAST_TRY(const At point, At::parse(options.at));
  HOLDFAST_TRY(Answers asked, answers());
  HOLDFAST_CHECK(asked.inspector().moment(point));
  HOLDFAST_TRY(const RunListQuery query, query_of(options, context_.clock.now()));
  return answer_of(asked.list(query, point));
}

Result<Answer> StorePlace::look(const ShowRunOptions& options) {
  HOLDFAST_TRY(Sight seen, sight(options.run, options.at));
  return answer_of(seen.answers.run(seen.run, seen.at));
}

Result<Answer> StorePlace::look(const ExplainOptions& options) {
  HOLDFAST_TRY(Sight seen, sight(options.run, options.at));
  return answer_of(seen.answers.explain(seen.run, seen.at));
}

Result<Answer> StorePlace::look(const GraphOptions& options) {
  HOLDFAST_TRY(Sight seen, sight(options.run, options.at));
  return answer_of(seen.answers.graph(seen.run, seen.at, wish_of(options)));
}

Result<Answer> StorePlace::look(const TimelineOptions& options) {
  HOLDFAST_TRY(Sight seen, sight(options.run, options.at));
  return answer_of(seen.answers.timeline(
      seen.run, seen.at,
      options.events ? Answers::TimelineForm::events : Answers::TimelineForm::bars));
}

Result<Answer> StorePlace::look(const DiffOptions& options) {
  HOLDFAST_TRY(const At to, At::parse(options.to));
  HOLDFAST_TRY(Sight seen, sight(options.run, options.from));
  return answer_of(seen.answers.diff(seen.run, seen.at, to));
}

Result<Answer> StorePlace::look(const StatusOptions& options) {
  HOLDFAST_TRY(const At point, At::parse(options.at));
  HOLDFAST_TRY(Answers asked, answers());
  return answer_of(asked.status(point));
}

Result<Answer> StorePlace::look(const DoctorOptions& options) {
  HOLDFAST_TRY(const At point, At::parse(options.at));
  HOLDFAST_TRY(Answers asked, answers());
  HOLDFAST_TRY(auto diagnosed, asked.doctor(point));
  return Answer{std::move(diagnosed.text), diagnosed.fault};
}

Result<Answer> StorePlace::workflows() {
  HOLDFAST_TRY(Answers asked, answers());
  return answer_of(asked.workflows());
}

Result<Answer> StorePlace::workflow(const std::string& name) {
  HOLDFAST_TRY(Answers asked, answers());
  return answer_of(asked.workflow(name));
}

Result<std::shared_ptr<const Definition>> StorePlace::definition(const std::string& name) {
  HOLDFAST_TRY(Answers asked, answers());
  return asked.inspector().workflow(name);
}

Result<std::vector<KnownWorkflow>> StorePlace::versions(const std::string& name) {
  HOLDFAST_TRY(Answers asked, answers());
  return asked.inspector().versions(name);
}

Result<std::string> StorePlace::run_id(const std::string& run) {
  HOLDFAST_TRY(Looker* const opened, looker());
  HOLDFAST_TRY(const RunId found, opened->find(run));
  return to_string(found);
}

Result<Engine> StorePlace::engine() {
  EngineOptions options;
  options.create = false;
  return open_engine(store_, options);
}

Result<std::string> StorePlace::steer(const std::string& run, std::string_view did,
                                      const Deed& deed) {
  HOLDFAST_TRY(Sight seen, sight(run, ""));
  HOLDFAST_TRY(const Position before, looker_->journal().catch_up());
  HOLDFAST_TRY(Engine opened, engine());
  HOLDFAST_CHECK(deed(opened, to_string(seen.run)));
  HOLDFAST_TRY(const Explanation why, seen.answers.inspector().explain(seen.run));
  if (form() == Form::json) {
    return std::string(to_json(why).view()) + '\n';
  }
  return show_steered(seen.answers, seen.run, did, before, why, style());
}

Result<std::string> StorePlace::steer(const CancelRunOptions& options) {
  CancelOptions cancel;
  cancel.actor = options.actor;
  cancel.comment = options.comment;
  cancel.idempotency_key = options.key;
  cancel.mode = mode_of(options);
  return steer(options.run, kCancelDeed,
               [&](Engine& opened, const std::string& run) { return opened.cancel(run, cancel); });
}

Result<std::string> StorePlace::steer(const SignalRunOptions& options) {
  SignalOptions signal;
  signal.correlation = options.correlation;
  signal.idempotency_key = options.key;
  signal.actor = options.actor;
  return steer(options.run, event_deed(options.event), [&](Engine& opened, const std::string& run) {
    return opened.signal(run, options.event, options.data, signal);
  });
}

Result<std::string> StorePlace::steer(const ResolveOptions& options) {
  DecisionOptions decision;
  decision.step = options.step;
  decision.actor = options.actor;
  decision.comment = options.comment;
  decision.idempotency_key = options.key;
  switch (options.verb) {
    case ResolveOptions::Verb::resume:
      break;
    case ResolveOptions::Verb::approve:
      return steer(
          options.run, approval_deed(options.actor),
          [&](Engine& opened, const std::string& run) { return opened.approve(run, decision); });
    case ResolveOptions::Verb::reject:
      return steer(
          options.run, rejection_deed(options.actor),
          [&](Engine& opened, const std::string& run) { return opened.reject(run, decision); });
  }
  return steer(options.run, kResumeDeed, [&](Engine& opened, const std::string& run) {
    return opened.resume(run, decision);
  });
}

Result<StartedRun> StorePlace::replay(const ReplayRunOptions& options) {
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

Result<StartedRun> StorePlace::start(const Start& start) {
  EngineOptions options;
  options.create = start.definition != nullptr;
  HOLDFAST_TRY(Engine opened, open_engine(store_, options));
  if (start.definition != nullptr) {
    HOLDFAST_CHECK(opened.register_workflow_json(start.definition->spec().view()));
  }
  return opened.start(start.workflow, start.input, start.options);
}

Result<std::string> StorePlace::snapshot(const std::string& run_id) {
  HOLDFAST_TRY(Looker* const opened, looker());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  HOLDFAST_TRY(const JsonText json, opened->inspector().snapshot(run));
  return std::string(json.view());
}

Result<std::string> StorePlace::server_json(std::string_view, std::string_view instead) {
  return Error{ErrorCode::invalid_argument,
               fmt::format("this is a question to a server, and {} is a store: name a server with "
                           "--server or HOLDFAST_SERVER, `holdfast server` starts one; {}",
                           shown_url(store_.url), instead)};
}

Result<std::string> StorePlace::tell_server(std::string_view path, std::string_view,
                                            std::string_view instead) {
  return server_json(path, instead);
}

Result<void> StorePlace::backup(std::ostream& out, const Progress& progress) {
  HOLDFAST_TRY(const auto log, open_log_to_read(store_.url, context_));
  HOLDFAST_CHECK(export_journal(*log, out, progress));
  return {};
}

}  // namespace holdfast

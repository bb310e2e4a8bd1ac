// Commands that change runs. Each is durable when it returns, and says where the run is then.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "cli/commands.h"
#include "cli/store.h"
#include "cli/terminal.h"
#include "show/show.h"
#include "yaml/check_workflow.h"

namespace holdfast {

namespace {

// A run of a store, and an engine to change it with.
struct Steered {
  NamedStore store;
  std::string run;
  Looker looker;
  Position before;  // the command came after it
  Engine engine;

  static Result<Steered> find(const std::string& store_option, const std::string& run,
                              Context& context) {
    const NamedStore store = store_of(store_option);
    HOLDFAST_TRY(Looker looker, Looker::open(store, context));
    HOLDFAST_TRY(const RunId found, looker.find(store, run));
    HOLDFAST_TRY(const Position before, looker.journal().catch_up());
    EngineOptions options;
    options.create = false;
    HOLDFAST_TRY(Engine engine, open_engine(store, options));
    return Steered{store, to_string(found), std::move(looker), before, std::move(engine)};
  }
};

// Of a command that does not fit where the run is: says how to see where that is.
Result<void> taken(const Steered& steered, Result<void> done) {
  if (!done.ok() && (done.error().code() == ErrorCode::terminal_run ||
                     done.error().code() == ErrorCode::invalid_transition ||
                     done.error().code() == ErrorCode::stale_manual_resolution)) {
    return advised(done.error(), fmt::format("`holdfast explain {}{}` says what can be done",
                                             steered.run, steered.store.suffix));
  }
  return done;
}

// What log steps said because of the command.
Result<void> print_log_lines(Steered& steered, Context& context) {
  HOLDFAST_TRY(const RunId run, parse_run_id(steered.run));
  HOLDFAST_TRY(const Timeline timeline, steered.looker.inspector().timeline(run));
  for (const TimelineEvent& event : timeline.events) {
    if (event.type == "log_written" && event.position > steered.before) {
      print_line(context, event.summary);
    }
  }
  return {};
}

// What was done, and what the run does now.
Result<void> report(Steered& steered, std::string_view done, Context& context) {
  HOLDFAST_TRY(const RunExplanation why, steered.engine.explain(steered.run));
  if (context.json()) {
    context.out << why.json << '\n';
    return {};
  }
  print_line(context, fmt::format("run {} {}", steered.run, done));
  HOLDFAST_CHECK(print_log_lines(steered, context));
  print_line(context, fmt::format("it {}", why.summary));
  for (const NextStep& next : why.next_steps) {
    if (!why.terminal && !next.command.empty()) {
      print_line(context,
                 fmt::format("next: {}\n  {}{}", next.summary, next.command, steered.store.suffix));
    }
  }
  return {};
}

// Of commands that make a run: its id, and for people how to go on.
void report_started(const StartedRun& started, const NamedStore& store, Context& context) {
  if (context.json()) {
    JsonWriter json;
    json.begin_object().member("run_id", started.run_id).member("existed", started.existed);
    json.end_object();
    print_json(context, std::move(json));
    return;
  }
  print_line(context, started.run_id);
  context.out.flush();
  if (is_terminal(STDERR_FILENO)) {
    fmt::print(stderr, "{}; carry it out with: holdfast work{}\n",
               started.existed ? "it was started before" : "started", store.suffix);
  }
}

CancelMode mode_of(const CancelRunOptions& options) {
  return options.stop         ? CancelMode::stop
         : options.compensate ? CancelMode::compensate
                              : CancelMode::as_defined;
}

}  // namespace

Result<void> run_command(const StartRunOptions& options, Context& context) {
  const NamedStore store = store_of(options.store);
  StartOptions start;
  HOLDFAST_TRY(const std::string input, json_argument("input", options.input));
  HOLDFAST_TRY(start.search_attributes, attributes_argument(options.attributes));
  start.run_id = options.id;
  start.idempotency_key = options.key;
  start.trigger = options.trigger;
  start.queue = options.queue;
  start.actor = options.actor;
  start.comment = options.comment;
  std::error_code ignored;
  std::string workflow = options.workflow;
  std::shared_ptr<const Definition> definition;
  if (std::filesystem::is_regular_file(workflow, ignored)) {
    // Before the store is made: a file with faults leaves nothing behind.
    HOLDFAST_TRY(const std::string text, read_file_argument(workflow));
    HOLDFAST_TRY(definition, load_workflow(text, options.workflow));
    HOLDFAST_CHECK(check_start(*definition, options.id, options.trigger));
    workflow = definition->workflow().str();
  }
  EngineOptions engine_options;
  engine_options.create = definition != nullptr;
  HOLDFAST_TRY(Engine engine, open_engine(store, engine_options));
  if (definition != nullptr) {
    HOLDFAST_CHECK(engine.register_workflow_json(definition->spec().view()));
  }
  auto started = engine.start(workflow, input, start);
  if (!started.ok() && started.error().code() == ErrorCode::unknown_workflow) {
    return Error{ErrorCode::unknown_workflow,
                 fmt::format("there is no file {0} and no workflow {0} in the store; `holdfast "
                             "workflow list{1}` shows what there is",
                             options.workflow, store.suffix)};
  }
  if (!started.ok()) {
    return started.error();
  }
  report_started(started.value(), store, context);
  return {};
}

Result<void> run_command(const CancelRunOptions& options, Context& context) {
  HOLDFAST_TRY(Steered steered, Steered::find(options.store, options.run, context));
  CancelOptions cancel;
  cancel.actor = options.actor;
  cancel.comment = options.comment;
  cancel.idempotency_key = options.key;
  cancel.mode = mode_of(options);
  HOLDFAST_CHECK(taken(steered, steered.engine.cancel(steered.run, cancel)));
  return report(steered, "is told to end", context);
}

Result<void> run_command(const SignalRunOptions& options, Context& context) {
  HOLDFAST_TRY(const std::string data, json_argument("data", options.data));
  HOLDFAST_TRY(Steered steered, Steered::find(options.store, options.run, context));
  SignalOptions signal;
  signal.correlation = options.correlation;
  signal.idempotency_key = options.key;
  signal.actor = options.actor;
  HOLDFAST_CHECK(taken(steered, steered.engine.signal(steered.run, options.event, data, signal)));
  return report(steered, fmt::format("got event {}", options.event), context);
}

Result<void> run_command(const ResolveOptions& options, Context& context) {
  HOLDFAST_TRY(Steered steered, Steered::find(options.store, options.run, context));
  DecisionOptions decision;
  decision.step = options.step;
  decision.actor = options.actor;
  decision.comment = options.comment;
  decision.idempotency_key = options.key;
  switch (options.verb) {
    case ResolveOptions::Verb::resume:
      HOLDFAST_CHECK(taken(steered, steered.engine.resume(steered.run, decision)));
      return report(steered, "is resumed", context);
    case ResolveOptions::Verb::approve:
      HOLDFAST_CHECK(taken(steered, steered.engine.approve(steered.run, decision)));
      return report(steered, fmt::format("is approved by {}", options.actor), context);
    case ResolveOptions::Verb::reject:
      HOLDFAST_CHECK(taken(steered, steered.engine.reject(steered.run, decision)));
      return report(steered, fmt::format("is rejected by {}", options.actor), context);
  }
  return {};
}

Result<void> run_command(const ReplayRunOptions& options, Context& context) {
  ReplayOptions replay;
  if (!options.input.empty()) {
    HOLDFAST_TRY(replay.input, json_argument("input", options.input));
  }
  HOLDFAST_TRY(Steered steered, Steered::find(options.store, options.run, context));
  replay.from_step = options.from_step;
  replay.allow_irreversible = options.allow_irreversible;
  replay.run_id = options.id;
  replay.actor = options.actor;
  replay.comment = options.comment;
  auto replayed = steered.engine.replay(steered.run, replay);
  if (!replayed.ok() && replayed.error().code() == ErrorCode::unsafe_replay) {
    return advised(replayed.error(), "--allow-irreversible repeats it all the same");
  }
  HOLDFAST_TRY(const StartedRun started, std::move(replayed));
  report_started(started, steered.store, context);
  return {};
}

}  // namespace holdfast

#include <CLI/CLI.hpp>

#include "apps/cli/cli_help.h"
#include "apps/cli/grammar.h"
#include "apps/cli/help_runs.h"

namespace holdfast {

namespace {

void add_run(CLI::App& app, std::string& run) {
  add_text(app, "RUN", run, "the run: its id, the beginning or end of it, or latest");
}

void add_at(CLI::App& app, std::string& at, const char* points) {
  add_option(app, "--at", at, "POINT", std::string("As it was then: ") + points);
}

constexpr const char* kPoints = "a log position (123), a time, or an age (10m)";
constexpr const char* kRunPoints = "a log position (123), r5, a time, or an age (10m)";

void add_json(CLI::App& app, const char* name, std::string& target, const std::string& what) {
  add_option(app, name, target, "JSON", what + ": a JSON object, @FILE, or - for standard input");
}

void add_words(CLI::App& app, std::string& actor, std::string& comment) {
  add_option(app, "--actor", actor, "WHO", "Who does it, for the record");
  add_option(app, "--comment", comment, "TEXT", "Why, for the record");
}

void add_key(CLI::App& app, std::string& key) {
  add_option(app, "--key", key, "KEY", "The same command again under this key counts once");
}

void add_executing(Grammar& grammar, CLI::App& program) {
  auto [run, options] = add_backend_command<RunFileOptions>(grammar, program, "run", help::kRun);
  add_text(*run, "FILE", options->file, "the workflow file");
  add_json(*run, "--input", options->input, "The input");
  add_option(*run, "--id", options->id, "UUID", "The id of the run");
  add_option(*run, "--key", options->key, "KEY", "One run of the workflow for this key");
  add_option(*run, "--trigger", options->trigger, "NAME", "Which trigger (default: the first)");
  add_option(*run, "--actor", options->actor, "WHO", "Who starts it, for the record");
  add_list(*run, "--with", options->with, "FILE", "Register this workflow too: children, for one");
  add_number(*run, "--threads", options->threads, "Steps at once (default: 4)");
  run->add_flag("--until-blocked", options->until_blocked,
                "Stop when only people, events, time or other workers can move it");
  run->add_flag("--quiet", options->quiet, "No progress, only the result");

  auto [work, work_options] =
      add_backend_command<WorkOptions>(grammar, program, "work", help::kWork);
  add_list(*work, "--with", work_options->with, "FILE", "Register this workflow first");
  add_list(*work, "--queue", work_options->queues, "NAME", "Also take steps of this queue");
  add_number(*work, "--threads", work_options->threads, "Steps at once (default: 4)");
  work->add_flag("--drain", work_options->drain, "Stop when nothing can be done now");
  work->add_flag("--quiet", work_options->quiet, "Print nothing");

  auto [start, start_options] =
      add_backend_command<StartRunOptions>(grammar, program, "start", help::kStart);
  add_text(*start, "WORKFLOW", start_options->workflow, "a workflow file, or a name");
  add_json(*start, "--input", start_options->input, "The input");
  add_option(*start, "--id", start_options->id, "UUID", "The id of the run");
  add_option(*start, "--key", start_options->key, "KEY", "One run of the workflow for this key");
  add_option(*start, "--trigger", start_options->trigger, "NAME",
             "Which trigger (default: the first)");
  add_option(*start, "--queue", start_options->queue, "NAME", "Where its steps go");
  add_words(*start, start_options->actor, start_options->comment);
  add_list(*start, "--attribute", start_options->attributes, "NAME=VALUE", "A search attribute");
}

void add_inspecting(Grammar& grammar, CLI::App& program) {
  auto [list, options] =
      add_backend_command<ListRunsOptions>(grammar, program, "list", help::kList);
  add_option(*list, "--workflow", options->workflow, "NAME", "Only runs of this workflow");
  add_list(*list, "--status", options->statuses, "STATUS", "Only runs with this status");
  add_option(*list, "--since", options->since, "TIME",
             "Started at or after: a time or an age (2h)");
  add_option(*list, "--until", options->until, "TIME", "Started before: a time or an age");
  add_list(*list, "--attribute", options->attributes, "NAME=VALUE", "With this search attribute");
  add_number(*list, "--limit", options->limit, "So many on a page (default: 50)");
  add_option(*list, "--cursor", options->cursor, "CURSOR", "Go on after the page that gave it");
  list->add_flag("--oldest-first", options->oldest_first, "Oldest first");
  list->add_flag("--archived", options->archived, "Also runs that are put away");
  add_at(*list, options->at, kPoints);

  auto [show, show_options] =
      add_backend_command<ShowRunOptions>(grammar, program, "show", help::kShow);
  add_run(*show, show_options->run);
  add_at(*show, show_options->at, kRunPoints);

  auto [explain, explain_options] =
      add_backend_command<ExplainOptions>(grammar, program, "explain", help::kExplain);
  add_run(*explain, explain_options->run);
  add_at(*explain, explain_options->at, kRunPoints);

  auto [graph, graph_options] =
      add_backend_command<GraphOptions>(grammar, program, "graph", help::kGraph);
  add_text(*graph, "RUN", graph_options->run, "the run, or a workflow file");
  graph->add_flag("--dot", graph_options->dot, "For Graphviz");
  graph->add_flag("--mermaid", graph_options->mermaid, "For Mermaid")->excludes("--dot");
  graph->add_flag("--history", graph_options->history,
                  "With --json: also the input and output of each step");
  add_at(*graph, graph_options->at, kRunPoints);

  auto [timeline, timeline_options] =
      add_backend_command<TimelineOptions>(grammar, program, "timeline", help::kTimeline);
  add_run(*timeline, timeline_options->run);
  timeline->add_flag("--events", timeline_options->events, "A line for everything that happened");
  add_at(*timeline, timeline_options->at, kRunPoints);

  auto [diff, diff_options] =
      add_backend_command<DiffOptions>(grammar, program, "diff", help::kDiff);
  add_run(*diff, diff_options->run);
  diff->add_option("--from", diff_options->from, "The earlier point")
      ->type_name("POINT")
      ->required();
  add_option(*diff, "--to", diff_options->to, "POINT", "The later point (default: now)");

  auto [status, status_options] =
      add_backend_command<StatusOptions>(grammar, program, "status", help::kStatus);
  add_at(*status, status_options->at, kPoints);
  auto [doctor, doctor_options] =
      add_backend_command<DoctorOptions>(grammar, program, "doctor", help::kDoctor);
  add_at(*doctor, doctor_options->at, kPoints);
}

void add_resolve(Grammar& grammar, CLI::App& program, const char* name, const help::Text& text,
                 ResolveOptions::Verb verb) {
  auto [resolve, options] = add_backend_command<ResolveOptions>(grammar, program, name, text);
  options->verb = verb;
  add_run(*resolve, options->run);
  add_option(*resolve, "--step", options->step, "STEP", "Where it waits, when at several steps");
  const bool needs_actor = verb != ResolveOptions::Verb::resume;
  resolve->add_option("--actor", options->actor, "Who decides, for the record")
      ->type_name("WHO")
      ->required(needs_actor);
  add_option(*resolve, "--comment", options->comment, "TEXT", "Why, for the record");
  add_key(*resolve, options->key);
}

void add_controlling(Grammar& grammar, CLI::App& program) {
  auto [cancel, options] =
      add_backend_command<CancelRunOptions>(grammar, program, "cancel", help::kCancel);
  add_run(*cancel, options->run);
  add_words(*cancel, options->actor, options->comment);
  add_key(*cancel, options->key);
  cancel->add_flag("--compensate", options->compensate, "Take back what was done, newest first");
  cancel->add_flag("--stop", options->stop, "Take nothing back")->excludes("--compensate");

  auto [signal, signal_options] =
      add_backend_command<SignalRunOptions>(grammar, program, "signal", help::kSignal);
  add_run(*signal, signal_options->run);
  add_text(*signal, "EVENT", signal_options->event, "the name of the event");
  add_json(*signal, "--data", signal_options->data, "What the event says");
  add_option(*signal, "--correlation", signal_options->correlation, "TEXT",
             "What the waiting step must have named too");
  add_key(*signal, signal_options->key);
  add_option(*signal, "--actor", signal_options->actor, "WHO", "Who sends it, for the record");

  add_resolve(grammar, program, "resume", help::kResume, ResolveOptions::Verb::resume);
  add_resolve(grammar, program, "approve", help::kApprove, ResolveOptions::Verb::approve);
  add_resolve(grammar, program, "reject", help::kReject, ResolveOptions::Verb::reject);

  auto [replay, replay_options] =
      add_backend_command<ReplayRunOptions>(grammar, program, "replay", help::kReplay);
  add_run(*replay, replay_options->run);
  add_option(*replay, "--from-step", replay_options->from_step, "STEP",
             "Begin at this step, with what the steps before it gave");
  add_json(*replay, "--input", replay_options->input, "Another input");
  replay->add_flag("--allow-irreversible", replay_options->allow_irreversible,
                   "Also repeat steps that cannot be undone");
  add_option(*replay, "--id", replay_options->id, "UUID", "The id of the new run");
  add_words(*replay, replay_options->actor, replay_options->comment);
}

}  // namespace

void add_run_commands(Grammar& grammar, CLI::App& program) {
  add_executing(grammar, program);
  add_inspecting(grammar, program);
  add_controlling(grammar, program);
}

void add_workflow_commands(Grammar& grammar, CLI::App& program) {
  CLI::App& workflow =
      Grammar::add_family(program, "workflow", help::kWorkflow, help::kWorkflowExamples);
  auto [check, options] = grammar.add<WorkflowCheckOptions>(workflow, "check", help::kWorkflowCheck,
                                                            help::kWorkflowCheckExamples);
  check->add_option("FILE", options->files, "workflow files; - reads standard input")
      ->required()
      ->type_name("");
  grammar.add<WorkflowSchemaOptions>(workflow, "schema", help::kWorkflowSchema,
                                     help::kWorkflowSchemaExamples);
  add_backend_command<WorkflowListOptions>(grammar, workflow, "list", help::kWorkflowList);
  auto [show, show_options] =
      add_backend_command<WorkflowShowOptions>(grammar, workflow, "show", help::kWorkflowShow);
  add_text(*show, "WORKFLOW", show_options->workflow,
           "a name, NAME@VERSION, NAME@FINGERPRINT, or a file");
  auto [diff, diff_options] =
      add_backend_command<WorkflowDiffOptions>(grammar, workflow, "diff", help::kWorkflowDiff);
  add_text(*diff, "BEFORE", diff_options->before, "a name, NAME@VERSION, or a file");
  add_text(*diff, "AFTER", diff_options->after, "likewise");

  auto [completion, completion_options] = grammar.add<CompletionOptions>(
      program, "completion", help::kCompletion.what, help::kCompletion.examples);
  limit_to(completion->add_option("SHELL", completion_options->shell, "bash or zsh")
               ->required()
               ->type_name(""),
           {"bash", "zsh"});
}

}  // namespace holdfast

// Commands that look at runs. None of them writes.
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "cli/commands.h"
#include "cli/store.h"
#include "show/show.h"
#include "view/run_row.h"
#include "view/snapshot.h"
#include "yaml/check_workflow.h"

namespace holdfast {

namespace {

void print_text(Context& context, const std::string& text) { context.out << text; }
void print_json(Context& context, const JsonText& json) { context.out << json.view() << '\n'; }

// A run of a store, at a point.
struct Sight {
  NamedStore store;
  Looker looker;
  RunId run;
  At at;

  static Result<Sight> find(const std::string& store_option, const std::string& run,
                            const std::string& at, Context& context) {
    HOLDFAST_TRY(const At point, At::parse(at));
    const NamedStore store = store_of(store_option);
    HOLDFAST_TRY(Looker looker, Looker::open(store, context));
    HOLDFAST_TRY(const RunId id, looker.find(store, run));
    return Sight{store, std::move(looker), id, point};
  }
};

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

bool is_filtered(const ListRunsOptions& options) {
  return !options.workflow.empty() || !options.statuses.empty() || !options.since.empty() ||
         !options.until.empty() || !options.attributes.empty();
}

Result<RunRows> page_of(Looker& looker, const RunListQuery& query, const Moment& moment) {
  auto page = list_runs(looker.journal(), query, moment);
  if (!page.ok() && page.error().field("field") == "cursor") {
    return advised(page.error(),
                   "give what it was given with, or leave --cursor out to begin at the front");
  }
  return page;
}

// Plans and attempts say in many lines what the steps say in few.
void print_changes(const std::vector<JsonChange>& changes, const Style& style, Context& context) {
  static const std::set<std::string, std::less<>> kDetails{
      "applied_runnables", "as_of",           "attempts",           "expired_attempts",
      "manual_state",      "next_visible_at", "pending_dispatches", "pending_results",
      "planned_runnables", "revisions",       "scheduled_attempts", "visible_attempts"};
  std::vector<JsonChange> shown;
  for (const JsonChange& change : changes) {
    if (!kDetails.contains(change.path.substr(0, change.path.find_first_of(".[")))) {
      shown.push_back(change);
    }
  }
  print_text(context, show_changes(shown, style));
  if (shown.size() < changes.size()) {
    print_line(context, fmt::format("({} more in plans, attempts and revisions: --json)",
                                    changes.size() - shown.size()));
  }
}

Result<RunGraph> graph_of_file(const std::string& file) {
  HOLDFAST_TRY(const std::string text, read_file_argument(file));
  HOLDFAST_TRY(const auto definition, load_workflow(text, file));
  return definition_graph(*definition);
}

Result<RunGraph> graph_of_run(const GraphOptions& options, Context& context) {
  HOLDFAST_TRY(Sight sight, Sight::find(options.store, options.run, options.at, context));
  return sight.looker.inspector().graph(sight.run, sight.at);
}

}  // namespace

Result<void> run_command(const ListRunsOptions& options, Context& context) {
  HOLDFAST_TRY(const At point, At::parse(options.at));
  const NamedStore store = store_of(options.store);
  HOLDFAST_TRY(Looker looker, Looker::open(store, context));
  HOLDFAST_TRY(const Moment moment, looker.inspector().moment(point));
  HOLDFAST_TRY(RunListQuery query, query_of(options, context.clock.now()));
  HOLDFAST_TRY(RunRows page, page_of(looker, query, moment));
  // A filter that few fit gives short pages: go on until there is something to show.
  while (page.rows.empty() && !page.next.empty()) {
    query.cursor = page.next;
    HOLDFAST_TRY(page, page_of(looker, query, moment));
  }
  if (context.json()) {
    print_json(context, to_json(page, moment));
  } else if (page.rows.empty() && is_filtered(options)) {
    print_line(context, fmt::format("No run fits. All runs: holdfast list{}", store.suffix));
  } else {
    print_text(context, show_list(page, moment.now, style_of(store)));
  }
  return {};
}

Result<void> run_command(const ShowRunOptions& options, Context& context) {
  HOLDFAST_TRY(Sight sight, Sight::find(options.store, options.run, options.at, context));
  Inspector inspector = sight.looker.inspector();
  if (context.json()) {
    HOLDFAST_TRY(const JsonText json, inspector.snapshot(sight.run, sight.at));
    print_json(context, json);
    return {};
  }
  HOLDFAST_TRY(const Moment moment, inspector.moment(sight.at, sight.run));
  HOLDFAST_TRY(const StoredRun stored,
               read_stored_run(sight.looker.journal(), sight.run, moment.position));
  HOLDFAST_TRY(const Explanation why, inspector.explain(sight.run, sight.at));
  print_text(context,
             show_run(stored.source(moment.position, moment.now), why, style_of(sight.store)));
  return {};
}

Result<void> run_command(const ExplainOptions& options, Context& context) {
  HOLDFAST_TRY(Sight sight, Sight::find(options.store, options.run, options.at, context));
  HOLDFAST_TRY(const Explanation why, sight.looker.inspector().explain(sight.run, sight.at));
  if (context.json()) {
    print_json(context, to_json(why));
  } else {
    print_text(context, show_explanation(why, style_of(sight.store)));
  }
  return {};
}

Result<void> run_command(const GraphOptions& options, Context& context) {
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(options.run, ignored);
  HOLDFAST_TRY(const RunGraph graph,
               is_file ? graph_of_file(options.run) : graph_of_run(options, context));
  if (context.json()) {
    print_json(context, to_json(graph, options.history));
  } else if (options.dot) {
    print_text(context, to_dot(graph));
  } else if (options.mermaid) {
    print_text(context, to_mermaid(graph));
  } else {
    print_text(context, show_graph(graph, style_of(store_of(options.store))));
  }
  return {};
}

Result<void> run_command(const TimelineOptions& options, Context& context) {
  HOLDFAST_TRY(Sight sight, Sight::find(options.store, options.run, options.at, context));
  HOLDFAST_TRY(const Timeline timeline, sight.looker.inspector().timeline(sight.run, sight.at));
  const Style style = style_of(sight.store);
  if (context.json()) {
    print_json(context, to_json(timeline));
  } else if (options.events) {
    for (const TimelineEvent& event : timeline.events) {
      print_text(context, show_event(event, timeline.started_at, style));
    }
  } else {
    print_text(context, show_timeline(timeline, style));
  }
  return {};
}

Result<void> run_command(const DiffOptions& options, Context& context) {
  HOLDFAST_TRY(const At to, At::parse(options.to));
  HOLDFAST_TRY(Sight sight, Sight::find(options.store, options.run, options.from, context));
  HOLDFAST_TRY(const auto difference, sight.looker.inspector().diff(sight.run, sight.at, to));
  if (context.json()) {
    print_json(context, to_json(difference));
  } else {
    print_changes(difference.changes, style_of(sight.store), context);
  }
  return {};
}

Result<void> run_command(const StatusOptions& options, Context& context) {
  HOLDFAST_TRY(const At point, At::parse(options.at));
  const NamedStore store = store_of(options.store);
  HOLDFAST_TRY(Looker looker, Looker::open(store, context));
  HOLDFAST_TRY(const StoreStatus status, looker.inspector().status(point));
  if (context.json()) {
    print_json(context, to_json(status));
  } else {
    print_text(context, show_status(status, style_of(store)));
  }
  return {};
}

Result<void> run_command(const DoctorOptions& options, Context& context) {
  HOLDFAST_TRY(const At point, At::parse(options.at));
  const NamedStore store = store_of(options.store);
  HOLDFAST_TRY(Looker looker, Looker::open(store, context));
  HOLDFAST_TRY(const Diagnosis diagnosis, looker.inspector().doctor(point));
  if (context.json()) {
    print_json(context, to_json(diagnosis));
  } else {
    print_text(context, show_diagnosis(diagnosis, style_of(store)));
  }
  context.exit_code = diagnosis.verdict() == Check::Verdict::fault ? kExitBadAnswer : 0;
  return {};
}

}  // namespace holdfast

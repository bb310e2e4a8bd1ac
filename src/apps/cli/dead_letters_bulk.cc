#include "apps/cli/dead_letters_bulk.h"

#include <fmt/format.h>

#include "apps/cli/json_rows.h"
#include "runs/api/public_requests.h"
#include "runs/view/view_words.h"

namespace holdfast::cli {

void DeadLetterSelection::declare(Arguments& arguments) {
  arguments.option("--queue", "QUEUE", queue, "Those of this queue");
  arguments.option("--workflow", "NAME", workflow, "Those of runs of this workflow");
  arguments.option("--step", "STEP", step, "Those of this step; with RUN, the step that failed");
  arguments.option("--code", "CODE", code, "Those whose error has this code");
  arguments.option("--reason", "REASON", reason,
                   "parked: those that wait; exhausted: those that failed their run");
  arguments.flag("--all", all, "All of them; needed when nothing else selects them");
  arguments.flag("--dry-run", dry_run, "Only print what would be decided");
  arguments.option("--limit", "N", limit, "Largest number to decide (default: 100)");
}

namespace {

Result<std::string> whole_id(Backend& backend, const std::string& run) {
  if (run.empty()) {
    return std::string();
  }
  HOLDFAST_TRY(const std::string body, backend.json(ExplainRequest{{run, {}}}));
  HOLDFAST_TRY(const Json json, Json::parse(body));
  return JsonRow(json).text("run_id");
}

std::string outcome_of(const Json& item) {
  const JsonRow row(item);
  if (const auto problem = item.find("problem")) {
    return ": " + JsonRow(*problem).text("detail");
  }
  const std::string replay = row.text("replay_run_id");
  return replay.empty() ? "" : ": run " + replay;
}

}  // namespace

Result<void> decide_dead_letters_of(const BackendOptions& options,
                                    const DeadLetterSelection& selection,
                                    const DeadLetterBulkRequest& command, Context& context) {
  DeadLetterBulkRequest request = command;
  request.filter.queue = selection.queue;
  request.filter.workflow = selection.workflow;
  request.filter.step = selection.step;
  request.filter.code = selection.code;
  request.all = selection.all;
  request.dry_run = selection.dry_run;
  request.limit = selection.limit;
  HOLDFAST_TRY(request.filter.reason, read_dead_letter_reason(selection.reason));
  HOLDFAST_TRY(const auto backend, open_backend(options, context));
  HOLDFAST_TRY(request.filter.run_id, whole_id(*backend, selection.run));
  HOLDFAST_TRY(const std::string body, backend->administer(request));
  if (context.json()) {
    print_body(context, body);
    return {};
  }
  HOLDFAST_TRY(const Json json, Json::parse(body));
  for (const Json& item : rows_of(json, "dead_letters")) {
    const JsonRow row(item);
    print_line(context,
               fmt::format("{} {}{}", row.text("run_id"), row.text("step"), outcome_of(item)));
  }
  const JsonRow row(json);
  const std::string matched =
      counted(static_cast<std::uint64_t>(row.number("matched")), "dead letter");
  print_line(context, selection.dry_run
                          ? fmt::format("{} would be decided", matched)
                          : fmt::format("{} of {} decided", row.number("done"), matched));
  if (row.truth("more")) {
    print_line(context, "more match: repeat the command, or set --limit");
  }
  return {};
}

}  // namespace holdfast::cli

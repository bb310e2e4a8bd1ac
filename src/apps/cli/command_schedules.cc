#include <fmt/format.h>

#include "apps/cli/argument_values.h"
#include "apps/cli/server_list.h"
#include "apps/terminal/terminal_text.h"
#include "runs/view/view_words.h"

namespace holdfast::cli {

namespace {

std::string next_of(const Json& schedule, TimeMs now) {
  const auto next = schedule.find("next");
  if (!next.has_value() || next->size() == 0) {
    return {};
  }
  const TimeMs at{next->item(0).integer().value_or(0)};
  return fmt::format("{} ({})", format_time(at), from_now(at, now));
}

struct SchedulesCommand {
  BackendOptions backend = {};
  ChangeSchedule request = {};

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    arguments.optional("ACTION", request.action,
                       "pause, resume or trigger (default: list the schedules)");
    arguments.restrict_to("ACTION", {"pause", "resume", "trigger"});
    arguments.optional("WORKFLOW", request.workflow, "the workflow");
    arguments.optional("TRIGGER", request.trigger, "its trigger");
    add_json(arguments, "--input", request.input, "With trigger: input of the run");
    add_actor(arguments, request.actor);
    add_comment(arguments, request.comment);
  }

  Result<void> run(Context& context) const {
    return request.action.empty()
               ? print_server_list(backend, SchedulesRequest{}, "schedules", context,
                                   [&](const ServerList& list) { print(list, context); })
               : change(context);
  }

  static void print(const ServerList& list, Context& context) {
    if (list.rows.empty()) {
      print_line(context, "no schedules: no registered workflow has a trigger with cron");
      return;
    }
    Table table(
        {{"WORKFLOW", {}, 8}, {"TRIGGER", {}, 8}, {"CRON"}, {"TIMEZONE"}, {"STATE"}, {"NEXT"}});
    for (const Json& item : list.rows) {
      const JsonRow row(item);
      const bool paused = row.truth("paused");
      const std::string by = row.text("paused_by");
      table.add({{row.text("workflow")},
                 {row.text("trigger")},
                 {row.text("cron")},
                 {row.text("timezone")},
                 {paused ? "paused" + (by.empty() ? by : " by " + by) : "active",
                  paused ? Ink::yellow : Ink::green},
                 {paused ? "" : next_of(item, context.clock.now())}});
    }
    context.out << table.text(list.backend->style());
  }

  Result<void> change(Context& context) const {
    if (request.workflow.empty() || request.trigger.empty()) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("name the schedule: holdfast schedules {} WORKFLOW TRIGGER; "
                               "`holdfast schedules` lists them",
                               request.action)};
    }
    const bool triggers = request.action == "trigger";
    ChangeSchedule command = request;
    command.input.clear();
    if (triggers) {
      HOLDFAST_TRY(command.input, json_argument("input", request.input));
    }
    HOLDFAST_TRY(const auto opened, open_backend(backend, context));
    HOLDFAST_TRY(const std::string body, opened->administer(command));
    if (context.json()) {
      print_body(context, body);
    } else if (triggers) {
      HOLDFAST_TRY(const Json json, Json::parse(body));
      print_line(context, JsonRow(json).text("run_id"));
    } else {
      print_line(
          context,
          fmt::format(
              "schedule {} of {} {}", harmless(request.trigger), harmless(request.workflow),
              request.action == "pause" ? "is paused; times that pass are skipped" : "is active"));
    }
    return {};
  }
};

}  // namespace

extern const Command kSchedulesCommand = make_command<SchedulesCommand>(
    "schedules", "List the schedules of a server; pause, resume or trigger one.",
    R"(Times that pass while a schedule is paused are skipped. trigger starts a run now and
prints its id, whether or not the schedule is paused.

Examples:
  holdfast schedules --server http://127.0.0.1:7717
  holdfast schedules pause report nightly --actor ann --comment 'the printer is broken'
  holdfast schedules resume report nightly
  holdfast schedules trigger report nightly --input '{"day":"2026-11-16"}')");

}  // namespace holdfast::cli

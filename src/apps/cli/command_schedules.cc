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
  std::string window = {};
  std::string signal_id = {};

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    arguments.optional("ACTION", request.action,
                       "pause, resume, trigger or deliver (default: list the schedules)");
    arguments.restrict_to("ACTION", {"pause", "resume", "trigger", "deliver"});
    arguments.optional("WORKFLOW", request.workflow, "the workflow");
    arguments.optional("TRIGGER", request.trigger, "its trigger");
    add_json(arguments, "--input", request.input, "With trigger: input of the run");
    arguments.option("--window", "START..END", window,
                     "With deliver: when the schedule was due, and when it is due again");
    arguments.option("--signal-id", "ID", signal_id,
                     "With deliver: names the delivery instead of the window");
    add_actor(arguments, request.actor);
    add_comment(arguments, request.comment);
  }

  Result<void> run(Context& context) const {
    if (request.action == "deliver") {
      return deliver(context);
    }
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
      const bool external = row.truth("external");
      const std::string by = row.text("paused_by");
      table.add({{row.text("workflow")},
                 {row.text("trigger")},
                 {row.text("cron")},
                 {row.text("timezone")},
                 {paused     ? "paused" + (by.empty() ? by : " by " + by)
                  : external ? "external"
                             : "active",
                  paused ? Ink::yellow : Ink::green},
                 {paused ? "" : next_of(item, context.clock.now())}});
    }
    context.out << table.text(list.backend->style());
  }

  Result<void> check_name() const {
    if (request.workflow.empty() || request.trigger.empty()) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("name the schedule: holdfast schedules {} WORKFLOW TRIGGER; "
                               "`holdfast schedules` lists them",
                               request.action)};
    }
    return {};
  }

  Result<void> deliver(Context& context) const {
    HOLDFAST_CHECK(check_name());
    DeliverSchedule command{request.workflow, request.trigger};
    command.request.signal_id = signal_id;
    command.request.actor = request.actor;
    command.request.comment = request.comment;
    if (!window.empty()) {
      const std::size_t dots = window.find("..");
      if (dots == std::string::npos) {
        return Error{ErrorCode::invalid_argument,
                     "the window must be START..END, such as 2026-11-16..2026-11-17"}
            .with("field", "window");
      }
      command.request.intended_window = {window.substr(0, dots), window.substr(dots + 2)};
    }
    HOLDFAST_TRY(const auto opened, open_backend(backend, context));
    HOLDFAST_TRY(const std::string body, opened->administer(command));
    if (context.json()) {
      print_body(context, body);
      return {};
    }
    HOLDFAST_TRY(const Json json, Json::parse(body));
    const JsonRow delivered(json);
    const std::string result = delivered.text("result");
    print_line(context, result == "paused"
                            ? fmt::format("no run: schedule {} of {} is paused",
                                          harmless(request.trigger), harmless(request.workflow))
                            : fmt::format("{} {}", delivered.text("run_id"), result));
    return {};
  }

  Result<void> change(Context& context) const {
    HOLDFAST_CHECK(check_name());
    if (!window.empty() || !signal_id.empty()) {
      return Error{ErrorCode::invalid_argument, "--window and --signal-id go with deliver"}.with(
          "field", window.empty() ? "signal_id" : "window");
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
    "schedules", "List the schedules of a server; pause, resume, trigger or deliver one.",
    R"(Times that pass while a schedule is paused are skipped. trigger starts a run now and
prints its id, whether or not the schedule is paused. deliver is for a scheduler outside of
Holdfast, such as cron: it starts the run of a window, or finds the one that an earlier delivery
of the window started. It also works on a store without a server.

Examples:
  holdfast schedules --server http://127.0.0.1:7717
  holdfast schedules pause report nightly --actor ann --comment 'the printer is broken'
  holdfast schedules resume report nightly
  holdfast schedules trigger report nightly --input '{"day":"2026-11-16"}'
  holdfast schedules deliver report nightly --window 2026-11-16T02:30:00Z..2026-11-17T02:30:00Z
  holdfast schedules deliver report nightly --signal-id backup-311)");

}  // namespace holdfast::cli

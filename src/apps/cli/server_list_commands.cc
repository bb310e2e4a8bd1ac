// What only a server knows: its queues with those who wait at them, its workers, schedules, and who
// is waited for.
#include <fmt/format.h>

#include "apps/cli/arguments.h"
#include "apps/cli/backend.h"
#include "apps/cli/cli_commands.h"
#include "apps/cli/json_rows.h"
#include "apps/terminal/terminal_text.h"
#include "apps/terminal/text_table.h"
#include "net/http.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

using Align = Table::Column::Align;

constexpr std::string_view kStatusInstead = "`holdfast status` shows the queues of a store";

struct Listed {
  std::unique_ptr<Backend> backend;
  std::vector<Json> rows;
  bool printed = false;  // as JSON
};

Result<Listed> list(const BackendOptions& options, std::string_view name, std::string_view instead,
                    Context& context) {
  Listed listed;
  HOLDFAST_TRY(listed.backend, open_backend(options, context));
  HOLDFAST_TRY(const std::string body,
               listed.backend->server_json(fmt::format("/v1/{}", name), instead));
  if (context.json()) {
    context.out << body << (body.ends_with('\n') ? "" : "\n");
    listed.printed = true;
    return listed;
  }
  HOLDFAST_TRY(const Json json, Json::parse(body));
  listed.rows = rows_of(json, name);
  return listed;
}

void add_blocked(Table& table, const Json& queue) {
  for (const Json& blocked : rows_of(queue, "blocked")) {
    table.add_below(fmt::format("  {}", JsonRow(blocked).text("summary")));
  }
}

std::string leases_of(const Json& worker) {
  std::string text;
  for (const Json& lease : rows_of(worker, "leases")) {
    const JsonRow row(lease);
    text +=
        fmt::format("{}{} of {}", text.empty() ? "" : ", ", row.text("step"), row.text("workflow"));
  }
  return text;
}

std::string next_of(const Json& schedule, TimeMs now) {
  const auto next = schedule.find("next");
  if (!next.has_value() || next->size() == 0) {
    return {};
  }
  const TimeMs at{next->item(0).integer().value_or(0)};
  return fmt::format("{} ({})", format_time(at), from_now(at, now));
}

Result<void> list_schedules(const SchedulesOptions& options, Context& context) {
  HOLDFAST_TRY(const Listed listed,
               list(options.backend, "schedules",
                    "a store is looked at with `holdfast workflow list`", context));
  if (listed.printed) {
    return {};
  }
  if (listed.rows.empty()) {
    print_line(context, "no workflow has a schedule: a trigger with cron makes one");
    return {};
  }
  Table table(
      {{"WORKFLOW", {}, 8}, {"TRIGGER", {}, 8}, {"CRON"}, {"TIMEZONE"}, {"STATE"}, {"NEXT"}});
  for (const Json& item : listed.rows) {
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
  context.out << table.text(listed.backend->style());
  return {};
}

std::string_view action_text(const std::string& action) {
  return action == "pause" ? "is paused; times that pass are not made up for" : "goes on";
}

Result<void> change_schedule(const SchedulesOptions& options, Context& context) {
  if (options.workflow.empty() || options.trigger.empty()) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("which? holdfast schedules {} WORKFLOW TRIGGER; `holdfast schedules` "
                             "lists them",
                             options.action)};
  }
  JsonWriter body;
  body.begin_object();
  if (options.action == "trigger") {
    HOLDFAST_TRY(const std::string input, json_argument("input", options.input));
    body.member("input", JsonText::trusted(input));
  }
  if (!options.actor.empty()) {
    body.member("actor", options.actor);
  }
  if (!options.comment.empty()) {
    body.member("comment", options.comment);
  }
  body.end_object();
  HOLDFAST_TRY(const auto backend, open_backend(options.backend, context));
  const std::string path = fmt::format("/v1/schedules/{}/{}/{}", net::url_encoded(options.workflow),
                                       net::url_encoded(options.trigger), options.action);
  HOLDFAST_TRY(const std::string answer,
               backend->post_to_server(path, std::move(body).take(),
                                       "`holdfast start` starts a run of a store"));
  if (context.json()) {
    context.out << answer << (answer.ends_with('\n') ? "" : "\n");
  } else if (options.action == "trigger") {
    HOLDFAST_TRY(const Json json, Json::parse(answer));
    print_line(context, JsonRow(json).text("run_id"));
  } else {
    print_line(context, fmt::format("schedule {} of {} {}", harmless(options.trigger),
                                    harmless(options.workflow), action_text(options.action)));
  }
  return {};
}

}  // namespace

Result<void> run_command(const QueuesOptions& options, Context& context) {
  HOLDFAST_TRY(const Listed listed, list(options.backend, "queues", kStatusInstead, context));
  if (listed.printed) {
    return {};
  }
  if (listed.rows.empty()) {
    print_line(context, "nothing is queued");
    return {};
  }
  Table table({{"QUEUE", {}, 8},
               {"WAITING", Align::right},
               {"LATER", Align::right},
               {"CLAIMED", Align::right},
               {"EXPIRED", Align::right},
               {"ASLEEP", Align::right},
               {"OLDEST", Align::right},
               {"NEXT", {}, 0, true}});
  for (const Json& item : listed.rows) {
    const JsonRow row(item);
    const Ink late = row.number("expired") > 0 ? Ink::red : Ink::plain;
    table.add({{row.text("name")},
               {row.text("visible")},
               {row.text("scheduled")},
               {row.text("claimed")},
               {row.text("expired"), late},
               {row.text("sleeping")},
               {row.duration("oldest_age_ms")},
               {row.age("next_visible_at", context.clock.now())}});
    add_blocked(table, item);
  }
  context.out << table.text(listed.backend->style());
  return {};
}

Result<void> run_command(const WorkersOptions& options, Context& context) {
  HOLDFAST_TRY(const Listed listed, list(options.backend, "workers", kStatusInstead, context));
  if (listed.printed) {
    return {};
  }
  if (listed.rows.empty()) {
    print_line(context, fmt::format("no worker is there; start one with: holdfast worker{}",
                                    listed.backend->suffix()));
    return {};
  }
  Table table({{"NAME", {}, 8},
               {"ID", {}, 12, true},
               {"VERSION", {}, 0, true},
               {"QUEUES", {}, 8, true},
               {"HANDLERS", {}, 8, true},
               {"SEEN"},
               {"STEPS", Align::right},
               {"AT", {}, 10, true}});
  for (const Json& item : listed.rows) {
    const JsonRow row(item);
    table.add({{row.text("name")},
               {row.text("id")},
               {row.text("version")},
               {row.names("queues")},
               {row.names("handlers")},
               {row.age("last_seen_at", context.clock.now())},
               {std::to_string(rows_of(item, "leases").size())},
               {leases_of(item)}});
  }
  context.out << table.text(listed.backend->style());
  return {};
}

Result<void> run_command(const SchedulesOptions& options, Context& context) {
  return options.action.empty() ? list_schedules(options, context)
                                : change_schedule(options, context);
}

Result<void> run_command(const ApprovalsOptions& options, Context& context) {
  HOLDFAST_TRY(
      const Listed listed,
      list(options.backend, "approvals",
           "`holdfast list --status paused` shows the runs of a store that wait", context));
  if (listed.printed) {
    return {};
  }
  if (listed.rows.empty()) {
    print_line(context, "nobody is waited for");
    return {};
  }
  Table table({{"RUN"}, {"WORKFLOW", {}, 8}, {"STEP", {}, 8}, {"KIND"}, {"SINCE"}});
  for (const Json& item : listed.rows) {
    const JsonRow row(item);
    table.add({{row.text("run_id")},
               {row.text("workflow")},
               {row.text("step")},
               {row.text("kind"), Ink::yellow},
               {row.age("since", context.clock.now())}});
  }
  context.out << table.text(listed.backend->style());
  print_line(context,
             fmt::format("what each is about: holdfast explain RUN{}", listed.backend->suffix()));
  return {};
}

}  // namespace holdfast

#include <fmt/format.h>

#include "apps/cli/broker_backend.h"
#include "apps/cli/cli_store.h"
#include "apps/cli/command.h"
#include "apps/cli/json_rows.h"
#include "apps/terminal/text_table.h"

namespace holdfast::cli {

namespace {

struct BrokerCheckCommand {
  BrokerOptions broker = {};

  void declare(Arguments& arguments) { add_broker_backend(arguments, broker); }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const auto backend, open_broker_backend(broker, context, StoreUse::existing));
    HOLDFAST_TRY(const std::string body, backend->send({"POST", "/admin/orphan-check", "{}"}));
    HOLDFAST_TRY(const Json json, Json::parse(body));
    const std::int64_t total = JsonRow(json).number("total");
    context.exit_code = total == 0 ? 0 : kExitNegativeResult;
    if (context.json()) {
      print_body(context, body);
      return {};
    }
    if (total == 0) {
      print_line(context, "no orphans: every message is whole");
      return {};
    }
    Table table({{"CHECK"}, {"ROWS", Table::Column::Align::right}, {"WORKSPACE"}, {"MEANING"}});
    for (const Json& item : rows_of(json, "found")) {
      const JsonRow row(item);
      table.add(
          {{row.text("check")}, {row.text("rows")}, {row.text("mesh_id")}, {row.text("meaning")}});
    }
    context.out << table.text(style_of(""));
    return {};
  }
};

struct BrokerSweepCommand {
  BrokerOptions broker = {};

  void declare(Arguments& arguments) { add_broker_backend(arguments, broker); }

  Result<void> run(Context& context) const {
    return administer_broker(broker, context, StoreUse::existing, {"POST", "/admin/sweep", "{}"},
                             [&](const Json& json, const BrokerBackend& /*backend*/) {
                               print_line(context, fmt::format("{} messages and {} message ids "
                                                               "removed",
                                                               JsonRow(json).text("messages"),
                                                               JsonRow(json).text("dedupe_rows")));
                             });
  }
};

}  // namespace

extern const Command kBrokerCheckCommand = make_command<BrokerCheckCommand>(
    "broker check", "Look for rows that a broker can never leave behind.",
    R"(Reads one snapshot of the store and changes nothing. Ten checks compare message ids,
messages, histories, deliveries and mentions with each other; a broker that works finds nothing.
Rows that are found are a fault of the store or of the program: keep a copy of the store, and
report it.

Exit codes: 0 nothing was found; 1 rows were found; failures as listed in `holdfast --help`.

Examples:
  holdfast broker check
  holdfast broker check --broker http://127.0.0.1:7718 --token-file admin.token
  holdfast broker check --json | jq .found)");

extern const Command kBrokerSweepCommand = make_command<BrokerSweepCommand>(
    "broker sweep", "Remove messages and message ids whose time has ended.",
    R"(A broker that runs does this every hour by itself (`holdfast broker serve --sweep-every`).

Examples:
  holdfast broker sweep)");

}  // namespace holdfast::cli

#include <fmt/format.h>

#include "apps/broker/broker_host.h"
#include "apps/cli/broker_backend.h"
#include "apps/cli/cli_store.h"
#include "apps/cli/command.h"
#include "base/text.h"
#include "delivery/broker/orphan_check.h"
#include "delivery/broker/store_copy.h"
#include "runs/view/view_words.h"

namespace holdfast::cli {

namespace {

using delivery::CopyReport;

struct CopyTotals {
  std::uint64_t messages = 0;
  std::uint64_t rows = 0;
};

CopyTotals totals_of(const CopyReport& report) {
  CopyTotals totals;
  for (const delivery::CopiedTable& table : report) {
    totals.rows += table.rows;
    const bool messages = table.name == "topic_message" || table.name == "message_queue";
    totals.messages += messages ? table.rows : 0;
  }
  return totals;
}

std::string copied_text(const CopyTotals& totals) {
  return fmt::format("{} ({})", counted(totals.messages, "message"), counted(totals.rows, "row"));
}

struct BrokerBackupCommand {
  std::string file = {};
  std::string store = {};

  void declare(Arguments& arguments) {
    arguments.required("FILE", file, "the file to write; it must not exist");
    add_broker_store(arguments, store);
  }

  Result<void> run(Context& context) const {
    const std::string url = broker_store_of(store);
    HOLDFAST_TRY(const auto from, delivery::open_broker_snapshot(url));
    HOLDFAST_TRY(const CopyReport report, delivery::back_up_store(*from, file));
    const CopyTotals totals = totals_of(report);
    print_result(
        context, fmt::format("{} written to {}", copied_text(totals), harmless(file)),
        [&](JsonWriter& json) {
          json.member("file", file).member("messages", totals.messages).member("rows", totals.rows);
        });
    return {};
  }
};

struct BrokerRestoreCommand {
  std::string file = {};
  std::string store = {};

  void declare(Arguments& arguments) {
    arguments.required("FILE", file, "a file that `holdfast broker backup` has written");
    add_broker_store(arguments, store);
  }

  Result<void> run(Context& context) const {
    const std::string url = broker_store_of(store);
    HOLDFAST_TRY(const auto to, delivery::open_broker_store(url));
    const auto restored = delivery::restore_store(file, *to);
    if (!restored.ok()) {
      return restored.error().code() == ErrorCode::already_exists
                 ? advised(restored.error(), "name an empty one with --store")
                 : restored.error();
    }
    HOLDFAST_TRY(const delivery::OrphanReport orphans,
                 delivery::check_orphans(*to, context.clock.now(), {}));
    const CopyTotals totals = totals_of(restored.value());
    context.exit_code = orphans.total() == 0 ? 0 : kExitNegativeResult;
    print_result(context,
                 fmt::format("{} restored to {}; {}", copied_text(totals), shown_url(url),
                             orphans.total() == 0
                                 ? std::string("every message is whole")
                                 : fmt::format("{} rows are orphans, see `holdfast broker check`",
                                               orphans.total())),
                 [&](JsonWriter& json) {
                   json.member("store", shown_url(url))
                       .member("messages", totals.messages)
                       .member("rows", totals.rows)
                       .member("orphans", orphans.total());
                 });
    return {};
  }
};

}  // namespace

extern const Command kBrokerBackupCommand = make_command<BrokerBackupCommand>(
    "broker backup", "Write the whole store of a broker to a file, as of one moment.",
    R"(Brokers may continue to use the store meanwhile. The file is a SQLite store of its own,
also when the store is PostgreSQL; it appears under its name only when it is complete and on disk.
It contains messages as they are stored: protect it like the store. A SQLite store is read on the
machine that has it.

Examples:
  holdfast broker backup monday.db
  holdfast broker backup monday.db --store postgres://me@db.example/messages)");

extern const Command kBrokerRestoreCommand = make_command<BrokerRestoreCommand>(
    "broker restore", "Fill the empty store of a broker from a backup.",
    R"(The store must be empty or not exist; it may be of another kind than the one that was backed
up. Everything arrives in one transaction or nothing does. Afterwards the rows are counted and
checked like `holdfast broker check` does.

Messages that were accepted after the backup are unknown to the restored store: programs that repeat
them send them again.

Exit codes: 0 restored; 1 restored, but the check found rows; failures as listed in
`holdfast --help`.

Examples:
  holdfast broker restore monday.db --store sqlite:broker.db
  holdfast broker restore monday.db --store postgres://me@db.example/messages)");

}  // namespace holdfast::cli

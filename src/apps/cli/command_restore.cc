#include <fmt/format.h>

#include "apps/cli/cli_store.h"
#include "apps/cli/cli_terminal.h"
#include "apps/cli/command.h"
#include "apps/cli/import_file.h"
#include "apps/cli/option_groups.h"
#include "base/hash.h"
#include "base/text.h"
#include "runs/view/view_words.h"
#include "storage/journal/journal_verify.h"

namespace holdfast::cli {

namespace {

struct RestoreCommand {
  std::string store = {};
  std::string file = {};

  void declare(Arguments& arguments) {
    arguments.required("FILE", file, "a backup; - reads standard input");
    add_store_option(arguments, store);
  }

  Result<void> run(Context& context) const {
    const NamedStore target = store_of(store);
    const auto imported = import_from(file, target.url);
    if (!imported.ok()) {
      return imported.error().code() == ErrorCode::already_exists
                 ? advised(imported.error(), "name a new one with --store")
                 : imported.error();
    }
    HOLDFAST_TRY(const auto log, open_log_to_read(target.url, context));
    auto verified = [&] {
      ProgressBar bar("verifying", "batches");
      return verify_journal(*log, bar.progress());
    }();
    HOLDFAST_TRY(const VerifyReport report, std::move(verified));
    const std::string shown = shown_url(target.url);
    print_result(
        context,
        fmt::format("{} is restored and intact: {} up to position {}", shown,
                    counted(report.entries, "entry", "entries"), with_thousands(report.head.value)),
        [&](JsonWriter& json) {
          json.member("store", shown)
              .member("entries", report.entries)
              .member("head", report.head.value)
              .member("chain", to_hex(report.chain));
        });
    return {};
  }
};

}  // namespace

extern const Command kRestoreCommand = make_command<RestoreCommand>(
    "restore", "Create a store from a backup: same runs, same history, same hashes.",
    R"(The store must be empty or not exist. Nothing is written unless the whole file is valid,
and the new store is verified afterwards. Repeat an interrupted restore to continue it.

Examples:
  holdfast restore monday.jsonl --store sqlite:restored.db
  zstd -dc monday.jsonl.zst | holdfast restore - --store postgres://me@db.example/work)");

}  // namespace holdfast::cli

#include <fmt/format.h>

#include "apps/cli/cli_terminal.h"
#include "apps/cli/command.h"
#include "apps/cli/option_groups.h"
#include "base/hash.h"
#include "base/text.h"
#include "runs/view/view_words.h"
#include "storage/journal/journal_verify.h"

namespace holdfast::cli {

namespace {

// Damage is a result of this command: its JSON has the shape of the one for an intact journal.
Error damage_error(const Error& error, Context& context) {
  constexpr int kDamaged = 3;
  if (context.json() && error_info(error.code()).exit_code == kDamaged) {
    context.out << R"({"ok":false,"error":)" << error.json() << "}\n";
    context.json_printed = true;
  }
  return error;
}

struct JournalVerifyCommand {
  std::string store = {};

  void declare(Arguments& arguments) { add_store(arguments, store); }

  Result<void> run(Context& context) const {
    auto log = open_log_to_read(store, context);
    if (!log.ok()) {
      return damage_error(log.error(), context);
    }
    auto verified = [&] {
      ProgressBar bar("verifying", "batches");
      return verify_journal(*log.value(), bar.progress());
    }();
    if (!verified.ok()) {
      return damage_error(verified.error(), context);
    }
    const VerifyReport& report = verified.value();
    print_result(
        context,
        fmt::format("{} is intact: {} in {} ({} sealed), {}\nchain {} at position {}",
                    harmless(log.value()->name()), counted(report.entries, "entry", "entries"),
                    counted(report.batches, "batch", "batches"),
                    with_thousands(report.sealed_batches), counted(report.threads, "thread"),
                    to_hex(report.chain), with_thousands(report.head.value)),
        [&](JsonWriter& json) {
          json.member("ok", true)
              .member("entries", report.entries)
              .member("batches", report.batches)
              .member("sealed_batches", report.sealed_batches)
              .member("threads", report.threads)
              .member("head", report.head.value)
              .member("chain", to_hex(report.chain));
        });
    return {};
  }
};

}  // namespace

extern const Command kJournalVerifyCommand = make_command<JournalVerifyCommand>(
    "journal verify", "Verify a whole journal: every hash, the chain and every thread.",
    R"(Changes nothing. The message about damage names its location.

Examples:
  holdfast journal verify sqlite:demo.db
  holdfast journal verify sqlite:demo.db --json

Exit codes: 0 every byte is as it was written; 3 the journal is damaged; others as listed in
`holdfast --help`.)");

}  // namespace holdfast::cli

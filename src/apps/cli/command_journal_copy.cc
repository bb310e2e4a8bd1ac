#include <fmt/format.h>

#include <filesystem>

#include "apps/cli/cli_terminal.h"
#include "apps/cli/command.h"
#include "apps/cli/import_file.h"
#include "apps/cli/option_groups.h"
#include "storage/journal/open_journal.h"
#include "storage/log/store_url.h"

namespace holdfast::cli {

namespace {

bool same_store(std::string_view from, std::string_view to) {
  if (from == to) {
    return true;
  }
  const auto left = parse_store_url(from);
  const auto right = parse_store_url(to);
  const auto* const left_file = left.ok() ? std::get_if<SqliteUrl>(&left.value()) : nullptr;
  const auto* const right_file = right.ok() ? std::get_if<SqliteUrl>(&right.value()) : nullptr;
  std::error_code ignored;
  return left_file != nullptr && right_file != nullptr &&
         std::filesystem::equivalent(left_file->path, right_file->path, ignored);
}

struct JournalCopyCommand {
  std::string from = {};
  std::string to = {};

  void declare(Arguments& arguments) {
    add_store(arguments, from, "FROM");
    arguments.required("TO", to, "the store to create or update");
  }

  Result<void> run(Context& context) const {
    HOLDFAST_CHECK(parse_store_url(to));
    // The target is marked as unfinished while it is written: never the source itself.
    if (same_store(from, to)) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("{} cannot be copied to itself", shown_url(from))};
    }
    HOLDFAST_TRY(const auto log, open_log(from, OpenMode::read, context.clock, context.random));
    auto report = [&] {
      ProgressBar bar("copying", "batches");
      return copy_journal(*log, to, bar.progress());
    }();
    HOLDFAST_CHECK(report);
    print_transfer("copied", to, report.value(), context);
    return {};
  }
};

}  // namespace

extern const Command kJournalCopyCommand = make_command<JournalCopyCommand>(
    "journal copy", "Copy a whole journal to another store, byte for byte.",
    R"(Bodies, hashes and checkpoints are identical in the copy. Repeat an interrupted copy to
continue it; repeat a finished one to bring it up to date. The target cannot be opened as a
journal until the copy is complete.

Examples:
  holdfast journal copy sqlite:demo.db sqlite:backup.db
  holdfast journal copy sqlite:demo.db 'postgres://me@db.example/work?schema=demo'
  holdfast journal copy 'postgres://me@db.example/work?schema=demo' sqlite:back.db)");

}  // namespace holdfast::cli

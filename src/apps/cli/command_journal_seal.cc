#include <fmt/format.h>

#include "apps/cli/command.h"
#include "apps/cli/option_groups.h"
#include "base/text.h"
#include "runs/view/view_words.h"
#include "storage/journal/open_journal.h"

namespace holdfast::cli {

namespace {

struct JournalSealCommand {
  std::string store = {};
  std::optional<std::uint64_t> below = {};
  bool reclaim = false;

  void declare(Arguments& arguments) {
    add_store(arguments, store);
    arguments.option("--below", "N", below, "Only batches below this position (default: all)");
    arguments.flag("--reclaim", reclaim,
                   "Return the freed space to the file system; rewrites the store");
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const auto journal,
                 open_journal(store, OpenMode::write, context.clock, context.random));
    SealOptions options;
    if (below.has_value()) {
      options.below = Position{*below};
    }
    HOLDFAST_TRY(const SealReport report, journal->seal(options));
    if (reclaim) {
      HOLDFAST_CHECK(journal->log().reclaim());
    }
    HOLDFAST_TRY(const JournalStat stat, journal->stat());
    print_result(context,
                 fmt::format("sealed {} of {} into {}: {} became {}\n{} now takes {}",
                             counted(report.entries, "entry", "entries"),
                             counted(report.batches, "batch", "batches"),
                             counted(report.segments, "segment"), human_bytes(report.bytes_before),
                             human_bytes(report.bytes_after), harmless(journal->name()),
                             human_bytes(stat.size_bytes)),
                 [&](JsonWriter& json) {
                   json.member("batches", report.batches)
                       .member("entries", report.entries)
                       .member("segments", report.segments)
                       .member("bytes_before", report.bytes_before)
                       .member("bytes_after", report.bytes_after)
                       .member("start", stat.start.value)
                       .member("size_bytes", stat.size_bytes);
                 });
    return {};
  }
};

}  // namespace

extern const Command kJournalSealCommand = make_command<JournalSealCommand>(
    "journal seal", "Move old batches into compressed segments, one per thread.",
    R"(Nothing is lost, and readers see no difference. Safe at any time, also while other
programs append.

Examples:
  holdfast journal seal sqlite:demo.db
  holdfast journal seal sqlite:demo.db --below 1000    do not seal batches from 1000 on
  holdfast journal seal sqlite:demo.db --reclaim       and return the freed space)");

}  // namespace holdfast::cli

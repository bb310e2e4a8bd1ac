#include <fmt/format.h>

#include "apps/cli/cli_commands.h"
#include "base/text.h"
#include "runs/view/view_words.h"
#include "storage/journal/open_journal.h"

namespace holdfast {

Result<void> run_command(const SealCommandOptions& options, Context& context) {
  HOLDFAST_TRY(const auto journal,
               open_journal(options.store, OpenMode::write, context.clock, context.random));
  SealOptions seal;
  if (options.below.has_value()) {
    seal.below = Position{*options.below};
  }
  HOLDFAST_TRY(const SealReport report, journal->seal(seal));
  if (options.reclaim) {
    HOLDFAST_CHECK(journal->log().reclaim());
  }
  HOLDFAST_TRY(const JournalStat stat, journal->stat());
  if (context.json()) {
    JsonWriter writer;
    writer.begin_object();
    writer.member("batches", report.batches);
    writer.member("entries", report.entries);
    writer.member("segments", report.segments);
    writer.member("bytes_before", report.bytes_before);
    writer.member("bytes_after", report.bytes_after);
    writer.member("start", stat.start.value);
    writer.member("size_bytes", stat.size_bytes);
    writer.end_object();
    print_json(context, std::move(writer));
    return {};
  }
  print_line(
      context,
      fmt::format("sealed {} of {} into {}: {} became {}",
                  counted(report.entries, "entry", "entries"),
                  counted(report.batches, "batch", "batches"), counted(report.segments, "segment"),
                  human_bytes(report.bytes_before), human_bytes(report.bytes_after)));
  print_line(context,
             fmt::format("{} has {} now", harmless(journal->name()), human_bytes(stat.size_bytes)));
  return {};
}

}  // namespace holdfast

#include <fmt/format.h>

#include "apps/cli/command.h"
#include "apps/cli/option_groups.h"
#include "base/hash.h"
#include "base/text.h"
#include "runs/view/view_words.h"
#include "storage/journal/open_journal.h"

namespace holdfast::cli {

namespace {

struct Counts {
  std::uint64_t sealed;
  std::uint64_t unsealed;
};

Counts batches_of(const JournalStat& stat) {
  return {stat.start.value - 1, stat.head.value - (stat.start.value - 1)};
}

void print_stat_json(const JournalStat& stat, const std::string& store, Context& context) {
  const Counts batches = batches_of(stat);
  JsonWriter writer;
  writer.begin_object();
  writer.member("store", store);
  writer.member("log_id", to_string(stat.log_id));
  writer.member("format", std::uint64_t{kLogFormat});
  writer.member("start", stat.start.value);
  writer.member("head", stat.head.value);
  writer.member("chain", to_hex(stat.head_chain));
  writer.member("sealed_batches", batches.sealed);
  writer.member("unsealed_batches", batches.unsealed);
  writer.member("unsealed_threads", stat.unsealed_threads);
  writer.member("opened_from_batches", stat.opened_from_batches);
  writer.member("size_bytes", stat.size_bytes);
  writer.end_object();
  print_json(context, std::move(writer));
}

void print_stat_text(const JournalStat& stat, const std::string& store, Context& context) {
  const Counts batches = batches_of(stat);
  const auto row = [&](std::string_view name, std::string_view value) {
    print_line(context, fmt::format("{:<10} {}", name, value));
  };
  row("store", harmless(store));
  row("id", to_string(stat.log_id));
  row("format", std::to_string(kLogFormat));
  row("start", with_thousands(stat.start.value));
  row("head", with_thousands(stat.head.value));
  row("chain", to_hex(stat.head_chain));
  row("batches", fmt::format("{} sealed, {} unsealed", with_thousands(batches.sealed),
                             with_thousands(batches.unsealed)));
  row("threads", fmt::format("{} with unsealed entries", with_thousands(stat.unsealed_threads)));
  row("opening", "reads " + counted(stat.opened_from_batches, "batch", "batches"));
  row("size", human_bytes(stat.size_bytes));
}

struct JournalStatCommand {
  std::string store = {};

  void declare(Arguments& arguments) { add_store(arguments, store); }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const auto journal,
                 open_journal(store, OpenMode::read, context.clock, context.random));
    HOLDFAST_TRY(const JournalStat stat, journal->stat());
    context.json() ? print_stat_json(stat, journal->name(), context)
                   : print_stat_text(stat, journal->name(), context);
    return {};
  }
};

}  // namespace

extern const Command kJournalStatCommand = make_command<JournalStatCommand>(
    "journal stat", "Show the id, positions, newest hash and size of a journal.",
    R"(Examples:
  holdfast journal stat sqlite:demo.db
  holdfast journal stat postgres://me@db.example/work --json)");

}  // namespace holdfast::cli

#include <fmt/format.h>

#include "apps/cli/cli_terminal.h"
#include "apps/cli/command.h"
#include "apps/cli/option_groups.h"
#include "storage/journal/journal_history.h"
#include "storage/journal/open_journal.h"

namespace holdfast::cli {

namespace {

// A change ends the wait at once.
constexpr std::chrono::seconds kOneWait{60};
constexpr std::size_t kPage = 1000;

struct CatOptions {
  std::string store = {};
  std::string thread = {};                 // empty: all threads
  std::optional<std::uint64_t> from = {};  // a position, or with a thread a sequence number
  std::optional<std::uint64_t> limit = {};
  bool follow = false;
};

class EntryPrinter {
 public:
  EntryPrinter(const CatOptions& options, Context& context)
      : context_(&context),
        left_(options.limit.value_or(UINT64_MAX)),
        flush_each_(options.follow),
        colour_(!context.json() && supports_colour()) {}

  // The limit is reached, or standard output is closed.
  [[nodiscard]] bool done() const { return left_ == 0 || !context_->out; }

  void print(Position position, const EntryView& entry) {
    if (done()) {
      return;
    }
    --left_;
    if (context_->json()) {
      context_->out << R"({"position":)" << position.value << ',' << entry.raw.substr(1) << '\n';
    } else {
      print_text(position, entry);
    }
    if (flush_each_) {
      context_->out.flush();
    }
  }

 private:
  void print_text(Position position, const EntryView& entry) {
    constexpr const char* kPlain = "{}  {:>6}  {}#{}  {}  {}\n";
    constexpr const char* kColour =
        "\x1b[2m{}  {:>6}\x1b[0m  \x1b[36m{}\x1b[0m#{}  \x1b[1m{}\x1b[0m  {}\n";
    context_->out << fmt::format(fmt::runtime(colour_ ? kColour : kPlain), format_time(entry.at),
                                 position.value, entry.thread, entry.seq.value, entry.kind,
                                 entry.data);
  }

  Context* context_;
  std::uint64_t left_;
  bool flush_each_;
  bool colour_;
};

Result<void> print_batch(const Batch& batch, EntryPrinter& printer) {
  BodyScanner scanner(batch.position, batch.body);
  while (!printer.done()) {
    HOLDFAST_TRY(const auto entry, scanner.next());
    if (!entry.has_value()) {
      break;
    }
    printer.print(batch.position, *entry);
  }
  return {};
}

// With --follow, waits until the position exists; otherwise returns whether it does.
Result<bool> wait_for_position(Log& log, Position position, const CatOptions& options) {
  for (;;) {
    HOLDFAST_TRY(const auto state, log.refresh());
    if (position <= state.head) {
      return true;
    }
    if (!options.follow) {
      return false;
    }
    HOLDFAST_CHECK(log.wait_for_change(state.head, kOneWait));
  }
}

Result<void> cat_everything(const CatOptions& options, Context& context) {
  HOLDFAST_TRY(const auto log, open_log_to_read(options.store, context));
  EntryPrinter printer(options, context);
  History history(*log, Position{std::max<std::uint64_t>(options.from.value_or(1), 1)});
  while (!printer.done()) {
    HOLDFAST_TRY(const bool exists, wait_for_position(*log, history.next_position(), options));
    if (!exists) {
      break;
    }
    HOLDFAST_TRY(const auto batches, history.next());
    for (const Batch& batch : batches) {
      HOLDFAST_CHECK(print_batch(batch, printer));
    }
  }
  return {};
}

Result<void> cat_thread(const CatOptions& options, Context& context) {
  HOLDFAST_TRY(const ThreadId thread, ThreadId::parse(options.thread));
  HOLDFAST_TRY(const auto journal,
               open_journal(options.store, OpenMode::read, context.clock, context.random));
  EntryPrinter printer(options, context);
  Revision next{options.from.value_or(0)};
  HOLDFAST_TRY(Position known, journal->catch_up());
  while (!printer.done()) {
    HOLDFAST_TRY(const auto entries, journal->load(thread, next, kPage));
    for (const Entry& entry : entries) {
      printer.print(entry.position, entry);
      next = entry.seq.next();
    }
    if (!entries.empty()) {
      continue;
    }
    if (!options.follow) {
      break;
    }
    HOLDFAST_CHECK(journal->log().wait_for_change(known, kOneWait));
    HOLDFAST_TRY(known, journal->catch_up());
  }
  return {};
}

struct JournalCatCommand : CatOptions {
  void declare(Arguments& arguments) {
    add_store(arguments, store);
    arguments.option("--thread", "THREAD", thread, "Only this thread, for example run:1");
    arguments.option("--from", "N", from,
                     "Start at this position; with --thread, at this entry of the thread");
    arguments.option("--limit", "N", limit, "Stop after N entries (default: no limit)");
    arguments.flag("--follow,-f", follow, "Keep printing entries as they are appended");
  }

  Result<void> run(Context& context) const {
    if (follow) {
      exit_cleanly_on_signals();
    }
    return thread.empty() ? cat_everything(*this, context) : cat_thread(*this, context);
  }
};

}  // namespace

extern const Command kJournalCatCommand = make_command<JournalCatCommand>(
    "journal cat", "Print the entries of a journal in commit order, or of one thread.",
    R"(Each line holds: time, position, thread#seq, kind, data.

Examples:
  holdfast journal cat sqlite:demo.db
  holdfast journal cat sqlite:demo.db --from 100 --limit 20      from position 100
  holdfast journal cat sqlite:demo.db --thread run:1 --from 5    from entry 5 of the thread
  holdfast journal cat sqlite:demo.db --follow                   until Ctrl-C
  holdfast journal cat sqlite:demo.db --json | jq .data)");

}  // namespace holdfast::cli

#include <fmt/format.h>

#include "apps/cli/cli_commands.h"
#include "apps/cli/cli_terminal.h"
#include "storage/journal/journal_history.h"
#include "storage/journal/open_journal.h"

namespace holdfast {

namespace {

// Only how long one wait lasts: a change ends it at once.
constexpr std::chrono::seconds kOneWait{60};
constexpr std::size_t kPage = 1000;

class EntryPrinter {
 public:
  EntryPrinter(const CatOptions& options, Context& context)
      : context_(&context),
        left_(options.limit.value_or(UINT64_MAX)),
        flush_each_(options.follow),
        colour_(!context.json() && wants_colour()) {}

  // Nothing more is wanted: the limit is reached, or nobody reads any more.
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

// Waits until a batch from that position on is there. False: there is none and nobody waits.
Result<bool> wait_until_there(Log& log, Position position, const CatOptions& options) {
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
    HOLDFAST_TRY(const bool there, wait_until_there(*log, history.next_position(), options));
    if (!there) {
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

}  // namespace

Result<void> run_command(const CatOptions& options, Context& context) {
  if (options.follow) {
    exit_cleanly_on_signals();
  }
  return options.thread.empty() ? cat_everything(options, context) : cat_thread(options, context);
}

}  // namespace holdfast

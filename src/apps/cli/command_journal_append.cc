#include <fmt/format.h>

#include "apps/cli/argument_values.h"
#include "apps/cli/command.h"
#include "apps/cli/option_groups.h"
#include "base/read_file.h"
#include "storage/journal/open_journal.h"

namespace holdfast::cli {

namespace {

struct JournalAppendCommand {
  std::string store = {};
  std::string thread = {};
  std::string kind = {};
  std::string data = "{}";
  std::optional<std::uint64_t> expected_rev = {};
  std::optional<std::uint64_t> at_ms = {};

  void declare(Arguments& arguments) {
    add_store(arguments, store);
    arguments.required("THREAD", thread, "the thread, for example run:1");
    arguments.required("KIND", kind, "the kind of the entry, for example run_started");
    arguments.optional("DATA", data, "a JSON object; - reads standard input (default: {})");
    arguments.option("--expected-rev", "N", expected_rev,
                     "Append only if the thread has exactly N entries");
    arguments.option("--at", "MS", at_ms,
                     "Time of the entry, in milliseconds since 1970 (default: now)");
  }

  [[nodiscard]] Result<NewEntry> make_entry(Clock& clock) const {
    std::string text = data;
    if (text == "-") {
      // More than an entry may have, so that the journal reports its limit.
      auto input = read_file("-", 2 * kMaxDataBytes);
      if (!input.ok()) {
        return std::move(input).error().in("standard input");
      }
      text = std::move(input).value();
    }
    auto json = JsonText::parse(text);
    if (!json.ok()) {
      return std::move(json).error().in("DATA");
    }
    const TimeMs at = at_ms.has_value() ? TimeMs{static_cast<std::int64_t>(*at_ms)} : clock.now();
    NewEntry entry{kind, at, std::move(json).value()};
    HOLDFAST_CHECK(check_new_entry(entry));
    return entry;
  }

  Result<void> run(Context& context) const {
    // Everything is checked before a store is created.
    HOLDFAST_TRY(const ThreadId id, ThreadId::parse(thread));
    HOLDFAST_TRY(NewEntry entry, make_entry(context.clock));
    std::optional<Revision> expected;
    if (expected_rev.has_value()) {
      expected = Revision{*expected_rev};
    }
    const OpenMode mode = expected_rev.value_or(0) > 0 ? OpenMode::write : OpenMode::create;
    HOLDFAST_TRY(const auto journal, open_journal(store, mode, context.clock, context.random));
    Commit commit;
    commit.push_back(ThreadAppend{id, expected, {}});
    commit.front().entries.push_back(std::move(entry));
    HOLDFAST_TRY(const Committed committed, journal->commit(commit));
    const std::uint64_t revision = committed.revisions.front().value;
    print_result(context,
                 fmt::format("{} is at revision {}, position {}", id.text(), revision,
                             committed.position.value),
                 [&](JsonWriter& json) {
                   json.member("thread", id.text())
                       .member("revision", revision)
                       .member("position", committed.position.value);
                 });
    return {};
  }
};

}  // namespace

extern const Command kJournalAppendCommand = make_command<JournalAppendCommand>(
    "journal append", "Append one entry to a thread and wait until it is durable.",
    R"(Creates the store if it does not exist.

Examples:
  holdfast journal append sqlite:demo.db run:1 run_started '{"workflow":"hello"}'
  echo '{"result":42}' | holdfast journal append sqlite:demo.db run:1 step_done -

Append only if no other writer has changed the thread (exit code 4 otherwise):
  holdfast journal append sqlite:demo.db run:1 run_ended --expected-rev 2

Exit codes: 0 appended; 4 the thread has another revision; others as listed in `holdfast
--help`.)");

}  // namespace holdfast::cli

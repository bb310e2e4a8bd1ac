#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "apps/cli/cli_commands.h"
#include "storage/journal/open_journal.h"

namespace holdfast {

namespace {

// More than an entry may have: the journal then says what the limit is.
constexpr std::size_t kMostInput = 2 * kMaxDataBytes;

Result<std::string> read_standard_input() {
  std::string text;
  std::array<char, 65536> piece;
  while (text.size() < kMostInput) {
    const ssize_t got = read(STDIN_FILENO, piece.data(), piece.size());
    if (got < 0) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("cannot read standard input: {}", std::strerror(errno))};
    }
    if (got == 0) {
      break;
    }
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

Result<NewEntry> make_entry(const AppendOptions& options, Clock& clock) {
  std::string text = options.data;
  if (text == "-") {
    HOLDFAST_TRY(text, read_standard_input());
  }
  auto data = JsonText::parse(text);
  if (!data.ok()) {
    return std::move(data).error().in("DATA");
  }
  const TimeMs at =
      options.at_ms.has_value() ? TimeMs{static_cast<std::int64_t>(*options.at_ms)} : clock.now();
  NewEntry entry{options.kind, at, std::move(data).value()};
  HOLDFAST_CHECK(check_new_entry(entry));
  return entry;
}

}  // namespace

Result<void> run_command(const AppendOptions& options, Context& context) {
  // Everything is checked before a store is made for it.
  HOLDFAST_TRY(const ThreadId thread, ThreadId::parse(options.thread));
  HOLDFAST_TRY(NewEntry entry, make_entry(options, context.clock));
  std::optional<Revision> expected;
  if (options.expected_rev.has_value()) {
    expected = Revision{*options.expected_rev};
  }
  const OpenMode mode = options.expected_rev.value_or(0) > 0 ? OpenMode::write : OpenMode::create;
  HOLDFAST_TRY(const auto journal,
               open_journal(options.store, mode, context.clock, context.random));
  Commit commit;
  commit.push_back(ThreadAppend{thread, expected, {}});
  commit.front().entries.push_back(std::move(entry));
  HOLDFAST_TRY(const Committed committed, journal->commit(commit));

  const std::uint64_t revision = committed.revisions.front().value;
  if (context.json()) {
    JsonWriter writer;
    writer.begin_object();
    writer.member("thread", thread.text());
    writer.member("revision", revision);
    writer.member("position", committed.position.value);
    writer.end_object();
    print_json(context, std::move(writer));
  } else {
    print_line(context, fmt::format("{} is at revision {}, position {}", thread.text(), revision,
                                    committed.position.value));
  }
  return {};
}

}  // namespace holdfast

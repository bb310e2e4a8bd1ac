// The reader of batch bodies, one per line, and its users: the directory of a journal and the live
// state of an engine, which must accept everything that has a valid chain.
#include "fuzz/memory_journal.h"
#include "runs/engine/live_state.h"
#include "storage/journal/journal_directory.h"

namespace holdfast::fuzz::batch_body_fuzz {
namespace {

constexpr std::size_t kMaxBatches = 16;
constexpr MemoryLimits kLimits{.cached_bytes = 10'000};

void check_error(const Error& error, std::uint32_t count) {
  require(error.code() == ErrorCode::invalid_journal_entry && error.field("position") == "1" &&
              error.field("index") == std::to_string(count) && !error.field("reason").empty(),
          "an error names its place");
}

// Whether the body is read to its end.
bool check_scanner(std::string_view body) {
  BodyScanner scanner(Position{1}, body);
  std::string again = "[";
  for (;;) {
    const auto entry = scanner.next();
    if (!entry.ok()) {
      check_error(entry.error(), scanner.count());
      return false;
    }
    if (!entry.value().has_value()) {
      break;
    }
    again += again.size() > 1 ? "," : "";
    append_entry_head(again, entry.value()->thread, entry.value()->seq);
    append_tail_head(again, entry.value()->kind, entry.value()->at);
    again += entry.value()->data;
    again += '}';
  }
  again += ']';
  require(again == body, "a body is written as it was read");
  require(!scanner.next().value().has_value(), "the end stays the end");
  return true;
}

void check_directory(std::string_view body) {
  Directory directory;
  const Digest chain = sha256(body);
  if (!directory.fold(Position{1}, body, chain).ok()) {
    return;
  }
  require(directory.at() == Position{1} && directory.thread_count() > 0, "a body has entries");
  const auto stored = Directory::decode(directory.encode());
  require(stored.ok() && stored.value().chain() == chain &&
              stored.value().thread_count() == directory.thread_count(),
          "a directory survives its bytes");
}

void check_live_state(const std::vector<std::string_view>& bodies) {
  const auto disk = fuzz::disk_with(bodies);
  auto opened = Journal::open(fuzz::open_log(disk));
  if (!opened.ok()) {
    require(is_damage(opened.error().code()), "unreadable data is damage");
    return;
  }
  Journal& journal = *opened.value();
  Definitions definitions(journal);
  LiveState state(journal, definitions, kLimits);
  const auto folded = state.read_up_to(journal.log().head().position);
  if (!folded.ok()) {
    require(is_damage(folded.error().code()), "data that cannot be applied is damage");
    return;
  }
  const std::string encoded = state.encode();
  LiveState restored(journal, definitions, kLimits);
  require(restored.decode(encoded).ok() && restored.encode() == encoded,
          "a live state survives its checkpoint");
  for (const RunId& id : state.runs().ids()) {
    const auto run = state.runs().get(id);
    if (run.ok()) {
      const std::string bytes = run.value()->encode();
      const auto stored = RunProjection::decode(bytes);
      require(stored.ok() && stored.value()->encode() == bytes, "a run survives its checkpoint");
    }
  }
}

void check(std::string_view input) {
  std::vector<std::string_view> bodies;
  while (!input.empty() && bodies.size() < kMaxBatches) {
    const std::string_view body = fuzz::take_line(input);
    if (check_scanner(body)) {
      check_directory(body);
    }
    bodies.push_back(body);
  }
  check_live_state(bodies);
}

}  // namespace

HOLDFAST_FUZZ_TARGET(batch_body, check)

}  // namespace holdfast::fuzz::batch_body_fuzz

#include "storage/journal/journal_history.h"
#include "storage/journal/journal_keys.h"
#include "storage/journal/journal_transfer.h"
#include "storage/journal/open_journal.h"
#include "storage/log/open_store.h"

namespace holdfast {

namespace {

Result<void> mark_finished(Log& to) {
  SideUpdate update;
  update.deletes.emplace_back(kCopyKey);
  return to.update(std::move(update));
}

constexpr std::string_view kUnfinished = "1";

// Two names may refer to one log. Marking the target reveals it: the source then has the mark too.
Result<void> mark_unfinished(Log& from, Log& to) {
  SideUpdate update;
  update.puts.push_back(SidePair{std::string(kCopyKey), std::string(kUnfinished)});
  HOLDFAST_CHECK(to.update(std::move(update)));
  HOLDFAST_TRY(const auto mark, from.get(std::string(kCopyKey)));
  if (mark.has_value()) {
    HOLDFAST_CHECK(mark_finished(to));
    return Error{ErrorCode::invalid_argument,
                 from.name() + " and " + to.name() + " are the same journal"};
  }
  return {};
}

Result<std::uint64_t> copy_side_store(Log& from, Log& to) {
  std::uint64_t copied = 0;
  std::optional<std::string> next;
  for (;;) {
    HOLDFAST_TRY(auto pairs, from.scan(SideScan{.prefix = "", .from = next}));
    if (pairs.empty()) {
      return copied;
    }
    next = pairs.back().key + '\0';
    std::erase_if(pairs, [](const SidePair& pair) { return pair.key == kCopyKey; });
    copied += pairs.size();
    SideUpdate update;
    update.puts = std::move(pairs);
    HOLDFAST_CHECK(to.update(std::move(update)));
  }
}

// The target must be a prefix of the source.
Result<void> check_same_history(Log& from, Log& to) {
  if (from.id() != to.id()) {
    return Error{ErrorCode::already_exists,
                 to.name() + " holds another journal (" + to_string(to.id()) +
                     "); choose a target that is empty or does not exist"};
  }
  HOLDFAST_TRY(const auto source, from.refresh());
  const LogHead target = to.head();
  std::optional<Digest> chain;
  if (target.position <= source.head) {
    HOLDFAST_TRY(chain, from.chain_at(target.position));
    if (!chain.has_value() && target.position < source.start) {
      // The batch was sealed since: rebuild it to know its chain value.
      HOLDFAST_TRY(const auto batches, History(from, target.position).next());
      chain = batches.front().chain;
    }
  }
  if (chain != target.chain) {
    return Error{ErrorCode::diverged, to.name() + " has batches that " + from.name() +
                                          " has not; it is not a copy of it"};
  }
  return {};
}

Result<void> copy_batches(Log& from, Log& to, TransferReport& report, const Progress& progress) {
  History history(from, to.head().position.next());
  for (;;) {
    HOLDFAST_TRY(const auto batches, history.next());
    if (batches.empty()) {
      return {};
    }
    HOLDFAST_TRY(const auto head, to.append_copies(to.head().position, batches));
    if (head.chain != batches.back().chain) {
      return Error{ErrorCode::diverged, "the copy of batch " + std::to_string(head.position.value) +
                                            " has another chain hash than the original"};
    }
    report.batches += batches.size();
    if (progress) {
      progress(ProgressPoint{head.position.value, from.head().position.value});
    }
  }
}

}  // namespace

Result<TransferReport> copy_journal(Log& from, std::string_view to_url, const Progress& progress) {
  HOLDFAST_CHECK(check_copy_finished(from));
  HOLDFAST_TRY(auto source, from.refresh());
  HOLDFAST_TRY(auto store, open_store(to_url, OpenMode::create,
                                      StoreOrigin{source.log_id, source.start, source.anchor}));
  HOLDFAST_TRY(const auto to, Log::open(std::move(store)));
  HOLDFAST_CHECK(check_same_history(from, *to));
  HOLDFAST_CHECK(mark_unfinished(from, *to));
  TransferReport report;
  for (;;) {
    // If the source is sealed meanwhile, the new segments are copied too.
    HOLDFAST_TRY(report.side_values, copy_side_store(from, *to));
    HOLDFAST_CHECK(copy_batches(from, *to, report, progress));
    HOLDFAST_TRY(const auto now, from.refresh());
    if (now.start == source.start) {
      break;
    }
    source = now;
  }
  HOLDFAST_TRY(const auto copied, to->refresh());
  if (copied.start < source.start) {
    HOLDFAST_CHECK(to->trim(source.start));
  }
  HOLDFAST_CHECK(mark_finished(*to));
  report.head = to->head().position;
  report.chain = to->head().chain;
  return report;
}

}  // namespace holdfast

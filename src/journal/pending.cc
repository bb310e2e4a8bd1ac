#include "journal/pending.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {

namespace {

constexpr std::size_t kHeadBytes = 40;  // {"thread":"","seq":…} and a comma, generously

Result<PendingCommit::Part> prepare_part(const ThreadAppend& append) {
  if (append.entries.empty()) {
    return Error{ErrorCode::empty_entries,
                 "nothing to append to thread " + append.thread.text() + ": no entries"}
        .with("thread", append.thread.text());
  }
  PendingCommit::Part part{append.thread.text(), append.expected_rev, {}, {}, {}};
  std::size_t bytes = 0;
  for (const NewEntry& entry : append.entries) {
    auto checked = check_new_entry(entry);
    if (!checked.ok()) {
      return std::move(checked).error().in("thread " + append.thread.text());
    }
    bytes += entry.data.view().size() + entry.kind.size() + kHeadBytes;
  }
  part.tails.reserve(bytes);
  part.tail_ends.reserve(append.entries.size());
  for (const NewEntry& entry : append.entries) {
    append_entry_tail(part.tails, entry);
    part.tail_ends.push_back(part.tails.size());
  }
  return part;
}

}  // namespace

Result<Ticket> prepare_commit(const Commit& commit) {
  if (commit.empty()) {
    return Error{ErrorCode::empty_entries, "nothing to commit: no threads"};
  }
  auto pending = std::make_shared<PendingCommit>();
  for (const ThreadAppend& append : commit) {
    const bool twice =
        std::any_of(pending->parts.begin(), pending->parts.end(),
                    [&](const auto& part) { return part.thread == append.thread.text(); });
    if (twice) {
      return Error{ErrorCode::invalid_argument,
                   "a commit names thread " + append.thread.text() + " twice"};
    }
    HOLDFAST_TRY(auto part, prepare_part(append));
    pending->bytes += part.tails.size() + part.tail_ends.size() * (kHeadBytes + part.thread.size());
    pending->parts.push_back(std::move(part));
  }
  if (pending->bytes > kMaxCommitBytes) {
    return Error{ErrorCode::too_large, fmt::format("a commit has {} bytes, the limit is {}",
                                                   pending->bytes, kMaxCommitBytes)};
  }
  return pending;
}

std::string build_body(const std::deque<Ticket>& batch) {
  std::size_t bytes = 2;
  for (const Ticket& commit : batch) {
    bytes += commit->bytes;
  }
  std::string body;
  body.reserve(bytes);
  for (const Ticket& commit : batch) {
    for (const PendingCommit::Part& part : commit->parts) {
      Revision seq = part.first;
      std::size_t begin = 0;
      for (const std::size_t end : part.tail_ends) {
        body += body.empty() ? '[' : ',';
        append_entry_head(body, part.thread, seq);
        body.append(part.tails, begin, end - begin);
        begin = end;
        seq = seq.next();
      }
    }
  }
  body += ']';
  return body;
}

}  // namespace holdfast

#include "storage/journal/pending_commit.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {

namespace {

constexpr std::size_t kFrameBytes = 90;  // names, numbers and punctuation of an entry, generously

// Adds what it takes to write the entries of one thread; checks each of them.
Result<void> add_part(PendingCommit& pending, const ThreadAppend& append) {
  if (append.entries.empty()) {
    return Error{ErrorCode::empty_entries,
                 "nothing to append to thread " + append.thread.text() + ": no entries"}
        .with("thread", append.thread.text());
  }
  const std::string& thread = append.thread.text();
  for (const NewEntry& entry : append.entries) {
    auto checked = check_new_entry(entry);
    if (!checked.ok()) {
      return std::move(checked).error().in("thread " + thread);
    }
    pending.bytes += entry.data.view().size() + entry.kind.size() + thread.size() + kFrameBytes;
  }
  pending.parts.push_back({thread, append.expected_rev, append.entries.size(), {}});
  return {};
}

// Sorted rather than compared one by one: a commit may name thousands of threads.
Result<void> check_named_once(const Commit& commit) {
  std::vector<std::string_view> threads;
  threads.reserve(commit.size());
  for (const ThreadAppend& append : commit) {
    threads.push_back(append.thread.text());
  }
  std::sort(threads.begin(), threads.end());
  const auto twice = std::adjacent_find(threads.begin(), threads.end());
  if (twice != threads.end()) {
    return Error{ErrorCode::invalid_argument,
                 "a commit names thread " + std::string(*twice) + " twice"};
  }
  return {};
}

Error nothing_to_commit() {
  return Error{ErrorCode::empty_entries, "nothing to commit: no threads"};
}

Result<void> check_size(const PendingCommit& pending) {
  if (pending.bytes > kMaxCommitBytes) {
    return Error{ErrorCode::too_large, fmt::format("a commit has {} bytes, the limit is {}",
                                                   pending.bytes, kMaxCommitBytes)};
  }
  return {};
}

Result<Ticket> encode_commit(const Commit& commit) {
  if (commit.empty()) {
    return nothing_to_commit();
  }
  auto pending = std::make_shared<PendingCommit>();
  pending->parts.reserve(commit.size());
  for (const ThreadAppend& append : commit) {
    HOLDFAST_CHECK(add_part(*pending, append));
  }
  HOLDFAST_CHECK(check_size(*pending));
  pending->tails.reserve(pending->bytes);
  for (const ThreadAppend& append : commit) {
    for (const NewEntry& entry : append.entries) {
      append_entry_tail(pending->tails, entry);
      pending->tail_ends.push_back(pending->tails.size());
    }
  }
  return pending;
}

}  // namespace

Result<Ticket> prepare_commit(const Commit& commit) {
  HOLDFAST_CHECK(check_named_once(commit));
  return encode_commit(commit);
}

PendingCommit::PendingCommit(Position head, CommitBuffer&& buffer)
    : parts(std::move(buffer.parts_)),
      expected_head(head),
      tails(std::move(buffer.tails_)),
      tail_ends(std::move(buffer.tail_ends_)),
      bytes(tails.size()) {
  for (const Part& part : parts) {
    bytes += part.count * (part.thread.size() + kFrameBytes);
  }
}

Result<Ticket> prepare_commit_at(Position expected_head, CommitBuffer&& commit) {
  if (commit.empty()) {
    return nothing_to_commit();
  }
  auto pending = std::make_shared<PendingCommit>(expected_head, std::move(commit));
  HOLDFAST_CHECK(check_size(*pending));
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
    std::size_t begin = 0;
    auto end = commit->tail_ends.begin();
    for (const PendingCommit::Part& part : commit->parts) {
      for (std::size_t i = 0; i < part.count; ++i) {
        body += body.empty() ? '[' : ',';
        append_entry_head(body, part.thread, part.first.plus(i));
        body.append(commit->tails, begin, *end - begin);
        begin = *end++;
      }
    }
  }
  body += ']';
  return body;
}

}  // namespace holdfast

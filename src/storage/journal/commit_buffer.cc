#include "storage/journal/commit_buffer.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {

namespace {

constexpr std::size_t kFrameBytes = 90;  // names, numbers and punctuation of an entry, generously

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

// Before any entry is copied: the fields of each, and the size of all.
Result<void> check_entries(const Commit& commit) {
  for (const ThreadAppend& append : commit) {
    const std::string& thread = append.thread.text();
    if (append.entries.empty()) {
      return Error{ErrorCode::empty_entries,
                   "nothing to append to thread " + thread + ": no entries"}
          .with("thread", thread);
    }
    for (const NewEntry& entry : append.entries) {
      auto checked = check_new_entry(entry);
      if (!checked.ok()) {
        return std::move(checked).error().in("thread " + thread);
      }
    }
  }
  return {};
}

}  // namespace

Result<CommitBuffer> CommitBuffer::encode(const Commit& commit) {
  HOLDFAST_CHECK(check_named_once(commit));
  HOLDFAST_CHECK(check_entries(commit));
  CommitBuffer buffer;
  for (const ThreadAppend& append : commit) {
    for (const NewEntry& entry : append.entries) {
      append_entry_tail(buffer.tails_, entry);
      buffer.count_entry(append.thread.text());
    }
    buffer.parts_.back().expected_rev = append.expected_rev;
  }
  HOLDFAST_CHECK(buffer.check());
  return buffer;
}

void CommitBuffer::count_entry(const std::string& thread) {
  tail_ends_.push_back(tails_.size());
  if (parts_.empty() || parts_.back().thread != thread) {
    parts_.push_back(CommitPart{thread, std::nullopt, 0, {}});
  }
  ++parts_.back().count;
}

std::size_t CommitBuffer::body_bytes() const {
  std::size_t bytes = tails_.size() + 2;
  for (const CommitPart& part : parts_) {
    bytes += part.count * (part.thread.size() + kFrameBytes);
  }
  return bytes;
}

Result<void> CommitBuffer::check() const {
  if (empty()) {
    return Error{ErrorCode::empty_entries, "nothing to commit: no threads"};
  }
  if (const std::size_t bytes = body_bytes(); bytes > kMaxCommitBytes) {
    return Error{ErrorCode::too_large,
                 fmt::format("a commit has {} bytes, the limit is {}", bytes, kMaxCommitBytes)};
  }
  return {};
}

std::string CommitBuffer::body() const {
  std::string body;
  body.reserve(body_bytes());
  std::size_t begin = 0;
  auto end = tail_ends_.begin();
  for (const CommitPart& part : parts_) {
    for (std::size_t i = 0; i < part.count; ++i) {
      body += body.empty() ? '[' : ',';
      append_entry_head(body, part.thread, part.first.plus(i));
      body.append(tails_, begin, *end - begin);
      begin = *end++;
    }
  }
  body += ']';
  return body;
}

void CommitBuffer::truncate(const Mark& mark) {
  parts_.resize(mark.parts);
  if (!parts_.empty()) {
    parts_.back().count = mark.last_count;
  }
  tail_ends_.resize(mark.entries);
  tails_.resize(mark.bytes);
}

Error CommitBuffer::too_large(std::string_view kind, std::size_t bytes) {
  return Error{ErrorCode::too_large, fmt::format("the data of a {} has {} bytes, the limit is {}",
                                                 kind, bytes, kMaxDataBytes)};
}

}  // namespace holdfast

#include "mesh/roster/aside_pool.h"

#include "holdfast/assert.h"

namespace holdfast::mesh {

void AsidePool::add(const Digest& hash, NodeId author, std::size_t bytes) {
  const std::uint64_t place = next_place_++;
  const bool added = entries_.emplace(hash, Entry{author, place, bytes}).second;
  HOLDFAST_ASSERT(added);
  oldest_first_.emplace(place, hash);
  authors_[author].oldest_first.emplace(place, hash);
  authors_[author].bytes += bytes;
  bytes_ += bytes;
  last_author_ = author;
}

bool AsidePool::remove(const Digest& hash) {
  const auto found = entries_.find(hash);
  if (found == entries_.end()) {
    return false;
  }
  const Entry& entry = found->second;
  const auto author = authors_.find(entry.author);
  HOLDFAST_ASSERT(author->second.bytes >= entry.bytes && bytes_ >= entry.bytes);
  author->second.bytes -= entry.bytes;
  author->second.oldest_first.erase(entry.place);
  if (author->second.oldest_first.empty()) {
    authors_.erase(author);
  }
  bytes_ -= entry.bytes;
  oldest_first_.erase(entry.place);
  entries_.erase(found);
  return true;
}

std::optional<Digest> AsidePool::overflow() const {
  if (const auto author = authors_.find(last_author_); author != authors_.end()) {
    const auto& own = author->second;
    if (own.oldest_first.size() > limits_.author_ops || own.bytes > limits_.author_bytes) {
      return own.oldest_first.begin()->second;
    }
  }
  if (entries_.size() > limits_.total_ops || bytes_ > limits_.total_bytes) {
    return oldest_first_.begin()->second;
  }
  return std::nullopt;
}

}  // namespace holdfast::mesh

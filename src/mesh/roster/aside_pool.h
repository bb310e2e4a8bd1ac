// AsidePool: which operations are kept aside, within limits for each author and for all together.
//
// An author beyond its limit loses its own oldest operation; when all together are too many, the
// oldest of all leaves. So a flood from one author costs no other author anything until the common
// limit is reached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "base/hash.h"
#include "mesh/clock/hybrid_time.h"

namespace holdfast::mesh {

struct AsideLimits {
  std::size_t author_ops = 1024;
  std::size_t author_bytes = 4ULL << 20U;
  std::size_t total_ops = 16 * 1024;
  std::size_t total_bytes = 32ULL << 20U;
};

class AsidePool {
 public:
  explicit AsidePool(AsideLimits limits) : limits_(limits) {}

  // The operation must not be in the pool.
  void add(const Digest& hash, NodeId author, std::size_t bytes);
  // False when it is not in the pool.
  bool remove(const Digest& hash);
  // The operation that must leave next; empty when the limits hold.
  [[nodiscard]] std::optional<Digest> overflow() const;

  [[nodiscard]] bool contains(const Digest& hash) const { return entries_.contains(hash); }
  [[nodiscard]] bool has_author(NodeId author) const { return authors_.contains(author); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    NodeId author;
    std::uint64_t place = 0;
    std::size_t bytes = 0;
  };
  struct Author {
    std::map<std::uint64_t, Digest> oldest_first;
    std::size_t bytes = 0;
  };

  AsideLimits limits_;
  std::uint64_t next_place_ = 0;
  std::size_t bytes_ = 0;
  std::map<Digest, Entry> entries_;
  std::map<std::uint64_t, Digest> oldest_first_;
  std::map<NodeId, Author> authors_;
  NodeId last_author_;  // only its own limit can be exceeded
};

}  // namespace holdfast::mesh

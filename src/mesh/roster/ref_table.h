// Containers of numbers that stand for records kept elsewhere: a hash table and many short lists.
//
// RefTable finds a number by the hash of its key and a comparison that the caller makes, so keys
// are stored once, in the records. RefLists keeps lists in one block of memory. Nothing may depend
// on the order inside either of them.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "base/hash.h"
#include "mesh/clock/hybrid_time.h"
#include "mesh/ops/mesh_ids.h"

namespace holdfast::mesh {

using Ref = std::uint32_t;
inline constexpr Ref kNoRef = std::numeric_limits<Ref>::max();

// Hashes for RefTable. Not secret: an author can choose ids that collide, which costs time in
// proportion to the operations that it may have in the set.
inline std::uint32_t ref_hash(std::uint64_t one, std::uint64_t two = 0) {
  std::uint64_t mixed = one * 0x9E3779B97F4A7C15ULL ^ (two + 0x632BE59BD9B4E019ULL);
  mixed = (mixed ^ (mixed >> 32U)) * 0xD6E8FEB86659FD93ULL;
  mixed = (mixed ^ (mixed >> 29U)) * 0xBF58476D1CE4E5B9ULL;
  return static_cast<std::uint32_t>(mixed >> 32U);
}
inline std::uint64_t eight_bytes(const std::byte* from) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
inline std::uint32_t ref_hash(const IdBytes& id) {
  return ref_hash(eight_bytes(id.data()), eight_bytes(id.data() + 8));
}
inline std::uint32_t ref_hash(const Digest& hash) { return ref_hash(eight_bytes(hash.data())); }
inline std::uint32_t ref_hash(const Timestamp& at) {
  return ref_hash(at.wall_ms ^ (std::uint64_t{at.logical} << 32U), at.node.value);
}

class RefTable {
 public:
  // The number with that hash for which `same` holds; kNoRef when there is none.
  template <typename Same>
  [[nodiscard]] Ref find(std::uint32_t hash, const Same& same) const {
    if (slots_.empty()) {
      return kNoRef;
    }
    for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
      const Slot& slot = slots_[at];
      if (slot.ref == kNoRef || (slot.hash == hash && same(slot.ref))) {
        return slot.ref;
      }
    }
  }
  // The number must not be in the table.
  void insert(std::uint32_t hash, Ref ref);
  // The number must be in the table, with that hash.
  void erase(std::uint32_t hash, Ref ref);
  [[nodiscard]] std::size_t size() const { return used_; }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    Ref ref = kNoRef;
  };
  [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }
  void place(Slot slot);
  void grow();

  std::vector<Slot> slots_;  // a power of two, at most three quarters used
  std::size_t used_ = 0;
};

class RefLists {
  struct Link {
    Ref ref = kNoRef;
    Ref next = kNoRef;
  };

 public:
  // The first link of a list, which its owner keeps; kNoRef is the empty list.
  using Head = Ref;

  class Iterator {
   public:
    Iterator(const std::vector<Link>& links, Ref at) : links_(&links), at_(at) {}
    Ref operator*() const { return (*links_)[at_].ref; }
    Iterator& operator++() {
      at_ = (*links_)[at_].next;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const std::vector<Link>* links_;
    Ref at_;
  };
  struct Range {
    const std::vector<Link>* links;
    Head head;
    [[nodiscard]] Iterator begin() const { return {*links, head}; }
    [[nodiscard]] Iterator end() const { return {*links, kNoRef}; }
    [[nodiscard]] bool empty() const { return head == kNoRef; }
  };

  void push(Head& head, Ref ref);
  // One link with that number must be in the list.
  void erase(Head& head, Ref ref);
  // Valid until the next change of any list.
  [[nodiscard]] Range in(Head head) const { return {&links_, head}; }

 private:
  std::vector<Link> links_;
  Ref free_ = kNoRef;  // links that are not in use
};

}  // namespace holdfast::mesh

// UndoLog: reverts changes of a projection, newest first. A decision may run ahead of the disk; if
// the write fails, the projection returns to its durable state.
//
// Marks are positions in the log: roll_back_to(mark) reverts everything after the mark;
// keep_until(mark) drops the records before it, because those changes became durable.
//
// The helpers change a value or a node-based map and record how to revert that. Without a log
// (nullptr) changes are final. The changed objects must not move while the log can revert them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "holdfast/assert.h"

namespace holdfast {

class UndoLog {
 public:
  using Mark = std::uint64_t;

  // Everything before this mark is final.
  [[nodiscard]] Mark oldest() const { return first_; }
  [[nodiscard]] Mark mark() const { return first_ + steps_.size(); }
  void add(std::function<void()> step) { steps_.push_back(std::move(step)); }
  void roll_back_to(Mark mark) {
    HOLDFAST_ASSERT(mark >= first_);
    while (this->mark() > mark) {
      steps_.back()();
      steps_.pop_back();
    }
  }
  void keep_until(Mark mark) {
    HOLDFAST_ASSERT(mark <= this->mark());
    for (; first_ < mark; ++first_) {
      steps_.pop_front();
    }
  }

 private:
  Mark first_ = 0;
  std::deque<std::function<void()>> steps_;
};

// Call before the value is changed.
template <typename T>
void save(UndoLog* undo, T& value) {
  if (undo != nullptr) {
    undo->add([&value, old = value] { value = old; });
  }
}

// The key must not be in the map.
template <typename Map>
typename Map::mapped_type& insert(UndoLog* undo, Map& map, const typename Map::key_type& key,
                                  typename Map::mapped_type value) {
  const auto [at, fresh] = map.emplace(key, std::move(value));
  HOLDFAST_ASSERT(fresh);
  if (undo != nullptr) {
    undo->add([&map, key] { map.erase(key); });
  }
  return at->second;
}

template <typename Map>
void erase(UndoLog* undo, Map& map, const typename Map::key_type& key) {
  const auto at = map.find(key);
  if (at == map.end()) {
    return;
  }
  // The node itself is kept, so that pointers into it are valid again afterwards.
  auto node = map.extract(at);
  if (undo != nullptr) {
    auto kept = std::make_shared<typename Map::node_type>(std::move(node));
    undo->add([&map, kept] { map.insert(std::move(*kept)); });
  }
}

// For lists that only grow at the end.
template <typename List>
void push_back(UndoLog* undo, List& list, typename List::value_type value) {
  list.push_back(std::move(value));
  if (undo != nullptr) {
    undo->add([&list] { list.pop_back(); });
  }
}

}  // namespace holdfast

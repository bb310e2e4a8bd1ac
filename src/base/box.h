// Box<T>: an optional value that lives on the heap and is copied with its owner. Eight bytes
// wide when empty, for parts that most objects do not have.
#pragma once

#include <memory>
#include <utility>

namespace holdfast {

template <typename T>
class Box {
 public:
  Box() = default;
  Box(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Box(const Box& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Box(Box&& other) noexcept = default;
  Box& operator=(Box other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }
  ~Box() = default;

  explicit operator bool() const { return value_ != nullptr; }
  const T& operator*() const { return *value_; }
  T& operator*() { return *value_; }
  const T* operator->() const { return value_.get(); }
  T* operator->() { return value_.get(); }
  [[nodiscard]] bool has_value() const { return value_ != nullptr; }
  T& emplace() {
    value_ = std::make_unique<T>();
    return *value_;
  }
  void reset() { value_.reset(); }

  friend bool operator==(const Box& left, const Box& right) {
    return left && right ? *left == *right : !left && !right;
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace holdfast

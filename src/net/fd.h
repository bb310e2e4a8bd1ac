// Fd: a file descriptor with one owner, closed with it.
#pragma once

#include <unistd.h>

#include <utility>

namespace holdfast::net {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int value) : value_(value) {}
  Fd(Fd&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      close();
      value_ = std::exchange(other.value_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { close(); }

  [[nodiscard]] int get() const { return value_; }
  [[nodiscard]] bool valid() const { return value_ >= 0; }
  void close() {
    if (value_ >= 0) {
      ::close(std::exchange(value_, -1));
    }
  }

 private:
  int value_ = -1;
};

}  // namespace holdfast::net

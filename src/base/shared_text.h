// SharedText: an immutable, shared text. Eight bytes wide; copies share one block, so that a key or
// a payload is stored once however many structures refer to it. Copies may be made and destroyed on
// several threads.
//
// Payload: a SharedText that is one valid, compact JSON value. An empty Payload is "no value".
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json_value.h"

namespace holdfast {

class SharedText {
 public:
  SharedText() = default;
  // Implicit on purpose: a text literal is a text.
  SharedText(std::string_view text);
  SharedText(const char* text) : SharedText(std::string_view(text)) {}
  SharedText(const std::string& text) : SharedText(std::string_view(text)) {}
  SharedText(const SharedText& other) : block_(other.block_) { hold(); }
  SharedText(SharedText&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  SharedText& operator=(SharedText other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~SharedText() { drop(); }

  [[nodiscard]] std::string_view view() const {
    return block_ == nullptr ? std::string_view() : std::string_view(bytes(), block_->size);
  }
  [[nodiscard]] std::string str() const { return std::string(view()); }
  [[nodiscard]] bool empty() const { return block_ == nullptr; }

  friend bool operator==(const SharedText& left, const SharedText& right) {
    return left.block_ == right.block_ || left.view() == right.view();
  }
  friend auto operator<=>(const SharedText& left, const SharedText& right) {
    return left.view() <=> right.view();
  }

 private:
  struct Block {
    std::atomic<std::uint32_t> holders;
    std::uint32_t size;
  };

  [[nodiscard]] const char* bytes() const { return reinterpret_cast<const char*>(block_ + 1); }
  void hold() const {
    if (block_ != nullptr) {
      block_->holders.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void drop();

  Block* block_ = nullptr;
};

// For unordered containers of SharedText that are searched by any text.
struct SharedTextHash {
  using is_transparent = void;
  std::size_t operator()(const SharedText& text) const { return (*this)(text.view()); }
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

struct SharedTextEqual {
  using is_transparent = void;
  bool operator()(const SharedText& left, const SharedText& right) const { return left == right; }
  bool operator()(const SharedText& left, std::string_view right) const {
    return left.view() == right;
  }
  bool operator()(std::string_view left, const SharedText& right) const {
    return left == right.view();
  }
};

class Payload {
 public:
  Payload() = default;
  Payload(const JsonText& json) : text_(json.view()) {}
  // For text that is valid by construction, or was checked before: nothing is checked.
  static Payload trusted(std::string_view json) { return Payload(SharedText(json)); }

  [[nodiscard]] std::string_view view() const { return text_.view(); }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] bool is_object() const { return view().starts_with('{'); }
  friend bool operator==(const Payload&, const Payload&) = default;

 private:
  explicit Payload(SharedText text) : text_(std::move(text)) {}

  SharedText text_;
};

}  // namespace holdfast

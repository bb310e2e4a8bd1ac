// The two ids of a message.
//
// ClientMessageId is chosen by the sender, or made for it by its daemon, and makes a retry
// recognisable: 1 to 128 of A-Z a-z 0-9 . _ : ~ -, compared byte by byte. It is never trimmed or
// changed.
//
// Ulid names what the broker stores and what the daemon makes: 48 bits of time and 80 others,
// written as 26 upper-case characters of Crockford's base 32, which sort as text by time.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

inline constexpr std::size_t kMaxClientMessageIdBytes = 128;

class ClientMessageId {
 public:
  // invalid_idempotency_key.
  static Result<ClientMessageId> parse(std::string_view text);
  // The value of an Idempotency-Key header: the id itself, or a string in double quotes
  // (RFC 8941). invalid_idempotency_key.
  static Result<ClientMessageId> parse_header(std::string_view value);

  [[nodiscard]] const std::string& text() const { return text_; }
  friend auto operator<=>(const ClientMessageId&, const ClientMessageId&) = default;

 private:
  explicit ClientMessageId(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

// The id of a request: from the header, else from the body; no value when neither has one, and
// the daemon then makes one. idempotency_key_conflict when both have one and they differ.
Result<std::optional<ClientMessageId>> choose_client_message_id(
    const std::optional<std::string>& header, const std::optional<std::string>& body);

inline constexpr std::size_t kUlidChars = 26;

class Ulid {
 public:
  Ulid() = default;
  // Strict: upper case, the 32 characters of the alphabet, at most 128 bits. invalid_argument.
  static Result<Ulid> parse(std::string_view text);

  [[nodiscard]] std::string text() const;
  friend auto operator<=>(const Ulid&, const Ulid&) = default;

 private:
  friend class UlidSequence;
  std::array<std::byte, 16> bytes_{};
};

// Makes ULIDs that rise strictly: within one millisecond, and while time stands still or runs
// backwards, the next one is the last one plus 1.
class UlidSequence {
 public:
  // entropy: unpredictable bytes, used when the time has moved on.
  Ulid next(TimeMs now, std::span<const std::byte, 10> entropy);

 private:
  Ulid last_;
};

}  // namespace holdfast::delivery

#include "delivery/contract/message_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/quote.h"
#include "delivery/contract/rejection.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

bool is_id_char(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == ':' || c == '~' || c == '-';
}

}  // namespace

Result<ClientMessageId> ClientMessageId::parse(std::string_view text) {
  const bool valid = !text.empty() && text.size() <= kMaxClientMessageIdBytes &&
                     std::all_of(text.begin(), text.end(), is_id_char);
  if (!valid) {
    return rejected(Rejection::invalid_idempotency_key,
                    fmt::format("{}; use 1 to {} letters, digits and . _ : ~ -", quote(text),
                                kMaxClientMessageIdBytes));
  }
  return ClientMessageId(std::string(text));
}

// No character of an id needs an escape, so a string with a backslash holds no id.
Result<ClientMessageId> ClientMessageId::parse_header(std::string_view value) {
  const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  return parse(quoted ? value.substr(1, value.size() - 2) : value);
}

Result<std::optional<ClientMessageId>> choose_client_message_id(
    const std::optional<std::string>& header, const std::optional<std::string>& body) {
  std::optional<ClientMessageId> chosen;
  if (header.has_value()) {
    HOLDFAST_TRY(chosen, ClientMessageId::parse_header(*header));
  }
  if (body.has_value()) {
    HOLDFAST_TRY(auto of_body, ClientMessageId::parse(*body));
    if (chosen.has_value() && *chosen != of_body) {
      return rejected(Rejection::idempotency_key_conflict,
                      fmt::format("the header has {}, the body has {}", quote(chosen->text()),
                                  quote(of_body.text())));
    }
    chosen = std::move(of_body);
  }
  return chosen;
}

// 26 characters hold 130 bits: the first has 3 of them, the others 5 each.
Result<Ulid> Ulid::parse(std::string_view text) {
  Ulid ulid;
  std::uint32_t waiting = 0;
  unsigned bits = 0;
  std::size_t filled = 0;
  for (std::size_t i = 0; i < text.size() && text.size() == kUlidChars; ++i) {
    const std::size_t digit = kAlphabet.find(text[i]);
    if (digit == std::string_view::npos || (i == 0 && digit > 7)) {
      break;
    }
    waiting = waiting << 5U | static_cast<std::uint32_t>(digit);
    bits += i == 0 ? 3 : 5;
    if (bits >= 8) {
      bits -= 8;
      ulid.bytes_[filled++] = static_cast<std::byte>(waiting >> bits);
    }
  }
  if (filled != ulid.bytes_.size()) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{} is not a ULID: 26 characters of {}", quote(text), kAlphabet)};
  }
  return ulid;
}

std::string Ulid::text() const {
  std::string text;
  text.reserve(kUlidChars);
  std::uint32_t waiting = 0;
  unsigned bits = 2;  // 128 bits are 25 times 5 and 3: two zeros come first
  for (const std::byte byte : bytes_) {
    waiting = waiting << 8U | std::to_integer<std::uint32_t>(byte);
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += kAlphabet[waiting >> bits & 31U];
    }
  }
  HOLDFAST_ASSERT(text.size() == kUlidChars && bits == 0);
  return text;
}

Ulid UlidSequence::next(TimeMs now, std::span<const std::byte, 10> entropy) {
  Ulid fresh;
  const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(now.value, 0));
  for (unsigned i = 0; i < 6; ++i) {
    fresh.bytes_[i] = static_cast<std::byte>(time >> (40U - 8U * i));
  }
  std::copy(entropy.begin(), entropy.end(), fresh.bytes_.begin() + 6);
  const bool time_moved =
      std::lexicographical_compare(last_.bytes_.begin(), last_.bytes_.begin() + 6,
                                   fresh.bytes_.begin(), fresh.bytes_.begin() + 6);
  if (time_moved) {
    last_ = fresh;
    return last_;
  }
  for (std::size_t i = last_.bytes_.size(); i-- > 0;) {
    last_.bytes_[i] = static_cast<std::byte>(std::to_integer<unsigned>(last_.bytes_[i]) + 1U);
    if (last_.bytes_[i] != std::byte{0}) {
      break;
    }
  }
  return last_;
}

}  // namespace holdfast::delivery

#include "base/uuid.h"

#include <algorithm>
#include <cctype>

#include "base/encoding.h"

namespace holdfast {

namespace {

constexpr std::array<std::size_t, 4> kDashes{8, 13, 18, 23};
constexpr std::size_t kTextLength = 36;

Error not_a_uuid(std::string_view text) {
  return Error{ErrorCode::invalid_argument, "\"" + std::string(text) + "\" is not a UUID"};
}

}  // namespace

Uuid make_uuid(TimeMs now, Random& random) {
  Uuid uuid;
  random.fill(uuid.bytes);
  auto time = static_cast<std::uint64_t>(now.value);
  for (std::size_t i = 6; i-- > 0;) {
    uuid.bytes[i] = static_cast<std::byte>(time & 0xffU);
    time >>= 8U;
  }
  uuid.bytes[6] = (uuid.bytes[6] & std::byte{0x0f}) | std::byte{0x70};
  uuid.bytes[8] = (uuid.bytes[8] & std::byte{0x3f}) | std::byte{0x80};
  return uuid;
}

std::string to_string(const Uuid& uuid) {
  std::string text;
  append_uuid(text, uuid);
  return text;
}

void append_uuid(std::string& out, const Uuid& uuid) {
  const std::size_t begin = out.size();
  out.resize(begin + kTextLength, '-');
  char* text = out.data() + begin;
  const std::span<const std::byte> bytes(uuid.bytes);
  write_hex(bytes.subspan(0, 4), text);
  write_hex(bytes.subspan(4, 2), text + 9);
  write_hex(bytes.subspan(6, 2), text + 14);
  write_hex(bytes.subspan(8, 2), text + 19);
  write_hex(bytes.subspan(10, 6), text + 24);
}

Result<Uuid> parse_uuid(std::string_view text) {
  if (text.size() != kTextLength) {
    return not_a_uuid(text);
  }
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash_place = std::find(kDashes.begin(), kDashes.end(), i) != kDashes.end();
    if ((text[i] == '-') != dash_place) {
      return not_a_uuid(text);
    }
    if (!dash_place) {
      digits += static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
    }
  }
  auto bytes = from_hex(digits);
  if (!bytes.ok()) {
    return not_a_uuid(text);
  }
  Uuid uuid;
  std::copy(bytes.value().begin(), bytes.value().end(), uuid.bytes.begin());
  return uuid;
}

}  // namespace holdfast

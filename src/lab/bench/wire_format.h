// What the protocols of a benchmark share: the bytes of HTTP and of PostgreSQL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast {

inline constexpr std::size_t kMore = 0;  // the answer is not complete

Error refused(std::string_view service, std::string_view answer);

// The length of an HTTP answer with a status of 20x.
Result<std::size_t> http_answer(std::string_view received);

void put_number(std::string& out, std::uint64_t value, int bytes);
std::string text_z(std::string_view text);
// PostgreSQL's protocol, version 3: a letter, the length of the rest with itself, the rest.
std::string postgres_message(char type, std::string_view content);
std::string postgres_startup(const std::string& user, const std::string& database);
std::uint32_t number_at(std::string_view bytes, std::size_t at);
// The length up to the message ReadyForQuery of that number.
Result<std::size_t> postgres_ready(std::string_view received, int times);

}  // namespace holdfast

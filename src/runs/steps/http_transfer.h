// Sends one request and takes in the answer: no redirects, no proxy, no retries, nothing from
// files or the environment of the user. The only code that talks to libcurl's transfers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runs/steps/http_request.h"

namespace holdfast {

inline constexpr std::size_t kMaxResponseBytes = 8U << 20U;  // more ends the transfer
inline constexpr std::size_t kMaxHeaderBytes = 64U << 10U;   // of all headers together

enum class TransferEnd : std::uint8_t {
  answered,
  stopped,
  timed_out,
  unreachable,  // nothing was sent
  interrupted,  // the request may have been carried out
  too_large,
  refused,  // by libcurl: it takes no such request
};

struct HttpAnswer {
  TransferEnd end = TransferEnd::refused;
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // lower-case names, as they came
  std::string body;                                          // its first kept bytes
  std::size_t body_bytes = 0;                                // of the whole body
  std::string_view reason;  // a fixed text, when there is no answer
};

// Any thread; returns soon after stop is requested.
HttpAnswer transfer(const HttpRequest& request, std::size_t kept_body_bytes,
                    const std::stop_token& stop);

}  // namespace holdfast

// HTTP requests: the first byte determines how the rest is cut. The result must not depend on it,
// and an accepted request is accepted again when it is written out.
#include <algorithm>

#include "fuzz/target.h"
#include "net/http.h"
#include "net/http_parser.h"
#include "net/http_writer.h"

namespace holdfast::fuzz::http_parser_fuzz {
namespace {

using net::RequestParser;

// Small, so that inputs reach them.
constexpr net::ParserLimits kLimits{.header_bytes = 480, .body_bytes = 200};
constexpr net::ParserLimits kWide{.header_bytes = 4'096, .body_bytes = 200};

struct Outcome {
  RequestParser parser;
  std::size_t used = 0;
};

Outcome parse(std::string_view bytes, std::size_t piece, const net::ParserLimits& limits) {
  Outcome outcome{RequestParser(limits)};
  while (outcome.used < bytes.size()) {
    const std::string_view next = bytes.substr(outcome.used, piece);
    const std::size_t taken = outcome.parser.take(next);
    outcome.used += taken;
    require(taken <= next.size(), "no more bytes are consumed than exist");
    if (taken < next.size()) {
      break;
    }
  }
  return outcome;
}

bool same(const net::Request& left, const net::Request& right) {
  return left.method == right.method && left.path == right.path && left.query == right.query &&
         left.body == right.body &&
         std::equal(left.headers.begin(), left.headers.end(), right.headers.begin(),
                    right.headers.end(), [](const net::Header& one, const net::Header& other) {
                      return one.name == other.name && one.value == other.value;
                    });
}

bool same(const net::Head& left, const net::Head& right) {
  return left.minor == right.minor && left.keep_alive == right.keep_alive &&
         left.expects_continue == right.expects_continue && left.chunked == right.chunked &&
         left.content_length == right.content_length && same(left.request, right.request);
}

void require_same(const Outcome& left, const Outcome& right) {
  require(left.used == right.used, "the cut does not change the consumed bytes");
  require(left.parser.state() == right.parser.state(), "the cut does not change the outcome");
  require(left.parser.refusal().status == right.parser.refusal().status &&
              left.parser.refusal().detail == right.parser.refusal().detail,
          "however it is cut, it is refused for the same reason");
  require(same(left.parser.head(), right.parser.head()), "the cut does not change the request");
}

std::string written(const net::Head& head) {
  const net::Request& request = head.request;
  std::string out = request.method + " " + request.path;
  out += request.query.empty() ? "" : "?" + request.query;
  out += " HTTP/1." + std::to_string(head.minor) + "\r\n";
  for (const net::Header& header : request.headers) {
    out += header.name + ": " + header.value + "\r\n";
  }
  out += "\r\n";
  if (!head.chunked) {
    return out + request.body;
  }
  if (!request.body.empty()) {
    out += net::chunk_head(request.body.size()) + request.body + "\r\n";
  }
  return out + "0\r\n\r\n";
}

void check_taken(const net::Head& head) {
  const net::Request& request = head.request;
  require(request.body.size() <= kLimits.body_bytes, "no body is larger than the limit");
  require(head.chunked || request.body.size() == head.content_length, "a body has its length");
  require(request.path.starts_with('/') || request.path == "*", "a path begins with a slash");
  for (const net::Header& header : request.headers) {
    require(header.value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos,
            "no value can end its line");
  }
  const std::string again = written(head);
  const Outcome second = parse(again + "GET", again.size() + 3, kWide);
  require(second.parser.state() == RequestParser::State::done,
          "an accepted request is accepted again");
  require(second.used == again.size(), "nothing of the next request is consumed");
  require(same(second.parser.head(), head), "an accepted request is parsed to the same again");
}

void check_refusal(const net::Refusal& refusal) {
  require(!net::reason_of(refusal.status).empty(), "a refusal has a known status");
  require(!refusal.code.empty() && !refusal.detail.empty(), "a refusal has a reason");
}

void check(std::string_view input) {
  const auto piece = static_cast<std::size_t>(static_cast<unsigned char>(fuzz::take_choice(input)));
  const Outcome whole = parse(input, input.size() + 1, kLimits);
  require_same(whole, parse(input, 1, kLimits));
  require_same(whole, parse(input, piece + 1, kLimits));
  switch (whole.parser.state()) {
    case RequestParser::State::head:
    case RequestParser::State::body:
      require(whole.used == input.size(), "a parser that waits for more has consumed everything");
      break;
    case RequestParser::State::refused:
      check_refusal(whole.parser.refusal());
      break;
    case RequestParser::State::done:
      check_taken(whole.parser.head());
      break;
  }
  // Parts of URLs are decoded or rejected, and decoded parts can be encoded again.
  if (const auto text = net::url_decoded(input, net::UrlPart::query)) {
    require(net::url_decoded(net::url_encoded(*text), net::UrlPart::query) == text,
            "what is encoded is decoded to the same");
  }
  net::query_members(input);
}

}  // namespace

HOLDFAST_FUZZ_TARGET(http_parser, check)

}  // namespace holdfast::fuzz::http_parser_fuzz

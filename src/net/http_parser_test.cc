#include "net/http_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::net::http_parser_test {

namespace {

using State = RequestParser::State;
using namespace std::string_literals;
using namespace std::string_view_literals;

constexpr ParserLimits kLimits{.header_bytes = 512, .body_bytes = 64};

// The whole outcome as one text.
std::string outcome(RequestParser& parser, std::size_t used) {
  switch (parser.state()) {
    case State::head:
      return "head";
    case State::body:
      return "body";
    case State::refused:
      return std::to_string(parser.refusal().status) + " " + std::string(parser.refusal().detail) +
             " after " + std::to_string(used);
    case State::done:
      break;
  }
  const Head head = parser.head();
  const Request request = parser.take_request();
  std::string text = request.method + " " + request.path + "?" + request.query + " 1." +
                     std::to_string(head.minor) + (head.keep_alive ? " keep" : " close") +
                     (head.expects_continue ? " expects" : "");
  for (const Header& header : request.headers) {
    text += " [" + header.name + "|" + header.value + "]";
  }
  return text + " {" + request.body + "} after " + std::to_string(used);
}

// In pieces of that size; 0: as a whole.
std::string parse(std::string_view bytes, std::size_t piece = 0,
                  const ParserLimits& limits = kLimits) {
  RequestParser parser(limits);
  std::size_t used = 0;
  while (used < bytes.size()) {
    const std::string_view next = bytes.substr(used, piece == 0 ? bytes.size() : piece);
    const std::size_t taken = parser.take(next);
    used += taken;
    if (taken < next.size()) {
      break;
    }
  }
  return outcome(parser, used);
}

// Split once at every position, and into single bytes: always the same.
void expect_every_cut_gives(std::string_view bytes, const std::string& expected) {
  EXPECT_EQ(parse(bytes), expected) << bytes;
  EXPECT_EQ(parse(bytes, 1), expected) << bytes;
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    RequestParser parser(kLimits);
    std::size_t used = parser.take(bytes.substr(0, cut));
    if (used == cut) {
      used += parser.take(bytes.substr(cut));
    }
    EXPECT_EQ(outcome(parser, used), expected) << bytes << " cut at " << cut;
  }
}

struct Taken {
  std::string_view bytes;
  std::string_view outcome;  // without the number of bytes used: all of them
};

const std::vector<Taken> kTaken{
    {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET /? 1.1 keep [Host|a] {}"},
    {"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET /? 1.1 keep [Host|a] {}"},
    {"GET /a%20b?x=1&y=? HTTP/1.1\r\nhOsT:a:80\r\n\r\n",
     "GET /a%20b?x=1&y=? 1.1 keep [hOsT|a:80] {}"},
    {"GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET /? 1.1 keep [Host|] {}"},
    {"GET / HTTP/1.0\r\n\r\n", "GET /? 1.0 close {}"},
    {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
     "GET /? 1.0 keep [Connection|Keep-Alive] {}"},
    {"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, CLOSE ,keep-alive\r\n\r\n",
     "GET /? 1.1 close [Host|a] [Connection|x, CLOSE ,keep-alive] {}"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: \t b \xc3\xa4 \t\r\nX-Empty:\r\n\r\n",
     "GET /? 1.1 keep [Host|a] [X|b \xc3\xa4] [X-Empty|] {}"},
    {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS *? 1.1 keep [Host|a] {}"},
    {"M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n", "M-SEARCH /? 1.1 keep [Host|a] {}"},
    {"GET http://b:81/p?q HTTP/1.1\r\nHost: a\r\n\r\n", "GET /p?q 1.1 keep [Host|b:81] {}"},
    {"GET HTTPS://b HTTP/1.0\r\n\r\n", "GET /? 1.0 close [Host|b] {}"},
    {"GET http://b?q HTTP/1.1\r\nHost: a\r\n\r\n", "GET /?q 1.1 keep [Host|b] {}"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na\nb",
     "POST /? 1.1 keep [Host|a] [Content-Length|3] {a\nb}"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
     "POST /? 1.1 keep [Host|a] [Content-Length|0] {}"},
    {"POST / HTTP/1.0\r\nContent-Length: 1\r\nContent-Length: 01\r\n\r\nx",
     "POST /? 1.0 close [Content-Length|1] [Content-Length|01] {x}"},
    {"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\nx",
     "POST /? 1.1 keep expects [Host|a] [Expect|100-Continue] [Content-Length|1] {x}"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
     "3\r\nabc\r\n00A;x=\"y\"\r\n0123456789\r\n0\r\n\r\n",
     "POST /? 1.1 keep [Host|a] [Transfer-Encoding|Chunked] {abc0123456789}"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
     "0;last\r\nTrailer: ignored\r\nContent-Length: 7\r\n\r\n",
     "POST /? 1.1 keep [Host|a] [Transfer-Encoding|chunked] {}"},
};

TEST(HttpParser, accepts_requests_in_any_pieces) {
  for (const Taken& taken : kTaken) {
    expect_every_cut_gives(
        taken.bytes, std::string(taken.outcome) + " after " + std::to_string(taken.bytes.size()));
  }
}

TEST(HttpParser, leaves_the_bytes_of_the_next_request) {
  for (const Taken& taken : kTaken) {
    const std::string two = std::string(taken.bytes) + "GET /next HTTP/1.1\r\n";
    expect_every_cut_gives(
        two, std::string(taken.outcome) + " after " + std::to_string(taken.bytes.size()));
  }
}

struct Refused400 {
  std::string bytes;
  int status;
};

std::string with_line(std::string_view line) {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + std::string(line) + "\r\n\r\n";
}

std::string with_chunks(std::string_view chunks) {
  return with_line("Transfer-Encoding: chunked") + std::string(chunks);
}

std::vector<Refused400> refused_lines() {
  return {
      {"\x16\x03\x01", 400},
      {"\0"s, 400},
      {"\nGET / HTTP/1.1\r\n", 400},
      {"\r\n\r\n", 400},
      {"GET / HTTP/1.1\nHost: a\n\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\n\n", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
      {"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: u@b\r\n\r\n", 400},
      {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET / x HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /\r\nHost: a\r\n\r\n", 400},
      {"GET\r\nHost: a\r\n\r\n", 400},
      {" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /#x HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /\t HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"s, 400},
      {"GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET http://u@b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET ftp://b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"CONNECT b:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET / HTTP/1.1x\r\nHost: a\r\n\r\n", 400},
      {"GET / http/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET / HTTP/11\r\nHost: a\r\n\r\n", 400},
      {"GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505},
      {"GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400},
  };
}

std::vector<Refused400> refused_headers() {
  return {
      {with_line("X: a\r\n b"), 400},
      {with_line("X: a\r\n\tb"), 400},
      {with_line("X : a"), 400},
      {with_line("X"), 400},
      {with_line(": a"), 400},
      {with_line("X\xff: a"), 400},
      {with_line("X: a\rb"), 400},
      {with_line("X: a\0b"sv), 400},
      {with_line("X: a\x01"), 400},
      {with_line("X: a\x7f"), 400},
      {with_line("Content-Length: "), 400},
      {with_line("Content-Length: -1"), 400},
      {with_line("Content-Length: +1"), 400},
      {with_line("Content-Length: 1 "
                 "1"),
       400},
      {with_line("Content-Length: 0x1"), 400},
      {with_line("Content-Length: 1, 1"), 400},
      {with_line("Content-Length: 1\r\nContent-Length: 2"), 400},
      {with_line("Content-Length: 65"), 413},
      {with_line("Content-Length: 18446744073709551617"), 413},
      {with_line("Content-Length: 99999999999999999999999999999999"), 413},
      {with_line("Content-Length: 1\r\nTransfer-Encoding: chunked"), 400},
      {with_line("Transfer-Encoding: chunked\r\nContent-Length: 0"), 400},
      {with_line("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), 400},
      {with_line("Transfer-Encoding: gzip, chunked"), 501},
      {with_line("Transfer-Encoding: identity"), 501},
      {with_line("Transfer-Encoding: xchunked"), 501},
      {with_line("Transfer-Encoding:"), 501},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {with_line("Expect: something"), 417},
  };
}

std::vector<Refused400> refused_chunks() {
  return {
      {with_chunks("\r\n"), 400},
      {with_chunks("x\r\n"), 400},
      {with_chunks("-1\r\n"), 400},
      {with_chunks("0x1\r\n"), 400},
      {with_chunks(" 1\r\n"), 400},
      {with_chunks("1 \r\n"), 400},
      {with_chunks("1\n"), 400},
      {with_chunks("1;a\x01\r\n"), 400},
      {with_chunks("1\r\nab\r\n"), 400},
      {with_chunks("1\r\na\n"), 400},
      {with_chunks("0000000000000001\r\n"), 400},
      {with_chunks("10000000000000000\r\n"), 400},
      {with_chunks("fffffffffffffff\r\n"), 413},
      {with_chunks("41\r\n"), 413},
      {with_chunks("1\r\na\r\n40\r\n"), 413},
      {with_chunks("0\r\nno colon\r\n\r\n"), 400},
      {with_chunks("0\r\n folded: x\r\n\r\n"), 400},
      {with_chunks("0\r\nX: \x02\r\n\r\n"), 400},
      {with_chunks("1;" + std::string(600, 'x')), 431},
      {with_chunks("0\r\nX: " + std::string(600, 'x')), 431},
  };
}

TEST(HttpParser, refuses_malformed_requests_in_any_pieces) {
  for (const auto& table : {refused_lines(), refused_headers(), refused_chunks()}) {
    for (const Refused400& refused : table) {
      const std::string once = parse(refused.bytes);
      EXPECT_EQ(once.substr(0, 4), std::to_string(refused.status) + " ") << refused.bytes;
      expect_every_cut_gives(refused.bytes, once);
    }
  }
}

TEST(HttpParser, limits_the_head_to_the_byte) {
  const std::string start = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
  const std::string end = "\r\n\r\n";
  const std::size_t space = kLimits.header_bytes - start.size() - end.size();
  EXPECT_EQ(parse(start + std::string(space, 'x') + end).substr(0, 5), "GET /");
  const std::string over = start + std::string(space + 1, 'x') + end;
  expect_every_cut_gives(over, "431 the headers are too large after 512");
  const std::string line = "GET /" + std::string(600, 'x');
  expect_every_cut_gives(line, "414 the request line is too long after 512");
}

TEST(HttpParser, limits_the_number_of_headers) {
  std::string request = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int count = 0; count < 128; ++count) {
    request += "A:\r\n";
  }
  const ParserLimits limits{.header_bytes = 4'096, .body_bytes = 0};
  EXPECT_EQ(parse(request + "\r\n", 0, limits).substr(0, 4), "431 ");
}

TEST(HttpParser, limits_a_body_in_many_chunks) {
  std::string chunks;
  for (int count = 0; count < 64; ++count) {
    chunks += "1\r\na\r\n";
  }
  EXPECT_NE(parse(with_chunks(chunks + "0\r\n\r\n")).find(std::string(64, 'a')), std::string::npos);
  EXPECT_EQ(parse(with_chunks(chunks + "1\r\n")).substr(0, 4), "413 ");
  // The extensions of all chunks together are limited like headers.
  std::string extended;
  for (int count = 0; count < 60; ++count) {
    extended += "1;xxxxxxxxx\r\na\r\n";
  }
  EXPECT_EQ(parse(with_chunks(extended + "0\r\n\r\n")).substr(0, 4), "431 ");
}

TEST(HttpParser, waits_for_an_incomplete_request) {
  EXPECT_EQ(parse("GET / HTTP/1.1\r\nHost: a\r\n\r"), "head");
  EXPECT_EQ(parse("\r"), "head");
  EXPECT_EQ(parse(with_line("Content-Length: 2") + "a"), "body");
  EXPECT_EQ(parse(with_chunks("1\r\na\r\n0\r\n")), "body");
}

}  // namespace

}  // namespace holdfast::net::http_parser_test

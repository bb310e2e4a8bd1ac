#include "apps/client/response_reader.h"

#include <gtest/gtest.h>

namespace holdfast::client {
namespace {

constexpr std::string_view kChunked =
    "HTTP/1.1 100 Continue\r\nX: y\r\n\r\n"
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5\r\n{\"a\":\r\nA;name=value\r\n1234567890\r\n1\r\n}\r\n0\r\nTrailer: x\r\n\r\n";
constexpr std::string_view kPlain =
    "HTTP/1.1 201 Created\r\ncontent-length:  4 \r\nETag: \"x\"\r\n\r\nbody";

TEST(ResponseReader, an_answer_is_read_whole_byte_by_byte_and_cut_anywhere) {
  for (const auto& [text, body, status] :
       {std::tuple(kChunked, "{\"a\":1234567890}", 200), std::tuple(kPlain, "body", 201)}) {
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      ResponseReader reader;
      ASSERT_TRUE(reader.feed(text.substr(0, cut))) << reader.fault();
      EXPECT_EQ(reader.done(), cut == text.size()) << cut;
      ASSERT_TRUE(reader.feed(text.substr(cut))) << reader.fault();
      ASSERT_TRUE(reader.done()) << cut;
      EXPECT_EQ(reader.status(), status);
      EXPECT_EQ(reader.take_body(), body);
      EXPECT_TRUE(reader.keeps_alive());
    }
    ResponseReader reader;
    for (const char c : text) {
      ASSERT_FALSE(reader.done());
      ASSERT_TRUE(reader.feed({&c, 1})) << reader.fault();
    }
    EXPECT_TRUE(reader.done());
    EXPECT_EQ(reader.take_body(), body);
  }
}

TEST(ResponseReader, headers_are_found_whatever_their_case) {
  ResponseReader reader;
  ASSERT_TRUE(reader.feed(kPlain));
  EXPECT_EQ(reader.header("etag"), "\"x\"");
  EXPECT_EQ(reader.header("content-length"), "4");
  EXPECT_EQ(reader.header("none"), "");
}

TEST(ResponseReader, what_is_no_answer_is_refused) {
  const std::vector<std::string> garbage{
      "SSH-2.0-OpenSSH_9.2\r\n",
      "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
      "HTTP/2 200\r\n\r\n",
      "HTTP/1.1 20 OK\r\n\r\n",
      "HTTP/1.1 600 OK\r\n\r\n",
      "HTTP/1.1 200OK\r\n\r\n",
      "HTTP/1.1 +20 OK\r\n\r\n",
      "HTTP/1.1 200 OK\n\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 0\n\r\n",
      "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
      "HTTP/1.1 200 OK\r\n : x\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA : x\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA: x\r\n folded\r\n\r\n",
      std::string("HTTP/1.1 200 OK\r\nA: ") + '\0' + "\r\n\r\n",
      "HTTP/1.1 200 OK\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\n",
      "HTTP/1.1 101 Switching Protocols\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n123456789\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
  };
  for (const std::string& text : garbage) {
    ResponseReader whole;
    EXPECT_FALSE(whole.feed(text)) << text;
    EXPECT_NE(whole.fault(), "") << text;
    EXPECT_FALSE(whole.feed("x")) << "it stays refused";
    ResponseReader split;
    bool ok = true;
    for (const char c : text) {
      ok = ok && split.feed({&c, 1});
    }
    EXPECT_FALSE(ok) << text;
  }
}

TEST(ResponseReader, what_is_too_large_is_refused_before_it_is_kept) {
  const ResponseLimits limits{200, 100};
  const std::string head = "HTTP/1.1 200 OK\r\n";
  {
    ResponseReader reader(limits);
    EXPECT_FALSE(reader.feed(head + "A: " + std::string(300, 'x') + "\r\n"));
  }
  {
    ResponseReader reader(limits);
    EXPECT_FALSE(reader.feed(head + "A: " + std::string(300, 'x'))) << "no line at all";
  }
  {
    ResponseReader reader(limits);
    EXPECT_FALSE(reader.feed(head + "Content-Length: 101\r\n\r\n"));
  }
  {
    ResponseReader reader(limits);
    ASSERT_TRUE(reader.feed(head + "Transfer-Encoding: chunked\r\n\r\n"));
    ASSERT_TRUE(reader.feed("40\r\n" + std::string(64, 'x') + "\r\n"));
    EXPECT_FALSE(reader.feed("40\r\n" + std::string(64, 'x') + "\r\n"));
  }
  {
    ResponseReader reader(limits);
    ASSERT_TRUE(reader.feed(head + "Transfer-Encoding: chunked\r\n\r\n0\r\n"));
    EXPECT_FALSE(reader.feed("T: " + std::string(300, 'x') + "\r\n"));
  }
}

TEST(ResponseReader, a_stream_may_go_on_for_ever_when_it_is_taken) {
  ResponseReader reader({200, 100});
  ASSERT_TRUE(reader.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(reader.feed("40\r\n" + std::string(64, 'x') + "\r\n"));
    ASSERT_EQ(reader.take_body().size(), 64U);
  }
}

TEST(ResponseReader, a_connection_is_used_again_only_when_nothing_is_left_over) {
  ResponseReader close;
  ASSERT_TRUE(close.feed("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"));
  EXPECT_TRUE(close.done());
  EXPECT_FALSE(close.keeps_alive());
  ResponseReader more;
  ASSERT_TRUE(more.feed(std::string(kPlain) + "HTTP/1.1 "));
  EXPECT_TRUE(more.done());
  EXPECT_FALSE(more.keeps_alive());
}

}  // namespace
}  // namespace holdfast::client

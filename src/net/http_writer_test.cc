#include "net/http_writer.h"

#include <gtest/gtest.h>

namespace holdfast::net::http_writer_test {

namespace {

TEST(HttpWriter, dates_have_the_format_of_the_rfc) {
  EXPECT_EQ(http_date(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
}

TEST(HttpWriter, a_head_contains_the_headers_of_the_server) {
  Response response;
  response.body = "12345";
  response.headers = {{"ETag", "\"a\""}};
  EXPECT_EQ(response_head(response, {}, "NOW"),
            "HTTP/1.1 200 OK\r\nDate: NOW\r\nContent-Type: application/json\r\n"
            "X-Content-Type-Options: nosniff\r\nContent-Length: 5\r\nETag: \"a\"\r\n\r\n");
  response.status = 204;
  EXPECT_EQ(response_head(response, {BodyEnd::length, After::close}, "NOW"),
            "HTTP/1.1 204 No Content\r\nDate: NOW\r\nX-Content-Type-Options: nosniff\r\n"
            "Connection: close\r\nETag: \"a\"\r\n\r\n");
}

TEST(HttpWriter, no_header_can_end_another_or_replace_those_of_the_server) {
  Response response;
  response.content_type = "";
  response.headers = {{"Location", "/a\r\nSet-Cookie: x"},
                      {"content-LENGTH", "99"},
                      {"Transfer-Encoding", "gzip"},
                      {"Connection", "upgrade"},
                      {"Date", "never"}};
  EXPECT_EQ(response_head(response, {BodyEnd::chunked, After::keep_alive}, "NOW"),
            "HTTP/1.1 200 OK\r\nDate: NOW\r\nX-Content-Type-Options: nosniff\r\n"
            "Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n"
            "Location: /a  Set-Cookie: x\r\n\r\n");
}

TEST(HttpWriter, problems_follow_rfc_9457) {
  const Response response = problem({413, "too_large", "the \"body\""});
  EXPECT_EQ(response.status, 413);
  EXPECT_EQ(response.content_type, "application/problem+json");
  EXPECT_EQ(response.body, R"({"type":"about:blank","title":"Content Too Large","status":413,)"
                           R"("detail":"the \"body\"","code":"too_large","retry":false,)"
                           R"("what_next":"permanent"})");
}

}  // namespace

}  // namespace holdfast::net::http_writer_test

#include "net/http.h"

#include <gtest/gtest.h>

namespace holdfast::net::http_test {

namespace {

TEST(Http, headers_are_found_in_any_case) {
  Request request;
  request.headers = {{"Content-Type", "a"}, {"content-type", "b"}};
  EXPECT_EQ(request.header("CONTENT-TYPE"), "a");
  EXPECT_EQ(request.header("content"), "");
}

TEST(Http, reasons_of_known_statuses) {
  EXPECT_EQ(reason_of(200), "OK");
  EXPECT_EQ(reason_of(431), "Request Header Fields Too Large");
  EXPECT_EQ(reason_of(299), "");
}

TEST(Http, decoding_accepts_only_well_formed_text) {
  EXPECT_EQ(url_decoded("a%20b+c%2f", UrlPart::path), "a b+c/");
  EXPECT_EQ(url_decoded("a%20b+c", UrlPart::query), "a b c");
  EXPECT_EQ(url_decoded("%41", UrlPart::path), "A");
  EXPECT_EQ(url_decoded("", UrlPart::path), "");
  EXPECT_EQ(url_decoded("%00", UrlPart::path), std::string(1, '\0'));
  for (const char* malformed : {"%", "a%", "%4", "%g1", "%1g", "%%41", "% 1", "%+1"}) {
    EXPECT_EQ(url_decoded(malformed, UrlPart::path), std::nullopt) << malformed;
  }
}

TEST(Http, encoding_and_decoding_round_trip) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) {
    every.push_back(static_cast<char>(byte));
  }
  EXPECT_EQ(url_decoded(url_encoded(every), UrlPart::path), every);
  EXPECT_EQ(url_decoded(url_encoded(every), UrlPart::query), every);
  EXPECT_EQ(url_encoded("az-AZ_09.~ /"), "az-AZ_09.~%20%2F");
}

TEST(Http, members_of_a_query_keep_their_order) {
  const auto members = query_members("b=1&a=x%26y&flag&&a=2%3D&=z&c=d=e");
  ASSERT_TRUE(members.has_value());
  std::string seen;
  for (const Header& member : *members) {
    seen += "[" + member.name + "|" + member.value + "]";
  }
  EXPECT_EQ(seen, "[b|1][a|x&y][flag|][a|2=][|z][c|d=e]");
  EXPECT_TRUE(query_members("")->empty());
  EXPECT_FALSE(query_members("a=%zz").has_value());
  EXPECT_FALSE(query_members("%z=1").has_value());
}

}  // namespace

}  // namespace holdfast::net::http_test

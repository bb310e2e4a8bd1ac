#include "storage/entry/entry.h"

#include <gtest/gtest.h>

#include "tests/support/test_entries.h"

namespace holdfast::entry_test {
namespace {

std::string encode(std::string_view thread_name, std::uint64_t seq, const NewEntry& entry) {
  std::string out;
  append_entry_head(out, thread_name, Revision{seq});
  append_entry_tail(out, entry);
  return out;
}

// The reason of the error that scanning a body ends with.
std::string reason_of(std::string_view body) {
  BodyScanner scanner(Position{7}, body);
  for (;;) {
    auto next = scanner.next();
    if (!next.ok()) {
      EXPECT_EQ(next.error().code(), ErrorCode::invalid_journal_entry);
      EXPECT_EQ(next.error().field("position"), "7");
      return std::string(next.error().field("reason"));
    }
    if (!next.value().has_value()) {
      return "none";
    }
  }
}

TEST(Entry, the_form_in_a_body_is_fixed) {
  EXPECT_EQ(encode("run:1", 3, entry("run_started", R"({ "a" : [1, "x y"] })", 1234)),
            R"({"thread":"run:1","seq":3,"kind":"run_started","at":1234,"data":{"a":[1,"x y"]}})");
}

TEST(Entry, what_is_written_is_read_back) {
  const std::string first = encode("run:1", 0, entry("a", R"({"s":"\"}]{[\\"})"));
  const std::string second = encode("run:2", 9, entry("b_2", "{}", 5));
  const std::string body = "[" + first + "," + second + "]";
  BodyScanner scanner(Position{1}, body);
  const EntryView one = *must(scanner.next());
  EXPECT_EQ(one.thread, "run:1");
  EXPECT_EQ(one.data, R"({"s":"\"}]{[\\"})");
  EXPECT_EQ(one.raw, first);
  const EntryView two = *must(scanner.next());
  EXPECT_EQ(two.thread, "run:2");
  EXPECT_EQ(two.seq, Revision{9});
  EXPECT_EQ(two.kind, "b_2");
  EXPECT_EQ(two.at, TimeMs{5});
  EXPECT_EQ(two.raw, second);
  EXPECT_EQ(must(scanner.next()), std::nullopt);
  EXPECT_EQ(scanner.count(), 2U);
}

TEST(Entry, corruption_names_its_reason) {
  EXPECT_EQ(reason_of(""), "invalid_payload");
  EXPECT_EQ(reason_of("[]"), "invalid_payload");
  EXPECT_EQ(reason_of("{}"), "invalid_payload");
  EXPECT_EQ(reason_of("[1]"), "invalid_payload");
  EXPECT_EQ(reason_of(R"([{"seq":0}])"), "invalid_refs");
  EXPECT_EQ(reason_of(R"([{"thread":"bad","seq":0}])"), "invalid_refs");
  EXPECT_EQ(reason_of(R"([{"thread":"run:1","seq":-1}])"), "invalid_refs");
  EXPECT_EQ(reason_of(R"([{"thread":"run:1","seq":01}])"), "invalid_refs");
  EXPECT_EQ(reason_of(R"([{"thread":"run:1","seq":0,"kind":"Bad"}])"), "invalid_payload");
  EXPECT_EQ(reason_of(R"([{"thread":"run:1","seq":0,"kind":"a","at":"x"}])"), "invalid_timestamp");
  EXPECT_EQ(reason_of(R"([{"thread":"run:1","seq":0,"kind":"a","at":1}])"), "missing_data");
  EXPECT_EQ(reason_of(R"([{"thread":"run:1","seq":0,"kind":"a","at":1,"data":3}])"),
            "invalid_payload");
  EXPECT_EQ(reason_of(R"([{"thread":"run:1","seq":0,"kind":"a","at":1,"data":{"x":"\)"),
            "invalid_payload");
  EXPECT_EQ(reason_of(R"([{"thread":"run:1","seq":0,"kind":"a","at":1,"data":{}}] )"),
            "invalid_payload");
}

TEST(Entry, every_truncated_body_is_an_error) {
  const std::string body = "[" + encode("run:1", 0, entry("a", R"({"k":["\\",{}]})")) + "," +
                           encode("run:1", 1, entry("b")) + "]";
  for (std::size_t length = 0; length < body.size(); ++length) {
    EXPECT_NE(reason_of(body.substr(0, length)), "none") << length;
  }
  EXPECT_EQ(reason_of(body), "none");
}

TEST(Entry, new_entries_are_checked) {
  EXPECT_EQ(code_of(check_new_entry(entry("ok"))), "ok");
  const auto missing = check_new_entry(NewEntry{"", TimeMs{0}, JsonText{}});
  EXPECT_EQ(code_of(missing), "missing_fields");
  EXPECT_EQ(missing.error().field("fields"), "kind, at");
  EXPECT_EQ(check_new_entry(NewEntry{"a", TimeMs{0}, JsonText{}}).error().field("fields"), "at");
  EXPECT_EQ(check_new_entry(NewEntry{"", TimeMs{1}, JsonText{}}).error().field("fields"), "kind");
  EXPECT_EQ(code_of(check_new_entry(entry("Not_ok"))), "invalid_argument");
  EXPECT_EQ(code_of(check_new_entry(entry("a", "{}", -5))), "invalid_argument");
  EXPECT_EQ(code_of(check_new_entry(entry("a", "[]"))), "invalid_json");
  const std::string huge = "{\"x\":\"" + std::string(kMaxDataBytes, 'x') + "\"}";
  EXPECT_EQ(code_of(check_new_entry(entry("a", huge))), "too_large");
}

}  // namespace
}  // namespace holdfast::entry_test

#include "runs/view/json_diff.h"

#include <gtest/gtest.h>

namespace holdfast::json_diff_test {
namespace {

std::string diff(std::string_view before, std::string_view after) {
  return std::string(to_json(json_diff(before, after)).view());
}

TEST(JsonDiff, equal_values_have_no_changes_however_they_are_written) {
  EXPECT_EQ(diff(R"({"a":1,"b":[1,2]})", R"({"b":[1,2],"a":1})"), "[]");
  EXPECT_EQ(diff(R"({"a":1.0,"t":"é"})", "{\"t\" : \"\\u00e9\",\n \"a\":1}"), "[]");
  EXPECT_EQ(diff("", ""), "[]");
}

TEST(JsonDiff, members_are_compared_by_name_at_any_depth) {
  EXPECT_EQ(
      diff(R"({"a":{"b":{"c":1,"d":2}},"gone":[1]})", R"({"a":{"b":{"c":3,"d":2,"e":null}}})"),
      R"([{"path":"a.b.c","change":"changed","before":1,"after":3},)"
      R"({"path":"gone","change":"removed","before":[1]},)"
      R"({"path":"a.b.e","change":"added","after":null}])");
}

TEST(JsonDiff, what_was_added_stands_last) {
  EXPECT_EQ(diff(R"({"a":{},"z":1})", R"({"new":0,"a":{"x":1},"z":2})"),
            R"([{"path":"z","change":"changed","before":1,"after":2},)"
            R"({"path":"a.x","change":"added","after":1},)"
            R"({"path":"new","change":"added","after":0}])");
}

TEST(JsonDiff, another_kind_of_value_is_a_change_of_the_whole) {
  EXPECT_EQ(diff(R"({"a":[1]})", R"({"a":{"0":1}})"),
            R"([{"path":"a","change":"changed","before":[1],"after":{"0":1}}])");
  EXPECT_EQ(diff(R"({"a":1})", R"({"a":"1"})"),
            R"([{"path":"a","change":"changed","before":1,"after":"1"}])");
}

TEST(JsonDiff, elements_that_have_names_are_matched_by_them) {
  EXPECT_EQ(
      diff(R"({"steps":[{"name":"charge","retry":{"max_attempts":3}},{"name":"ship"}]})",
           R"({"steps":[{"name":"pack"},{"name":"ship"},)"
           R"({"name":"charge","retry":{"max_attempts":5}}]})"),
      R"([{"path":"steps.charge.retry.max_attempts","change":"changed","before":3,"after":5},)"
      R"({"path":"steps.pack","change":"added","after":{"name":"pack"}}])");
}

TEST(JsonDiff, the_first_member_that_names_every_element_counts) {
  // Two have the same step, so the key names them.
  EXPECT_EQ(diff(R"([{"step":"a","runnable_key":"a:1"},{"step":"a","runnable_key":"a:2","x":1}])",
                 R"([{"step":"a","runnable_key":"a:2","x":2},{"step":"a","runnable_key":"a:1"}])"),
            R"([{"path":"a:2.x","change":"changed","before":1,"after":2}])");
  for (const std::string_view by : {"name", "runnable_key", "run_id", "wait_id", "id", "step"}) {
    const std::string name(by);
    EXPECT_EQ(diff(R"([{")" + name + R"(":"p","x":1},{")" + name + R"(":"q"}])",
                   R"([{")" + name + R"(":"q"},{")" + name + R"(":"p","x":2}])"),
              R"([{"path":"p.x","change":"changed","before":1,"after":2}])")
        << name;
  }
}

TEST(JsonDiff, a_list_that_was_empty_gets_its_elements_by_name) {
  EXPECT_EQ(diff(R"({"steps":[]})", R"({"steps":[{"name":"a"}]})"),
            R"([{"path":"steps.a","change":"added","after":{"name":"a"}}])");
}

TEST(JsonDiff, elements_without_names_are_matched_by_their_place) {
  EXPECT_EQ(diff(R"({"items":[1,2,3]})", R"({"items":[1,4]})"),
            R"([{"path":"items[1]","change":"changed","before":2,"after":4},)"
            R"({"path":"items[2]","change":"removed","before":3}])");
  // The same name twice names nothing.
  EXPECT_EQ(diff(R"([{"name":"a"},{"name":"a"}])", R"([{"name":"a"},{"name":"b"}])"),
            R"([{"path":"[1].name","change":"changed","before":"a","after":"b"}])");
  EXPECT_EQ(diff(R"([{"name":"a"},1])", R"([{"name":"b"},1])"),
            R"([{"path":"[0].name","change":"changed","before":"a","after":"b"}])");
}

TEST(JsonDiff, names_with_dots_and_escapes_stay_readable_as_paths) {
  EXPECT_EQ(diff(R"({"a.b":{"c\\d":1,"q\"":1}})", R"({"a.b":{"c\\d":2,"q\"":2}})"),
            R"([{"path":"a\\.b.c\\\\d","change":"changed","before":1,"after":2},)"
            R"({"path":"a\\.b.q\"","change":"changed","before":1,"after":2}])");
}

TEST(JsonDiff, the_whole_can_change_come_and_go) {
  EXPECT_EQ(diff("1", "2"), R"([{"path":"$","change":"changed","before":1,"after":2}])");
  EXPECT_EQ(diff("", "{}"), R"([{"path":"$","change":"added","after":{}}])");
  EXPECT_EQ(diff("{}", ""), R"([{"path":"$","change":"removed","before":{}}])");
}

TEST(JsonDiff, of_members_that_are_there_twice_the_last_counts) {
  EXPECT_EQ(diff(R"({"a":1,"a":2})", R"({"a":2})"), "[]");
  EXPECT_EQ(diff(R"({"b":1})", R"({"a":1,"a":2,"b":1})"),
            R"([{"path":"a","change":"added","after":2}])");
}

}  // namespace
}  // namespace holdfast::json_diff_test

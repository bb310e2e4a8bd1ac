#include "runs/facts/ids.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/dispatch_fact_samples.h"
#include "tests/support/test_entries.h"

namespace holdfast::ids_test {
namespace {

TEST(Ids, a_run_id_is_a_uuid_in_either_case) {
  const std::string text = "0192f0c1-2d3e-7f40-8a5b-6c7d8e9fa0b1";
  EXPECT_EQ(to_string(must(parse_run_id(text))), text);
  EXPECT_EQ(to_string(must(parse_run_id("0192F0C1-2D3E-7F40-8A5B-6C7D8E9FA0B1"))), text);
  EXPECT_EQ(code_of(parse_run_id("run-1")), "invalid_argument");
  EXPECT_TRUE(RunId{}.empty());
  EXPECT_EQ(code_of(parse_run_id(to_string(RunId{}))), "invalid_argument");
  EXPECT_FALSE(must(parse_run_id(text)).empty());
}

TEST(Ids, the_same_parts_always_give_the_same_run_id) {
  // Stored ids were made this way: the value must never change.
  EXPECT_EQ(to_string(derive_run_id({"order", "api"})), "94adb6c9-0154-54d8-9f2b-4bf5cb96ed9e");
}

TEST(Ids, different_parts_give_different_run_ids) {
  const std::set<RunId> ids{derive_run_id({"a", "b"}),     derive_run_id({"ab"}),
                            derive_run_id({"a", "", "b"}), derive_run_id({"a|1:b"}),
                            derive_run_id({"b", "a"}),     derive_run_id({"", "a", "b"}),
                            derive_run_id({""}),           derive_run_id({})};
  EXPECT_EQ(ids.size(), 8U);
}

TEST(Ids, a_derived_run_id_is_marked_as_made_from_a_name) {
  const std::string text = to_string(derive_run_id({"order"}));
  EXPECT_EQ(text[14], '5');
  EXPECT_NE(std::string_view("89ab").find(text[19]), std::string_view::npos);
}

TEST(Ids, a_runnable_key_names_run_step_and_attempt) {
  EXPECT_EQ(runnable_key(run_no(1), "charge", 2).view(), to_string(run_no(1)) + ":charge:2");
}

TEST(Ids, names_fit_into_thread_names) {
  for (const std::string& good :
       {std::string("default"), std::string("a"), std::string("9_.-Z"), std::string(128, 'q')}) {
    EXPECT_TRUE(ThreadId::parse(dispatch_thread(good).text()).ok());
    EXPECT_EQ(dispatch_thread(good).text(), "dispatch:" + good);
    EXPECT_EQ(index_thread(good).text(), "run_index:" + good);
  }
}

TEST(Ids, each_run_has_a_thread_and_all_share_a_catalog) {
  EXPECT_EQ(run_thread(run_no(1)).text(), "run:" + to_string(run_no(1)));
  EXPECT_EQ(catalog_thread().text(), "run_catalog:all");
}

}  // namespace
}  // namespace holdfast::ids_test

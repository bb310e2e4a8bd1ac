#include "tests/support/run_fixture.h"

namespace holdfast::run_decide_attributes_test {
namespace {

class DecideAttributes : public ::testing::Test {
 protected:
  DecideAttributes() { test_.start(); }
  TestRun::Decision update(std::string_view changes, std::string_view key) {
    return [this, changes = json(changes), key = SharedText(key)](RunProjection& run) {
      return decide_update_attributes(run, changes, key, test_.now);
    };
  }
  TestRun::Decision archive(std::string_view reason) {
    return [this, reason = SharedText(reason)](RunProjection& run) {
      return decide_archive(run, reason, test_.now);
    };
  }
  TestRun::Decision unarchive() {
    return [this](RunProjection& run) { return decide_unarchive(run, test_.now); };
  }

  TestRun test_{kLine};
};

TEST_F(DecideAttributes, changes_set_and_remove_attributes_also_after_the_end) {
  test_.put(update(R"({"customer":"ann","vip":true})", "k1"));
  test_.cancel();
  test_.put(update(R"({"customer":null,"tags":["a","b"]})", "k2"));
  const auto& attributes = test_.run->attributes();
  EXPECT_EQ(attributes.size(), 2U);
  EXPECT_EQ(attributes.at("tags"), json(R"(["a","b"])"));
}

TEST_F(DecideAttributes, a_key_stands_for_one_update_in_whatever_order_it_is_written) {
  test_.put(update(R"({"a":1,"b":2})", "k1"));
  EXPECT_TRUE(test_.put(update(R"({"b":2,"a":1})", "k1")).empty());
  EXPECT_EQ(code_of(test_.dry_run(update(R"({"a":1,"b":3})", "k1"))),
            ErrorCode::idempotency_conflict);
  EXPECT_EQ(code_of(test_.dry_run(update(R"({"a":1})", "k1"))), ErrorCode::idempotency_conflict);
}

TEST_F(DecideAttributes, what_breaks_a_limit_is_refused) {
  EXPECT_EQ(code_of(test_.dry_run(update(R"({"a":1})", ""))), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(test_.dry_run(update("[1]", "k1"))), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(test_.dry_run(update("", "k1"))), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(test_.dry_run(update(R"({"Upper":1})", "k1"))), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(test_.dry_run(update(R"({"a":1.5})", "k1"))), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(test_.dry_run(update(R"({"a":{}})", "k1"))), ErrorCode::invalid_argument);
  const auto long_text = test_.dry_run(update(R"({"a":")" + std::string(257, 'x') + R"("})", "k1"));
  EXPECT_EQ(code_of(long_text), ErrorCode::invalid_argument);
  EXPECT_EQ(long_text.error().field("run_id"), to_string(run_no(1)));
}

TEST_F(DecideAttributes, limits_count_what_the_run_has_already) {
  for (int i = 0; i < 32; ++i) {
    const std::string name = "a" + std::to_string(i);
    test_.put(update("{\"" + name + "\":1}", name));
  }
  EXPECT_EQ(code_of(test_.dry_run(update(R"({"one_more":1})", "k"))), ErrorCode::invalid_argument);
  EXPECT_EQ(test_.put(update(R"({"a0":null,"one_more":1})", "k")).size(), 1U);
}

TEST_F(DecideAttributes, a_run_that_never_began_has_no_attributes) {
  RunProjection unknown(run_no(3));
  EXPECT_EQ(code_of(decide_update_attributes(unknown, json(R"({"a":1})"), "k", test_.now)),
            ErrorCode::run_not_found);
  EXPECT_EQ(code_of(decide_archive(unknown, "old", test_.now)), ErrorCode::run_not_found);
}

TEST_F(DecideAttributes, a_run_is_archived_and_unarchived_after_its_end) {
  EXPECT_EQ(code_of(test_.dry_run(archive("old"))), ErrorCode::invalid_transition);
  EXPECT_EQ(code_of(test_.dry_run(unarchive())), ErrorCode::invalid_transition);
  test_.cancel();
  EXPECT_TRUE(test_.put(unarchive()).empty());
  EXPECT_EQ(code_of(test_.dry_run(archive(""))), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(test_.dry_run(archive(std::string(257, 'r')))), ErrorCode::invalid_argument);
  EXPECT_EQ(kinds(test_.put(archive("old"))), Kinds({"run_archived"}));
  EXPECT_TRUE(test_.put(archive("older")).empty());
  EXPECT_EQ(kinds(test_.put(unarchive())), Kinds({"run_unarchived"}));
  EXPECT_TRUE(test_.put(unarchive()).empty());
}

}  // namespace
}  // namespace holdfast::run_decide_attributes_test

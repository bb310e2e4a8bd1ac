#include "storage/entry/thread_id.h"

#include <gtest/gtest.h>

namespace holdfast::thread_id_test {
namespace {

TEST(ThreadId, names_of_all_modules_are_accepted) {
  for (const char* name : {"run:0192f0c1-7b7e-7c3a-8f00-1234567890ab", "dispatch:default",
                           "run_index:billing.v2", "run_catalog:all", "partition:a:run:1"}) {
    EXPECT_TRUE(is_thread_id(name)) << name;
  }
}

TEST(ThreadId, anything_that_would_need_escaping_is_refused) {
  for (const char* name : {"", ":", "run", "run:", ":run", "run::1", "run:a b", "run:\"", "run:é",
                           "run:a/b", "run:_a", "run:-a", "run:a\n", "run:.."}) {
    EXPECT_FALSE(is_thread_id(name)) << name;
  }
  EXPECT_FALSE(is_thread_id(std::string_view("run:\0a", 6)));
}

TEST(ThreadId, length_is_bounded) {
  const std::string longest = "run:" + std::string(kMaxThreadBytes - 4, 'x');
  EXPECT_TRUE(is_thread_id(longest));
  EXPECT_FALSE(is_thread_id(longest + "x"));
}

TEST(ThreadId, the_refusal_shows_what_a_name_looks_like) {
  const auto refused = ThreadId::parse("no good");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_thread);
  EXPECT_NE(refused.error().message().find("run:42"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::thread_id_test

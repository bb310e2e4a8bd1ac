#include "runs/api/strict_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/shared_text.h"
#include "tests/support/must.h"

namespace holdfast::strict_reader_test {
namespace {

using ::testing::HasSubstr;

struct Leaf {
  std::string token;
  std::uint64_t count = 0;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("token", self.token);
    v.optional("count", self.count);
  }
};

struct Branch {
  std::vector<Leaf> leaves;
  std::optional<Leaf> spare;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("leaves", self.leaves);
    v.optional("spare", self.spare);
  }
};

struct Body {
  std::string name;
  Leaf leaf;
  std::vector<Branch> branches;
  std::vector<SharedText> queues;
  Payload input;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("name", self.name);
    v.optional("leaf", self.leaf);
    v.optional("branches", self.branches);
    v.optional("queues", self.queues);
    v.optional("input", self.input);
  }
};

// The path that the error names.
std::string path_of(std::string_view text) {
  const auto read = read_object<Body>(text);
  if (read.ok()) {
    return "nothing wrong";
  }
  EXPECT_EQ(code_of(read), "invalid_argument") << read.error().text();
  return std::string(read.error().field("field"));
}

std::string message(std::string_view text) {
  const auto read = read_object<Body>(text);
  return read.ok() ? "nothing wrong" : std::string(read.error().text());
}

TEST(StrictReader, valid_objects_are_read) {
  const Body body = must(read_object<Body>(
      R"({"name":"n","leaf":{"token":"t","count":3},"branches":[{"leaves":[{"token":"u"}]},)"
      R"({"spare":{"token":"v"}}],"queues":["q1","q2"],"input":{"any":{"thing":1}}})"));
  EXPECT_EQ(body.name, "n");
  EXPECT_EQ(body.leaf.token, "t");
  EXPECT_EQ(body.leaf.count, 3U);
  ASSERT_EQ(body.branches.size(), 2U);
  EXPECT_EQ(body.branches[0].leaves.at(0).token, "u");
  EXPECT_EQ(body.branches[1].spare->token, "v");
  EXPECT_EQ(body.queues.size(), 2U);
  EXPECT_EQ(body.input.view(), R"({"any":{"thing":1}})") << "what is inside is not ours";
}

TEST(StrictReader, an_unknown_member_is_named_at_every_depth) {
  EXPECT_EQ(path_of(R"({"name":"n","nmae":1})"), "nmae");
  EXPECT_EQ(path_of(R"({"name":"n","leaf":{"token":"t","cuont":1}})"), "leaf.cuont");
  EXPECT_EQ(path_of(R"({"name":"n","branches":[{},{"leafs":[]}]})"), "branches[1].leafs");
  EXPECT_EQ(path_of(R"({"name":"n","branches":[{"leaves":[{"token":"t"},{"token":"u","x":0}]}]})"),
            "branches[0].leaves[1].x");
  EXPECT_EQ(path_of(R"({"name":"n","branches":[{"spare":{"token":"t","y":null}}]})"),
            "branches[0].spare.y");
}

TEST(StrictReader, an_unknown_member_comes_with_the_known_ones) {
  const std::string text = message(R"({"name":"n","leaf":{"tokne":"t"}})");
  EXPECT_THAT(text, HasSubstr("leaf.tokne"));
  EXPECT_THAT(text, HasSubstr("token, count"));
}

TEST(StrictReader, a_missing_member_is_named_with_its_path) {
  EXPECT_EQ(path_of("{}"), "name");
  EXPECT_EQ(path_of(R"({"name":""})"), "name");
  EXPECT_EQ(path_of(R"({"name":null})"), "name");
  EXPECT_EQ(path_of(R"({"name":"n","leaf":{"count":1}})"), "leaf.token");
  EXPECT_EQ(path_of(R"({"name":"n","branches":[{"leaves":[{"token":"t"},{}]}]})"),
            "branches[0].leaves[1].token");
  EXPECT_THAT(message(R"({"name":"n","leaf":{}})"), HasSubstr("required"));
}

TEST(StrictReader, a_member_of_the_wrong_type_is_named_with_its_path) {
  EXPECT_EQ(path_of(R"({"name":7})"), "name");
  EXPECT_EQ(path_of(R"({"name":"n","leaf":{"token":"t","count":"3"}})"), "leaf.count");
  EXPECT_EQ(path_of(R"({"name":"n","branches":[{"leaves":[{"token":"t","count":-1}]}]})"),
            "branches[0].leaves[0].count");
  EXPECT_EQ(path_of(R"({"name":"n","queues":"q1"})"), "queues");
  EXPECT_EQ(path_of(R"({"name":"n","leaf":[]})"), "leaf");
  EXPECT_EQ(path_of(R"({"name":"n","leaf":"t"})"), "leaf");
  EXPECT_EQ(path_of(R"({"name":"n","branches":{"leaves":[]}})"), "branches");
  EXPECT_EQ(path_of(R"({"name":"n","branches":[7]})"), "branches");
  EXPECT_THAT(message(R"({"name":7})"), HasSubstr("type"));
}

TEST(StrictReader, an_unknown_member_is_reported_before_a_missing_one) {
  EXPECT_EQ(path_of(R"({"nmae":"n"})"), "nmae") << "most likely that is the missing one";
  EXPECT_EQ(path_of(R"({"leaf":{"tokne":"t"}})"), "leaf.tokne");
}

TEST(StrictReader, null_is_not_an_omitted_member) {
  EXPECT_EQ(path_of(R"({"name":"n","leaf":null})"), "leaf");
  EXPECT_EQ(path_of(R"({"name":"n","branches":[{"spare":null}]})"), "branches[0].spare");
  EXPECT_EQ(path_of(R"({"name":"n","leaf":{"token":"t","count":null}})"), "leaf.count");
  EXPECT_EQ(path_of(R"({"name":"n","queues":null})"), "queues");
  EXPECT_EQ(path_of(R"({"name":"n","input":null})"), "nothing wrong") << "any JSON value";
}

struct Given {
  NonEmptyText key;
  NonEmptyNames names;
  ObjectPayload attributes;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("key", self.key);
    v.optional("names", self.names);
    v.optional("attributes", self.attributes);
  }
};

TEST(StrictReader, optional_members_must_not_be_empty) {
  const Given given =
      must(read_object<Given>(R"({"key":"k","names":["a","b"],"attributes":{"x":null}})"));
  EXPECT_EQ(given.key, "k");
  EXPECT_EQ(given.names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(given.attributes.view(), R"({"x":null})");
  EXPECT_TRUE(must(read_object<Given>("{}")).names.empty());
  const auto refused = [](std::string_view text) {
    const auto read = read_object<Given>(text);
    EXPECT_EQ(code_of(read), "invalid_argument") << text;
    return read.ok() ? "" : std::string(read.error().field("field"));
  };
  for (const std::string_view value : {R"("")", "7", "null", "[]"}) {
    EXPECT_EQ(refused(R"({"key":)" + std::string(value) + "}"), "key");
  }
  for (const std::string_view value : {"[]", R"([""])", R"("a")", "[7]", "[null]", "{}", "null"}) {
    EXPECT_EQ(refused(R"({"names":)" + std::string(value) + "}"), "names");
  }
  for (const std::string_view value : {R"("a=b")", "[]", "null", "true", "7"}) {
    EXPECT_EQ(refused(R"({"attributes":)" + std::string(value) + "}"), "attributes");
  }
}

}  // namespace
}  // namespace holdfast::strict_reader_test

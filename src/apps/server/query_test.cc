#include "apps/server/query.h"

#include <gtest/gtest.h>

#include <map>

#include "runs/api/query_requests.h"
#include "tests/support/must.h"

namespace holdfast::query_test {
namespace {

Query query(std::string_view text) { return must(Query::parse(text)); }

template <typename T>
std::string field_of(const Result<T>& result) {
  return result.ok() ? "nothing wrong" : std::string(result.error().field("field"));
}

TEST(Query, absent_parameters_are_empty) {
  Query nothing = query("");
  EXPECT_EQ(nothing.text("workflow"), "");
  EXPECT_TRUE(nothing.list("workflow").empty());
  EXPECT_FALSE(must(nothing.flag("all")));
  EXPECT_FALSE(must(nothing.number("limit", 0, 10)).has_value());
  EXPECT_TRUE(nothing.finish().ok());
}

TEST(Query, parameters_are_decoded_and_lists_keep_their_order) {
  Query parsed = query("status=failed&name=a%26b+c%3D&status=running");
  EXPECT_EQ(parsed.list("status"), (std::vector<std::string>{"failed", "running"}));
  EXPECT_EQ(parsed.text("status"), "failed");
  EXPECT_EQ(parsed.text("name"), "a&b c=");
  EXPECT_TRUE(parsed.finish().ok());
}

TEST(Query, a_malformed_query_is_refused) {
  for (const std::string_view bad : {"a=%", "a=%2", "a=%zz", "%e=1"}) {
    EXPECT_EQ(code_of(Query::parse(bad)), "invalid_argument") << bad;
  }
}

TEST(Query, a_parameter_without_a_value_is_refused) {
  for (const std::string_view bad : {"workflow=", "workflow", "limit=5&workflow="}) {
    EXPECT_EQ(code_of(Query::parse(bad)), "invalid_argument") << bad;
    EXPECT_EQ(field_of(Query::parse(bad)), "workflow") << bad;
  }
}

TEST(Query, a_repeated_parameter_is_refused_where_one_value_is_expected) {
  Query parsed = query("workflow=a&status=failed&status=running&workflow=b");
  static_cast<void>(parsed.list("status"));
  static_cast<void>(parsed.text("workflow"));
  EXPECT_EQ(field_of(parsed.finish()), "workflow");
}

TEST(Query, an_unknown_parameter_is_named) {
  Query parsed = query("workflow=order&statuss=failed");
  EXPECT_EQ(parsed.text("workflow"), "order");
  EXPECT_EQ(code_of(parsed.finish()), "invalid_argument");
  EXPECT_EQ(field_of(parsed.finish()), "statuss");
  EXPECT_EQ(parsed.text("statuss"), "failed");
  EXPECT_TRUE(parsed.finish().ok()) << "reading the parameter makes it known";
}

TEST(Query, every_kind_of_read_makes_a_name_known) {
  Query parsed = query("a=1&b=1&c=1&d=1&width=80&colour=always");
  static_cast<void>(parsed.text("a"));
  static_cast<void>(parsed.list("b"));
  static_cast<void>(parsed.flag("c"));
  EXPECT_EQ(field_of(parsed.finish()), "d");
  static_cast<void>(parsed.number("d", 0, 5));
  EXPECT_TRUE(parsed.finish().ok()) << "every operation accepts width and colour";
}

TEST(Query, a_flag_is_true_or_false) {
  Query parsed = query("a=1&b=true&c=0&d=false&f=yes&g=TRUE");
  EXPECT_TRUE(must(parsed.flag("a")));
  EXPECT_TRUE(must(parsed.flag("b")));
  EXPECT_FALSE(must(parsed.flag("c")));
  EXPECT_FALSE(must(parsed.flag("d")));
  EXPECT_EQ(field_of(parsed.flag("f")), "f");
  EXPECT_EQ(field_of(parsed.flag("g")), "g");
}

TEST(Query, a_number_is_a_decimal_within_its_limits) {
  Query parsed = query("a=0&b=100&c=101&d=-1&e=1x&f=1.5&g=99999999999999999999&h=+1");
  EXPECT_EQ(must(parsed.number("a", 0, 100)), 0U);
  EXPECT_EQ(must(parsed.number("b", 0, 100)), 100U);
  for (const std::string_view name : {"c", "d", "e", "f", "g", "h"}) {
    EXPECT_EQ(field_of(parsed.number(name, 0, 100)), name);
  }
  EXPECT_EQ(must(parsed.number("b", 100, 100)), 100U);
  EXPECT_EQ(field_of(parsed.number("a", 1, 100)), "a");
}

Result<GraphRequest> read_graph(std::string_view query) {
  Query parsed = must(Query::parse(query));
  return parsed.read<GraphRequest>({{"run", "r1"}});
}

TEST(Query, a_request_is_read_from_the_path_and_the_query) {
  const GraphRequest request = must(read_graph("at=10m&history=1&form=dot&width=80"));
  EXPECT_EQ(request.run, "r1");
  EXPECT_EQ(request.at, "10m");
  EXPECT_TRUE(request.history);
  EXPECT_EQ(request.form, GraphForm::dot);
  const GraphRequest plain = must(read_graph(""));
  EXPECT_EQ(plain.form, GraphForm::tree);
  EXPECT_FALSE(plain.history);
}

TEST(Query, a_parameter_that_the_request_does_not_have_is_an_error) {
  for (const auto& [query, field] : std::map<std::string, std::string>{{"run=r2", "run"},
                                                                       {"nonsense=1", "nonsense"},
                                                                       {"at=1&at=2", "at"},
                                                                       {"history=maybe", "history"},
                                                                       {"form=round", "form"}}) {
    const auto read = read_graph(query);
    ASSERT_FALSE(read.ok()) << query;
    EXPECT_EQ(read.error().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(read.error().field("field"), field);
  }
  EXPECT_EQ(read_graph("form=round").error().message(),
            "form must be tree, dot or mermaid, not \"round\"");
}

TEST(Query, numbers_of_a_request_have_a_limit) {
  Query most = must(Query::parse("limit=1000&status=failed&status=paused&order=oldest"));
  const ListRequest list = must(most.read<ListRequest>());
  EXPECT_EQ(list.limit.value_or(0), 1000U);
  EXPECT_EQ(list.statuses, (std::vector<std::string>{"failed", "paused"}));
  EXPECT_EQ(list.order, RunOrder::oldest);
  Query more = must(Query::parse("limit=1001"));
  EXPECT_EQ(more.read<ListRequest>().error().field("field"), "limit");
}

}  // namespace
}  // namespace holdfast::query_test

#include "apps/server/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "apps/server/openapi.h"
#include "base/json_value.h"
#include "tests/support/must.h"

namespace holdfast::routes_test {
namespace {

using ::testing::ElementsAre;

// The path with something in place of each argument.
std::string filled(std::string_view form, const std::string& with) {
  std::string path;
  bool inside = false;
  for (const char c : form) {
    inside = inside || c == '{';
    if (c == '}') {
      path += with;
      inside = false;
    } else if (!inside) {
      path += c;
    }
  }
  return path;
}

std::size_t arguments_of(const Route& route) {
  return static_cast<std::size_t>(std::count(route.path.begin(), route.path.end(), '{'));
}

TEST(Routes, ids_and_targets_are_unique) {
  std::set<std::string_view> ids;
  std::set<std::pair<std::string_view, std::string_view>> targets;
  for (const Route& route : routes()) {
    EXPECT_TRUE(ids.insert(route.id).second) << route.id;
    EXPECT_TRUE(targets.emplace(route.method, route.path).second) << route.path;
    EXPECT_TRUE(route.path.starts_with('/')) << route.path;
  }
}

TEST(Routes, each_route_is_found_with_its_arguments) {
  for (const Route& route : routes()) {
    const Match match = must(find_route(route.method, filled(route.path, "x1")));
    EXPECT_EQ(match.route->id, route.id);
    EXPECT_EQ(match.arguments, std::vector<std::string>(arguments_of(route), "x1")) << route.path;
  }
}

TEST(Routes, every_get_route_accepts_head) {
  for (const Route& route : routes()) {
    if (route.method == "GET") {
      EXPECT_EQ(must(find_route("HEAD", filled(route.path, "x1"))).route->id, route.id);
    }
  }
}

TEST(Routes, arguments_are_decoded) {
  const Match one = must(find_route("GET", "/v1/workflows/a%20b%2Fc%25"));
  EXPECT_EQ(one.route->id, "get_workflow");
  EXPECT_THAT(one.arguments, ElementsAre("a b/c%"));
  const Match two = must(find_route("POST", "/v1/schedules/a+b/%C3%BC/pause"));
  EXPECT_EQ(two.route->id, "pause_schedule");
  EXPECT_THAT(two.arguments, ElementsAre("a+b", "\xC3\xBC")) << "a plus is a plus in a path";
}

TEST(Routes, a_literal_segment_precedes_an_argument_for_its_method) {
  EXPECT_EQ(must(find_route("POST", "/v1/runs/batch")).route->id, "start_runs");
  EXPECT_EQ(must(find_route("POST", "/v1/runs/bulk")).route->id, "bulk_runs");
}

TEST(Routes, any_other_path_is_not_found) {
  for (const char* path :
       {"", "/", "/v1", "/v2/runs", "/v1/run", "/v1/runs/", "/v1/runs/x/", "/v1/runs//cancel",
        "/v1/runs/x/nothing", "/v1/runs/x/cancel/now", "//v1/runs", "/healthz/", "/healthz/x",
        "/v1/runs/%zz", "/v1/runs/%", "*", "/V1/runs"}) {
    EXPECT_EQ(code_of(find_route("GET", path)), "not_found") << path;
    EXPECT_EQ(code_of(find_route("POST", path)), "not_found") << path;
  }
}

std::string allowed(std::string_view method, std::string_view path) {
  const auto match = find_route(method, path);
  EXPECT_EQ(code_of(match), "invalid_argument") << method << " " << path;
  return match.ok() ? "everything" : std::string(match.error().field("allowed"));
}

TEST(Routes, another_method_gets_the_list_of_allowed_ones) {
  EXPECT_EQ(allowed("DELETE", "/v1/runs"), "POST, GET");
  EXPECT_EQ(allowed("GET", "/v1/runs/x/cancel"), "POST");
  EXPECT_EQ(allowed("HEAD", "/v1/runs/x/cancel"), "POST");
  EXPECT_EQ(allowed("POST", "/healthz"), "GET");
  EXPECT_EQ(allowed("GET", "/v1/tokens/t1"), "DELETE");
  EXPECT_EQ(allowed("get", "/healthz"), "GET") << "methods are in upper case";
}

TEST(Routes, only_routes_without_data_are_open) {
  std::vector<std::string_view> open;
  for (const Route& route : routes()) {
    if (route.access == Route::Access::open) {
      open.push_back(route.id);
    }
  }
  EXPECT_THAT(open, ElementsAre("get_health", "get_readiness", "get_openapi"));
}

TEST(Routes, routes_that_change_something_need_more_than_look) {
  for (const Route& route : routes()) {
    if (route.method != "GET") {
      EXPECT_NE(route.permission, Permission::look) << route.id;
      EXPECT_EQ(route.access, Route::Access::permitted) << route.id;
    }
    if (route.path.starts_with("/v1/tokens") || route.path == "/v1/backup") {
      EXPECT_EQ(route.permission, Permission::administer) << route.id;
    }
  }
}

// {method path id}
std::set<std::string> described() {
  const Json document = must(Json::parse(kOpenapiDocument));
  const Json paths = document.find("paths").value();
  std::set<std::string> all;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto [path, item] = paths.member(i);
    for (std::size_t j = 0; j < item.size(); ++j) {
      const auto [method, operation] = item.member(j);
      const auto id = operation.find("operationId");
      if (!id.has_value()) {
        continue;  // parameters that all methods share
      }
      std::string name(method);
      std::transform(name.begin(), name.end(), name.begin(),
                     [](char c) { return static_cast<char>(c - 'a' + 'A'); });
      all.insert(name + " " + std::string(path) + " " + std::string(id->string().value()));
    }
  }
  return all;
}

TEST(Routes, routes_are_those_of_the_openapi_document) {
  std::set<std::string> ours;
  for (const Route& route : routes()) {
    ours.insert(std::string(route.method) + " " + std::string(route.path) + " " +
                std::string(route.id));
  }
  EXPECT_EQ(described(), ours);
}

}  // namespace
}  // namespace holdfast::routes_test

// Every function that engines and clients have in common, by name, with the error code it returns.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "tests/support/embed_fixture.h"

namespace holdfast {

inline constexpr const char* kRun = "00000000-0000-7000-8000-000000000000";
inline constexpr const char* kSpec = R"({"workflow":"job","steps":[{"name":"work"}]})";

using Calls = std::map<std::string, std::function<std::string_view()>>;

// The functions that engines and clients have in common.
template <typename Side>
Calls common_calls(Side& side) {
  return {
      {"register_workflow",
       [&] { return code_of(side.register_workflow(Workflow("job").step("work"))); }},
      {"register_workflow_json", [&] { return code_of(side.register_workflow_json(kSpec)); }},
      {"register_workflow_yaml", [&] { return code_of(side.register_workflow_yaml(kSpec)); }},
      {"register_handler", [&] { return code_of(side.register_handler("work", nothing)); }},
      {"start", [&] { return code_of(side.start("job")); }},
      {"cancel", [&] { return code_of(side.cancel(kRun)); }},
      {"resume", [&] { return code_of(side.resume(kRun)); }},
      {"approve", [&] { return code_of(side.approve(kRun, {.actor = "ann"})); }},
      {"reject", [&] { return code_of(side.reject(kRun, {.actor = "ann"})); }},
      {"signal", [&] { return code_of(side.signal(kRun, "paid")); }},
      {"replay", [&] { return code_of(side.replay(kRun)); }},
      {"set_search_attributes", [&] { return code_of(side.set_search_attributes(kRun, "{}")); }},
      {"archive", [&] { return code_of(side.archive(kRun, "old")); }},
      {"unarchive", [&] { return code_of(side.unarchive(kRun)); }},
      {"work", [&] { return code_of(side.work(2, {})); }},
      {"inspect", [&] { return code_of(side.inspect(kRun)); }},
      {"wait", [&] { return code_of(side.wait(kRun, milliseconds(0))); }},
      {"explain", [&] { return code_of(side.explain(kRun)); }},
      {"snapshot_json", [&] { return code_of(side.snapshot_json(kRun)); }},
      {"graph_json", [&] { return code_of(side.graph_json(kRun)); }},
      {"timeline_json", [&] { return code_of(side.timeline_json(kRun)); }},
      {"diff_json", [&] { return code_of(side.diff_json(kRun, "1")); }},
      {"list", [&] { return code_of(side.list()); }},
      {"status_json", [&] { return code_of(side.status_json()); }},
      {"doctor_json", [&] { return code_of(side.doctor_json()); }},
  };
}

inline void expect_all(const Calls& calls, std::string_view code) {
  for (const auto& [name, call] : calls) {
    EXPECT_EQ(call(), code) << name;
  }
}

}  // namespace holdfast

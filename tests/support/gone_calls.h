// Every function that engines and clients have in common, by name, with the error code it returns.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "tests/support/embed_fixture.h"

namespace holdfast {

inline constexpr const char* kUnknownRun = "00000000-0000-7000-8000-000000000000";
inline constexpr const char* kSpec = R"({"workflow":"job","steps":[{"name":"work"}]})";

using GoneCalls = std::map<std::string, std::function<ResultCode()>>;

// The functions that engines and clients have in common.
template <typename Side>
GoneCalls common_calls(Side& side) {
  return {
      {"register_workflow",
       [&] { return code_of(side.register_workflow(Workflow("job").step("work"))); }},
      {"register_workflow_json", [&] { return code_of(side.register_workflow_json(kSpec)); }},
      {"register_workflow_yaml", [&] { return code_of(side.register_workflow_yaml(kSpec)); }},
      {"register_handler", [&] { return code_of(side.register_handler("work", nothing)); }},
      {"start", [&] { return code_of(side.start("job")); }},
      {"deliver_cron",
       [&] { return code_of(side.deliver_cron("job", "nightly", {.signal_id = "n"})); }},
      {"cancel", [&] { return code_of(side.cancel(kUnknownRun)); }},
      {"resume", [&] { return code_of(side.resume(kUnknownRun)); }},
      {"approve", [&] { return code_of(side.approve(kUnknownRun, {.actor = "ann"})); }},
      {"reject", [&] { return code_of(side.reject(kUnknownRun, {.actor = "ann"})); }},
      {"close_circuit_breaker", [&] { return code_of(side.close_circuit_breaker("job", "work")); }},
      {"signal", [&] { return code_of(side.signal(kUnknownRun, "paid")); }},
      {"mutate_graph", [&] { return code_of(side.mutate_graph(kUnknownRun, {.id = "m"})); }},
      {"migrate", [&] { return code_of(side.migrate(kUnknownRun)); }},
      {"replay", [&] { return code_of(side.replay(kUnknownRun)); }},
      {"set_search_attributes",
       [&] { return code_of(side.set_search_attributes(kUnknownRun, "{}")); }},
      {"archive", [&] { return code_of(side.archive(kUnknownRun, "old")); }},
      {"unarchive", [&] { return code_of(side.unarchive(kUnknownRun)); }},
      {"work", [&] { return code_of(side.work(2, {})); }},
      {"inspect", [&] { return code_of(side.inspect(kUnknownRun)); }},
      {"wait", [&] { return code_of(side.wait(kUnknownRun, milliseconds(0))); }},
      {"explain", [&] { return code_of(side.explain(kUnknownRun)); }},
      {"snapshot_json", [&] { return code_of(side.snapshot_json(kUnknownRun)); }},
      {"graph_json", [&] { return code_of(side.graph_json(kUnknownRun)); }},
      {"timeline_json", [&] { return code_of(side.timeline_json(kUnknownRun)); }},
      {"diff_json", [&] { return code_of(side.diff_json(kUnknownRun, "1")); }},
      {"list", [&] { return code_of(side.list()); }},
      {"status_json", [&] { return code_of(side.status_json()); }},
      {"doctor_json", [&] { return code_of(side.doctor_json()); }},
  };
}

inline void expect_all(const GoneCalls& calls, std::string_view code) {
  for (const auto& [name, call] : calls) {
    EXPECT_EQ(call(), code) << name;
  }
}

}  // namespace holdfast

// A run that is interrupted after any of its commits and resumed ends as if it had not been
// interrupted.
#include <gtest/gtest.h>

#include "tests/support/workflow_world.h"

namespace holdfast::workflow_restart_test {
namespace {

struct Story {
  std::string name;
  WorldScript script;
  std::string ends;  // status, context, error, completed steps
};

std::string flow(const std::string& rest, const std::string& name = "flow") {
  return R"({"workflow":")" + name + R"(",)" + rest + "}";
}

// Fails while the attempt number is below `until`.
std::function<WorldOutcome(const Assignment&)> fails_until(std::string step, std::uint32_t until) {
  return [step = std::move(step), until](const Assignment& attempt) -> WorldOutcome {
    const std::string name(parse_activation(attempt.step.view()).step);
    if (name == step && attempt.attempt_number < until) {
      return breaks("flaky");
    }
    return says(R"({")" + name + R"(":true})");
  };
}

std::function<WorldOutcome(const Assignment&)> always_fails(std::string step) {
  return [step = std::move(step)](const Assignment& attempt) -> WorldOutcome {
    if (attempt.step.view() == step) {
      return breaks("broken", false);
    }
    return says(R"({"did":")" + attempt.step.str() + R"("})");
  };
}

Story chain_with_retries() {
  WorldScript script;
  script.definitions = {flow(R"("steps":[{"name":"a","retry":{"max_attempts":3,"delay_ms":50}},
      {"name":"b","after":["a"],"output":"b"},{"name":"c","after":["b"]}])")};
  script.handler = fails_until("a", 3);
  return {"chain_with_retries", script, R"(completed {"a":true,"b":{"b":true},"c":true} a b c)"};
}

Story diamond() {
  WorldScript script;
  script.definitions = {flow(R"("steps":[{"name":"a"},{"name":"b","after":["a"],"output":"b"},
      {"name":"c","after":["a"],"output":"c"},{"name":"d","after":["b","c"],"output":"d"}])")};
  return {"diamond", script, R"(completed {"b":{},"c":{},"d":{}} a b c d)"};
}

Story conditional_routes() {
  WorldScript script;
  script.definitions = {
      flow(R"("steps":[{"name":"ask"},{"name":"yes"},{"name":"no"},{"name":"end"}],
      "transitions":[{"from":"ask","to":"yes","when":{"path":"n","greater":5}},
                     {"from":"ask","to":"no"},{"from":"yes","to":"end"},
                     {"from":"no","to":"end"}])")};
  script.input = R"({"n":7})";
  return {"conditional_routes", script, R"(completed {"n":7} ask end yes)"};
}

Story loop_until_done() {
  WorldScript script;
  script.definitions = {
      flow(R"("entry":"poll","steps":[{"name":"poll"},{"name":"rest","wait":"5s"}],
      "transitions":[{"from":"poll","to":"complete","when":{"path":"ready","equals":true}},
                     {"from":"poll","to":"rest"},{"from":"rest","to":"poll"}])")};
  script.handler = [](const Assignment& attempt) -> WorldOutcome {
    const bool ready = parse_activation(attempt.step.view()).visit == 4;
    return says(ready ? R"({"ready":true})" : R"({"ready":false})");
  };
  return {"loop_until_done", script,
          R"(completed {"ready":true} poll poll@2 poll@3 poll@4 rest rest@2 rest@3)"};
}

Story error_route() {
  WorldScript script;
  script.definitions = {flow(R"("steps":[{"name":"a"},{"name":"b"},{"name":"fallback"},
      {"name":"join","after":["a","b"]}],
      "transitions":[{"from":"a","on":"error","to":"fallback",
                      "when":{"path":"error.code","equals":"broken"}}])")};
  script.handler = always_fails("a");
  return {"error_route", script,
          R"(completed {"did":"join","error":{"code":"broken"}} a b fallback join)"};
}

Story for_each_in_order() {
  WorldScript script;
  script.definitions = {flow(R"("steps":[{"name":"list","output":"ignored"},
      {"name":"each","after":["list"],"for_each":{"items":"lines","as":"line","concurrency":2},
       "retry":{"max_attempts":2},"output":"sums"},{"name":"end","after":["each"]}])")};
  script.input = R"({"lines":[5,6,7,8,9]})";
  script.handler = [](const Assignment& attempt) -> WorldOutcome {
    const Activation activation = parse_activation(attempt.step.view());
    if (activation.item == 2 && attempt.attempt_number == 1) {
      return breaks("flaky");
    }
    return activation.item.has_value() ? says(attempt.input.view()) : says("{}");
  };
  return {"for_each_in_order", script,
          R"(completed {"ignored":{},"lines":[5,6,7,8,9],"sums":[{"index":0,"line":5},{"ind)"
          R"(ex":1,"line":6},{"index":2,"line":7},{"index":3,"line":8},{"index":4,"line":9})"
          R"(]} each each[0] each[1] each[2] each[3] each[4] end list)"};
}

Story for_each_collects() {
  WorldScript script;
  script.definitions = {flow(R"("steps":[{"name":"each","for_each":{"items":[1,2,3],
      "on_error":"collect"}},{"name":"end","after":["each"]}])")};
  script.handler = always_fails("each[1]");
  return {"for_each_collects", script,
          R"(completed {"did":"end","each":[{"did":"each[0]"},{"error":{"code":"broken"}},{)"
          R"("did":"each[2]"}]} each each[0] each[1] each[2] end)"};
}

Story approvals_side_by_side() {
  WorldScript script;
  script.definitions = {
      flow(R"("steps":[{"name":"a"},{"name":"manager","approval":true,"after":["a"]},
      {"name":"legal","approval":true,"after":["a"],"output":"law"},
      {"name":"hold","pause":{"reason":"look"},"after":["manager"]},
      {"name":"end","after":["hold","legal"]}])")};
  return {"approvals_side_by_side", script,
          R"(completed {"law":{"actor":"ann","decided_at":0,"decision":"approved"},"manager)"
          R"(":{"actor":"ann","decided_at":0,"decision":"approved"}} a end hold legal manag)"
          R"(er)"};
}

Story rejected() {
  WorldScript script;
  script.definitions = {
      flow(R"("steps":[{"name":"a"},{"name":"ok","approval":true},{"name":"report"}],
      "transitions":[{"from":"a","to":"ok"},{"from":"ok","to":"complete"},
                     {"from":"ok","on":"error","to":"report"}])")};
  script.decide = [](const ManualState&) { return std::optional(ManualAction::rejected); };
  return {"rejected", script,
          R"(completed {"error":{"code":"rejected","message":"step ok was rejected by ann",)"
          R"("retryable":false,"step":"ok"},"ok":{"actor":"ann","decided_at":0,"decision":")"
          R"(rejected"}} a ok report)"};
}

Story events_and_timeouts() {
  WorldScript script;
  script.definitions = {flow(R"("steps":[
      {"name":"paid","await_event":{"event":"paid","correlation":{"path":"order"},"timeout":"1h"},
       "output":"payment"},
      {"name":"any","await_event":{"any_of":["left","right"]},"after":["paid"],"output":"way"},
      {"name":"never","await_event":{"event":"never","timeout":"1m","on_timeout":"late"},
       "after":["paid"]},
      {"name":"late","log":"too late for {order}"},
      {"name":"end","after":["any","never"]}])")};
  script.input = R"({"order":"o-7"})";
  script.send = [](const EventWait& wait) -> std::optional<SharedText> {
    if (wait.opened.event.view() == "never") {
      return std::nullopt;
    }
    return wait.opened.others.empty() ? wait.opened.event : wait.opened.others.front().event;
  };
  return {"events_and_timeouts", script,
          R"(completed {"error":{"code":"event_timeout","message":"no event never came in t)"
          R"(ime","retryable":false,"step":"never"},"order":"o-7","payment":{"said":"paid"})"
          R"(,"timed_out":"never","way":{"event":"right","payload":{"said":"right"}}} any e)"
          R"(nd late never paid)"};
}

Story children() {
  WorldScript script;
  script.definitions = {
      flow(R"("steps":[{"name":"a"},
          {"name":"kid","child":"inner","after":["a"],"input":{"n":"n"},"output":"kid"},
          {"name":"many","child":{"workflow":"inner"},"for_each":{"items":[1,2],"as":"n"},
           "after":["kid"],"output":"many"},
          {"name":"end","after":["many"]}])"),
      R"({"workflow":"inner","output":{"twice":"twice"},"steps":[{"name":"double"}]})"};
  script.input = R"({"n":3})";
  script.handler = [](const Assignment& attempt) -> WorldOutcome {
    return attempt.step.view() == "double" ? says(R"({"twice":6})") : says("{}");
  };
  return {"children", script,
          R"(completed {"kid":{"twice":6},"many":[{"twice":6},{"twice":6}],"n":3} a end kid)"
          R"( many many[0] many[1])"};
}

Story saga() {
  WorldScript script;
  script.definitions = {flow(R"("steps":[
      {"name":"hotel","compensate":"cancel_hotel"},
      {"name":"flight","compensate":{"handler":"cancel_flight","retry":{"max_attempts":2}},
       "after":["hotel"]},
      {"name":"car","compensate":"cancel_car","after":["flight"]},
      {"name":"pay","after":["car"]}])")};
  script.handler = [](const Assignment& attempt) -> WorldOutcome {
    if (attempt.step.view() == "pay" || attempt.handler.view() == "cancel_car" ||
        (attempt.handler.view() == "cancel_flight" && attempt.attempt_number == 1)) {
      return breaks("broken", attempt.handler.view() == "cancel_flight");
    }
    return says(R"({"did":")" + attempt.step.str() + R"("})");
  };
  return {"saga", script,
          R"(failed {"did":"car"} error {"code":"broken"} car compensate:car compensate:fli)"
          R"(ght compensate:hotel flight hotel)"};
}

Story continued() {
  WorldScript script;
  script.definitions = {flow(R"("steps":[{"name":"page"}])")};
  script.input = R"({"page":1})";
  script.handler = [](const Assignment& attempt) -> WorldOutcome {
    if (attempt.input.view() == R"({"page":1})") {
      return says("{}", R"({"continue_as_new":{"key":"2","input":{"page":2}}})");
    }
    return says(R"({"last":true})");
  };
  return {"continued", script, R"(continued {"page":1} page)"};
}

Story deferred() {
  WorldScript script;
  script.definitions = {flow(R"("steps":[{"name":"a"},{"name":"b","after":["a"]}])")};
  script.handler = [](const Assignment& attempt) -> WorldOutcome {
    const bool first = attempt.runnable_key.view().ends_with(":1");
    if (attempt.step.view() == "a" && first) {
      return says("{}", R"({"defer":{"reason":"early","schedule_in_ms":1000}})");
    }
    return says("{}", attempt.step.view() == "a" ? R"({"schedule_in_ms":500})" : "");
  };
  return {"deferred", script, R"(completed {} a b)"};
}

// plan adds two steps and one after them, which adds another when it is done.
Story growing() {
  WorldScript script;
  script.definitions = {flow(R"("steps":[{"name":"plan"},{"name":"end","after":["plan"]}])")};
  script.handler = [](const Assignment& attempt) -> WorldOutcome {
    const std::string_view step = attempt.step.view();
    if (step == "plan") {
      return says("{}", canonical_json(R"({"graph":{"expected_version":0,"additions":[
          {"kind":"node","id":"one","handler":"h","retry":{"max_attempts":2,"delay_ms":40}},
          {"kind":"node","id":"two","handler":"h","input":{"x":1}},
          {"kind":"node","id":"both","handler":"h"},
          {"kind":"edge","id":"e1","from":"one","to":"both"},
          {"kind":"edge","id":"e2","from":"two","to":"both"}]}})"));
    }
    if (step == "one" && attempt.attempt_number == 1) {
      return breaks("flaky");
    }
    if (step == "both") {
      return says(R"({"both":true})", canonical_json(R"({"graph":{"mutation_id":"last","additions":[
          {"kind":"node","id":"last","handler":"h"}]}})"));
    }
    return says(R"({")" + std::string(step) + R"(":true})");
  };
  return {"growing", script,
          R"(completed {"both":true,"end":true,"last":true,"one":true,"two":true} both end )"
          R"(last one plan two)"};
}

// Steps that lead in a circle fail the step that adds them, and nothing of them is left.
Story growing_in_a_circle() {
  WorldScript script;
  script.definitions = {flow(R"("steps":[{"name":"plan"},{"name":"apologise"}],
      "transitions":[{"from":"plan","on":"error","to":"apologise",
                      "when":{"path":"error.reason","equals":"cycle"}}])")};
  script.handler = [](const Assignment& attempt) -> WorldOutcome {
    return attempt.step.view() == "plan" ? says("{}", canonical_json(R"({"graph":{"additions":[
        {"kind":"node","id":"a","handler":"h"},{"kind":"node","id":"b","handler":"h"},
        {"kind":"edge","id":"e1","from":"a","to":"b"},
        {"kind":"edge","id":"e2","from":"b","to":"a"}]}})"))
                                         : says(R"({"error":"sorry"})");
  };
  return {"growing_in_a_circle", script, R"(completed {"error":"sorry"} apologise plan)"};
}

class Restart : public testing::TestWithParam<Story (*)()> {};

TEST_P(Restart, after_any_commit_gives_the_same_outcome) {
  const Story story = GetParam()();
  WorkflowWorld whole(story.script);
  whole.play();
  const auto expected = whole.outcome();
  const std::size_t commits = whole.commits();
  ASSERT_GT(commits, 2U);
  ASSERT_EQ(expected.at(to_string(WorkflowWorld::run_id())), story.ends);
  for (std::size_t cut = 0; cut <= commits; ++cut) {
    SCOPED_TRACE(story.name + " cut after commit " + std::to_string(cut));
    WorkflowWorld rest(story.script, whole.cut_after(cut), whole.clock().now());
    rest.play();
    EXPECT_EQ(rest.outcome(), expected);
    for (const RunId& id : rest.run_ids()) {
      EXPECT_TRUE(rest.load(id)->anomalies().empty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Workflows, Restart,
                         testing::Values(chain_with_retries, diamond, conditional_routes,
                                         loop_until_done, error_route, for_each_in_order,
                                         for_each_collects, approvals_side_by_side, rejected,
                                         events_and_timeouts, children, saga, continued, deferred,
                                         growing, growing_in_a_circle),
                         [](const auto& story) { return story.param().name; });

}  // namespace
}  // namespace holdfast::workflow_restart_test

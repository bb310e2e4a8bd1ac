#include "runs/view/run_graph.h"

#include "tests/support/run_story.h"

namespace holdfast::run_graph_test {
namespace {

RunGraph graph_of(const RunStory& story) {
  return run_graph({story.test.run.get(), {&story.queue}, Position{1}, story.test.now});
}

std::string text_of(const RunStory& story, bool with_history = false) {
  return std::string(to_json(graph_of(story), with_history).view());
}

// The same run, shown without its definition.
std::string text_of_facts(const RunStory& story) {
  RunProjection run(story.test.run->run_id());
  for (const RunStory::Line& line : story.log) {
    if (line.thread.starts_with("run:")) {
      run.fold(line.view());
    }
  }
  return std::string(
      to_json(run_graph({&run, {&story.queue}, Position{1}, story.test.now}), false).view());
}

std::shared_ptr<const Definition> parcel() {
  return parsed(R"({"workflow":"parcel","steps":[{"name":"one"}]})");
}

TEST(RunGraph, a_chain_in_the_middle_shows_what_is_done_and_what_waits) {
  RunStory story(
      R"([{"name":"a"},{"name":"b","after":["a"],"handler":"work"},{"name":"c","after":["b"]}])");
  story.start();
  story.complete("a", R"({"password":"p","x":1})");
  story.claim("b");
  EXPECT_EQ(text_of(story),
            R"({"run_id":"00000000-0000-0000-0000-000000000001","workflow":"order",)"
            R"("version":"1","source":"definition","status":"running","terminal":false,)"
            R"("current":["b"],"nodes":[{"id":"a","kind":"handler","action":"a",)"
            R"("status":"completed","current":false,"attempts":1,"visits":1},)"
            R"({"id":"b","kind":"handler","action":"work","status":"running","current":true,)"
            R"("attempts":1,"visits":1},{"id":"c","kind":"handler","action":"c",)"
            R"("status":"waiting","current":false,"attempts":0,"visits":0}],)"
            R"("edges":[{"id":"a:dependency:b","from":"a","to":"b","type":"dependency",)"
            R"("status":"selected"},{"id":"b:dependency:c","from":"b","to":"c",)"
            R"("type":"dependency","status":"pending"}],"children":[]})");
  EXPECT_EQ(text_of(story, true),
            R"({"run_id":"00000000-0000-0000-0000-000000000001","workflow":"order",)"
            R"("version":"1","source":"definition","status":"running","terminal":false,)"
            R"("current":["b"],"nodes":[{"id":"a","kind":"handler","action":"a",)"
            R"("status":"completed","current":false,"attempts":1,"visits":1,)"
            R"("input":{"order":7},"output":{"password":"[REDACTED]","x":1}},)"
            R"({"id":"b","kind":"handler","action":"work","status":"running","current":true,)"
            R"("attempts":1,"visits":1,"input":{"order":7,"password":"[REDACTED]","x":1}},)"
            R"({"id":"c","kind":"handler","action":"c","status":"waiting","current":false,)"
            R"("attempts":0,"visits":0}],"edges":[{"id":"a:dependency:b","from":"a","to":"b",)"
            R"("type":"dependency","status":"selected"},)"
            R"({"id":"b:dependency:c","from":"b","to":"c","type":"dependency",)"
            R"("status":"pending"}],"children":[]})");
}

TEST(RunGraph, the_error_route_that_was_taken_is_selected_and_the_others_are_skipped) {
  RunStory story(flow(R"([{"name":"pay"},{"name":"ask"},{"name":"late"},{"name":"thank"}])",
                      R"([{"from":"pay","to":"thank"},
          {"from":"pay","on":"error","to":"ask","when":{"path":"error.code","equals":"declined"},
           "recovery":"undo"},
          {"from":"pay","on":"error","to":"late"},{"from":"ask","to":"complete"},
          {"from":"ask","on":"error","to":"fail"},{"from":"late","to":"complete"}])"));
  story.start();
  story.fail("pay");
  EXPECT_EQ(text_of(story, true),
            R"({"run_id":"00000000-0000-0000-0000-000000000001","workflow":"order",)"
            R"("version":"1","source":"definition","status":"running","terminal":false,)"
            R"("current":["ask"],"nodes":[{"id":"pay","kind":"handler","action":"pay",)"
            R"("status":"failed","current":false,"attempts":1,"visits":1,"input":{"order":7},)"
            R"("error":{"code":"declined"}},)"
            R"({"id":"ask","kind":"handler","action":"ask","status":"pending","current":true,)"
            R"("attempts":1,"visits":1,"input":{"order":7,"error":{"code":"declined"}}},)"
            R"({"id":"late","kind":"handler","action":"late","status":"waiting",)"
            R"("current":false,"attempts":0,"visits":0},)"
            R"({"id":"thank","kind":"handler","action":"thank","status":"waiting",)"
            R"("current":false,"attempts":0,"visits":0}],"edges":[{"id":"pay:ok:thank",)"
            R"("from":"pay","to":"thank","type":"transition","on":"ok","status":"skipped"},)"
            R"({"id":"pay:error:ask:condition:0","from":"pay","to":"ask","type":"transition",)"
            R"("on":"error","status":"selected","condition":{"equals":"declined",)"
            R"("path":"error.code"},"recovery":"undo"},)"
            R"({"id":"pay:error:late","from":"pay","to":"late","type":"transition",)"
            R"("on":"error","status":"skipped"},)"
            R"({"id":"ask:ok:complete","from":"ask","to":"complete","type":"transition",)"
            R"("on":"ok","status":"pending"},)"
            R"({"id":"ask:error:fail","from":"ask","to":"fail","type":"transition",)"
            R"("on":"error","status":"pending"},)"
            R"({"id":"late:ok:complete","from":"late","to":"complete","type":"transition",)"
            R"("on":"ok","status":"blocked"}],"children":[]})");
}

TEST(RunGraph, items_are_counted_in_the_node_of_their_step) {
  RunStory story(
      R"([{"name":"mail","for_each":{"items":[1,2,3,4,5],"concurrency":3,"on_error":"collect"},
                      "retry":{"max_attempts":2}},{"name":"last","after":["mail"]}])");
  story.start();
  story.complete("mail[0]", "0");
  story.fail("mail[1]");
  story.fail("mail[1]");
  story.claim("mail[2]");
  EXPECT_EQ(text_of(story),
            R"({"run_id":"00000000-0000-0000-0000-000000000001","workflow":"order",)"
            R"("version":"1","source":"definition","status":"running","terminal":false,)"
            R"("current":["mail"],"nodes":[{"id":"mail","kind":"handler","action":"mail",)"
            R"("status":"running","current":true,"attempts":2,"visits":1,"items":{"total":5,)"
            R"("done":1,"failed":1,"running":1}},)"
            R"({"id":"last","kind":"handler","action":"last","status":"waiting",)"
            R"("current":false,"attempts":0,"visits":0}],)"
            R"("edges":[{"id":"mail:dependency:last","from":"mail","to":"last",)"
            R"("type":"dependency","status":"pending"}],"children":[]})");
  const std::string dot = to_dot(graph_of(story));
  EXPECT_NE(dot.find("running 1/5, 1 failed"), std::string::npos) << dot;
}

TEST(RunGraph, a_diamond_waits_for_both_sides) {
  RunStory story(kDiamond);
  story.start();
  story.complete("charge");
  story.complete("ship");
  EXPECT_EQ(text_of(story),
            R"({"run_id":"00000000-0000-0000-0000-000000000001","workflow":"order",)"
            R"("version":"1","source":"definition","status":"running","terminal":false,)"
            R"("current":["bill"],"nodes":[{"id":"charge","kind":"handler","action":"charge",)"
            R"("status":"completed","current":false,"attempts":1,"visits":1},)"
            R"({"id":"ship","kind":"handler","action":"ship","status":"completed",)"
            R"("current":false,"attempts":1,"visits":1},)"
            R"({"id":"bill","kind":"handler","action":"bill","status":"pending",)"
            R"("current":true,"attempts":1,"visits":1},)"
            R"({"id":"thank","kind":"handler","action":"thank","status":"waiting",)"
            R"("current":false,"attempts":0,"visits":0}],)"
            R"("edges":[{"id":"charge:dependency:ship","from":"charge","to":"ship",)"
            R"("type":"dependency","status":"selected"},)"
            R"({"id":"charge:dependency:bill","from":"charge","to":"bill",)"
            R"("type":"dependency","status":"selected"},)"
            R"({"id":"ship:dependency:thank","from":"ship","to":"thank","type":"dependency",)"
            R"("status":"selected"},{"id":"bill:dependency:thank","from":"bill","to":"thank",)"
            R"("type":"dependency","status":"pending"}],"children":[]})");
}

TEST(RunGraph, an_approval_waits_for_a_decision) {
  RunStory story(
      R"([{"name":"manager","approval":{"reason":"look"},
                      "deadline":{"within":"1m","due_soon":"30s"}},
                     {"name":"act","after":["manager"]}])");
  story.start();
  story.wait(40'000);
  EXPECT_EQ(text_of(story),
            R"({"run_id":"00000000-0000-0000-0000-000000000001","workflow":"order",)"
            R"("version":"1","source":"definition","status":"paused","terminal":false,)"
            R"("current":["manager"],"nodes":[{"id":"manager","kind":"approval",)"
            R"("status":"paused","current":true,"attempts":0,"visits":1,)"
            R"("deadline":"due_soon"},{"id":"act","kind":"handler","action":"act",)"
            R"("status":"waiting","current":false,"attempts":0,"visits":0}],)"
            R"("edges":[{"id":"manager:dependency:act","from":"manager","to":"act",)"
            R"("type":"dependency","status":"pending"}],"children":[]})");
  story.resolve(ManualAction::rejected, "no");
  EXPECT_EQ(text_of(story, true),
            R"({"run_id":"00000000-0000-0000-0000-000000000001","workflow":"order",)"
            R"("version":"1","source":"definition","status":"failed","terminal":true,)"
            R"("current":[],"nodes":[{"id":"manager","kind":"approval","status":"failed",)"
            R"("current":false,"attempts":0,"visits":1,"deadline":"due_soon","input":{},)"
            R"("error":{"code":"rejected","message":"step manager was rejected by ann",)"
            R"("comment":"no","step":"manager","retryable":false}},)"
            R"({"id":"act","kind":"handler","action":"act","status":"abandoned",)"
            R"("current":false,"attempts":0,"visits":0}],)"
            R"("edges":[{"id":"manager:dependency:act","from":"manager","to":"act",)"
            R"("type":"dependency","status":"skipped"}],"children":[]})");
}

TEST(RunGraph, without_a_definition_there_is_what_happened) {
  RunStory story(flow(
      R"([{"name":"check"},{"name":"rest","wait":"5s"},{"name":"never"},
                          {"name":"ok","pause":true}])",
      R"([{"from":"check","to":"never","when":{"path":"x","equals":1}},
                          {"from":"check","to":"rest"},
                          {"from":"rest","to":"ok"},{"from":"never","to":"ok"}])"));
  story.start();
  story.complete("check");
  story.note(story.test.fire(story.test.key("rest")));
  EXPECT_EQ(text_of_facts(story),
            R"({"run_id":"00000000-0000-0000-0000-000000000001","workflow":"order",)"
            R"("version":"1","source":"facts","status":"paused","terminal":false,)"
            R"("current":["ok"],"nodes":[{"id":"check","kind":"handler","action":"check",)"
            R"("status":"completed","current":false,"attempts":1,"visits":1},)"
            R"({"id":"rest","kind":"wait","status":"completed","current":false,"attempts":1,)"
            R"("visits":1},{"id":"ok","kind":"pause","status":"paused","current":true,)"
            R"("attempts":0,"visits":1}],"edges":[{"id":"check:ok:rest","from":"check",)"
            R"("to":"rest","type":"transition","on":"ok","status":"selected"},)"
            R"({"id":"rest:ok:ok","from":"rest","to":"ok","type":"transition","on":"ok",)"
            R"("status":"selected"}],"children":[]})");
}

TEST(RunGraph, visits_are_folded_into_the_node_of_their_step) {
  RunStory story(flow(R"([{"name":"poll"},{"name":"rest","wait":"5s"}])",
                      R"([{"from":"poll","to":"complete","when":{"path":"done","equals":true}},
                          {"from":"poll","to":"rest"},{"from":"rest","to":"poll"}])",
                      R"("entry":"poll")"));
  story.start();
  story.complete("poll");
  story.note(story.test.fire(story.test.key("rest")));
  EXPECT_EQ(text_of(story),
            R"({"run_id":"00000000-0000-0000-0000-000000000001","workflow":"order",)"
            R"("version":"1","source":"definition","status":"running","terminal":false,)"
            R"("current":["poll"],"nodes":[{"id":"poll","kind":"handler","action":"poll",)"
            R"("status":"pending","current":true,"attempts":1,"visits":2},)"
            R"({"id":"rest","kind":"wait","status":"completed","current":false,"attempts":1,)"
            R"("visits":1}],"edges":[{"id":"poll:ok:complete:condition:0","from":"poll",)"
            R"("to":"complete","type":"transition","on":"ok","status":"pending",)"
            R"("condition":{"equals":true,"path":"done"}},)"
            R"({"id":"poll:ok:rest","from":"poll","to":"rest","type":"transition","on":"ok",)"
            R"("status":"selected"},{"id":"rest:ok:poll","from":"rest","to":"poll",)"
            R"("type":"transition","on":"ok","status":"selected"}],"children":[]})");
  story.complete("poll@2", R"({"done":true})");
  EXPECT_EQ(text_of(story),
            R"({"run_id":"00000000-0000-0000-0000-000000000001","workflow":"order",)"
            R"("version":"1","source":"definition","status":"completed","terminal":true,)"
            R"("current":[],"nodes":[{"id":"poll","kind":"handler","action":"poll",)"
            R"("status":"completed","current":false,"attempts":1,"visits":2},)"
            R"({"id":"rest","kind":"wait","status":"completed","current":false,"attempts":1,)"
            R"("visits":1}],"edges":[{"id":"poll:ok:complete:condition:0","from":"poll",)"
            R"("to":"complete","type":"transition","on":"ok","status":"selected",)"
            R"("condition":{"equals":true,"path":"done"}},)"
            R"({"id":"poll:ok:rest","from":"poll","to":"rest","type":"transition","on":"ok",)"
            R"("status":"selected"},{"id":"rest:ok:poll","from":"rest","to":"poll",)"
            R"("type":"transition","on":"ok","status":"selected"}],"children":[]})");
}

TEST(RunGraph, compensations_are_nodes_of_their_own) {
  RunStory story(R"([{"name":"book","compensate":"unbook"},{"name":"pay","after":["book"]},
                     {"name":"ship","after":["pay"]}])");
  story.start();
  story.complete("book");
  story.fail("pay");
  story.claim("compensate:book");
  EXPECT_EQ(text_of(story),
            R"({"run_id":"00000000-0000-0000-0000-000000000001","workflow":"order",)"
            R"("version":"1","source":"definition","status":"compensating","terminal":false,)"
            R"("current":["compensate:book"],"nodes":[{"id":"book","kind":"handler",)"
            R"("action":"book","status":"completed","current":false,"attempts":1,"visits":1},)"
            R"({"id":"pay","kind":"handler","action":"pay","status":"failed","current":false,)"
            R"("attempts":1,"visits":1},{"id":"ship","kind":"handler","action":"ship",)"
            R"("status":"waiting","current":false,"attempts":0,"visits":0},)"
            R"({"id":"compensate:book","kind":"compensation","action":"unbook",)"
            R"("status":"running","current":true,"attempts":1,"visits":1}],)"
            R"("edges":[{"id":"book:dependency:pay","from":"book","to":"pay",)"
            R"("type":"dependency","status":"selected"},)"
            R"({"id":"pay:dependency:ship","from":"pay","to":"ship","type":"dependency",)"
            R"("status":"skipped"},{"id":"book:dependency:compensate:book","from":"book",)"
            R"("to":"compensate:book","type":"dependency","status":"selected",)"
            R"("recovery":"compensation"}],"children":[]})");
}

TEST(RunGraph, children_and_the_successor_are_named) {
  RunStory story(R"([{"name":"send","child":"parcel"}])");
  story.test.around.workflows.emplace("parcel", parcel());
  story.start();
  EXPECT_EQ(text_of(story),
            R"({"run_id":"00000000-0000-0000-0000-000000000001","workflow":"order",)"
            R"("version":"1","source":"definition","status":"running","terminal":false,)"
            R"("current":["send"],"nodes":[{"id":"send","kind":"child","action":"parcel",)"
            R"("status":"running","current":true,"attempts":1,"visits":1}],"edges":[],)"
            R"("children":[{"run_id":"0d968dde-a9aa-5548-b8bb-a7ce64af9719",)"
            R"("workflow":"parcel","step":"send","awaited":true}]})");
  RunStory pages(R"([{"name":"page"}])");
  pages.start();
  pages.complete("page", "{}", R"({"continue_as_new":{"key":"k","input":{}}})");
  EXPECT_EQ(text_of(pages),
            R"({"run_id":"00000000-0000-0000-0000-000000000001","workflow":"order",)"
            R"("version":"1","source":"definition","status":"continued","terminal":true,)"
            R"("current":[],"nodes":[{"id":"page","kind":"handler","action":"page",)"
            R"("status":"completed","current":false,"attempts":1,"visits":1}],"edges":[],)"
            R"("children":[],"continued_as":"6dd3bbe6-e8bc-54dd-b93a-fdbfcbd81607"})");
}

TEST(RunGraph, a_definition_that_nothing_runs_waits) {
  const auto definition = flow(R"([{"name":"paid","await_event":
                                    {"event":"p","timeout":"5s","on_timeout":"remind"}},
                                   {"name":"remind",
                                 "http":{"method":"GET","url":"http://x/","allowed_hosts":["x"]}},
                                   {"name":"ship","exec":["true"]}])",
                               R"([{"from":"paid","to":"ship"}])");
  EXPECT_EQ(std::string(to_json(definition_graph(*definition), true).view()),
            R"({"workflow":"order","version":"1","source":"definition","terminal":false,)"
            R"("current":[],"nodes":[{"id":"paid","kind":"await_event","status":"waiting",)"
            R"("current":false,"attempts":0,"visits":0},)"
            R"({"id":"remind","kind":"http","action":"http","status":"waiting",)"
            R"("current":false,"attempts":0,"visits":0},)"
            R"({"id":"ship","kind":"exec","action":"exec","status":"waiting",)"
            R"("current":false,"attempts":0,"visits":0}],"edges":[{"id":"paid:ok:ship",)"
            R"("from":"paid","to":"ship","type":"transition","on":"ok","status":"blocked"},)"
            R"({"id":"paid:timeout:remind","from":"paid","to":"remind","type":"transition",)"
            R"("on":"timeout","status":"blocked"}],"children":[]})");
}

std::string status_of(const RunStory& story, std::string_view id) {
  for (const GraphNode& node : graph_of(story).nodes) {
    if (node.id == id) {
      return node.status;
    }
  }
  return "no such node";
}

TEST(RunGraph, what_is_to_begin_later_is_deferred_and_what_failed_before_is_retrying) {
  RunStory story(R"([{"name":"pay","retry":{"max_attempts":2,"delay":"2s"}},
                     {"name":"rest","wait":"9s"},
                     {"name":"send","child":"parcel","retry":{"max_attempts":2,"delay":"2s"}}])");
  story.test.around.workflows.emplace("parcel", parcel());
  story.start();
  EXPECT_EQ(status_of(story, "rest"), "deferred");
  story.fail("pay");
  EXPECT_EQ(status_of(story, "pay"), "retrying");
  story.note(story.test.child_ended(
      story.test.key("send"), {run_no(9), TerminalStatus::failed, {}, json(R"({"code":"x"})")}));
  EXPECT_EQ(status_of(story, "send"), "retrying");
  story.wait(2000);
  EXPECT_EQ(status_of(story, "pay"), "retrying") << "no worker has claimed it";
  story.claim("pay");
  EXPECT_EQ(status_of(story, "pay"), "running");
}

TEST(RunGraph, the_failure_of_an_item_is_the_failure_of_its_step) {
  RunStory story(R"([{"name":"mail","for_each":[1,2]},{"name":"last","after":["mail"]}])");
  story.start();
  story.fail("mail[1]");
  EXPECT_EQ(status_of(story, "mail"), "failed");
  EXPECT_EQ(status_of(story, "last"), "abandoned");
}

RunGraph drawn() {
  RunStory story(flow(R"([{"name":"pay","retry":{"max_attempts":2}},{"name":"ask","pause":true}])",
                      R"([{"from":"pay","to":"complete"},{"from":"pay","on":"error","to":"ask",
           "when":{"path":"error.text","equals":"say \"no\"\nand > 1"},"recovery":"undo"},
          {"from":"pay","on":"error","to":"fail"},{"from":"ask","to":"complete"}])"));
  story.start();
  story.fail("pay");
  story.fail("pay", R"({"text":"say \"no\"\nand > 1"})");
  return graph_of(story);
}

TEST(RunGraph, added_steps_and_edges_say_where_they_come_from) {
  RunStory story(R"([{"name":"plan"}])");
  story.start();
  story.complete("plan", "{}",
                 R"({"graph":{"mutation_id":"m","additions":[)"
                 R"({"kind":"node","id":"one","handler":"h"},)"
                 R"({"kind":"node","id":"two","handler":"h"},)"
                 R"({"kind":"edge","id":"e","from":"one","to":"two"}]}})");
  MutateGraph more;
  more.mutation_id = "n";
  more.additions.resize(1);
  more.additions[0].id = "three";
  more.additions[0].handler = "h";
  more.source.source = "cli";
  more.source.actor = "ann";
  story.note(story.test.put(
      [&](RunProjection& run) { return decide_mutate_graph(run, more, story.test.now); }));
  const RunGraph graph = graph_of(story);
  EXPECT_EQ(graph.graph_version, 2U);
  std::map<std::string, std::string> origins;
  for (const GraphNode& node : graph.nodes) {
    origins[node.id] =
        !node.added_by.has_value()
            ? ""
            : node.added_by->mutation_id + " " + node.added_by->step + " " + node.added_by->actor;
  }
  EXPECT_EQ(origins,
            (std::map<std::string, std::string>{
                {"one", "m plan "}, {"plan", ""}, {"three", "n  ann"}, {"two", "m plan "}}));
  ASSERT_EQ(graph.edges.size(), 1U);
  EXPECT_EQ(graph.edges[0].added_by->version, 1U);
  EXPECT_NE(text_of(story).find(R"("added_by":{"mutation_id":"n","version":2,"actor":"ann"})"),
            std::string::npos);
}

TEST(RunGraph, graphviz_can_draw_it) {
  EXPECT_EQ(to_dot(drawn()),
            R"~(digraph "order" {)~"
            "\n"
            R"~(  rankdir=TB;)~"
            "\n"
            R"~(  node [fontname="sans-serif", style=filled];)~"
            "\n"
            R"~(  edge [fontname="sans-serif", fontsize=10];)~"
            "\n"
            R"~(  "pay" [label="pay\nfailed, attempt 2", shape=box, fillcolor="#ffcdd2",)~"
            R"~( color="#d32f2f"];)~"
            "\n"
            R"~(  "ask" [label="ask\npaused", shape=octagon, fillcolor="#fff9c4",)~"
            R"~( color="#fbc02d", penwidth=2];)~"
            "\n"
            R"~(  "complete" [shape=doublecircle, fillcolor="#ffffff"];)~"
            "\n"
            R"~(  "fail" [shape=diamond, fillcolor="#ffffff"];)~"
            "\n"
            R"~(  "pay" -> "complete" [label="ok", color="#bdbdbd", style=dashed];)~"
            "\n"
            R"~(  "pay" -> "ask" [label="error {\"equals\":\"say \\\"no\\\"\\nand > 1\",)~"
            R"~(\"path\":\"error.text\"} (undo)", color="#388e3c", penwidth=2];)~"
            "\n"
            R"~(  "pay" -> "fail" [label="error", color="#bdbdbd", style=dashed];)~"
            "\n"
            R"~(  "ask" -> "complete" [label="ok", color="#1976d2"];)~"
            "\n"
            R"~(})~"
            "\n");
}

TEST(RunGraph, mermaid_can_draw_it) {
  EXPECT_EQ(to_mermaid(drawn()),
            R"(flowchart TD)"
            "\n"
            R"(  n0["pay<br/>failed, attempt 2"]:::failed)"
            "\n"
            R"(  n1{{"ask<br/>paused"}}:::paused)"
            "\n"
            R"(  n2(("complete")))"
            "\n"
            R"(  n3(("fail")))"
            "\n"
            R"(  n0 -.->|"ok"| n2)"
            "\n"
            R"(  n0 ==>|"error #123;#34;equals#34;:#34;say #92;#34;no#92;#34;#92;nand #62)"
            R"(; 1#34;,#34;path#34;:#34;error.text#34;#125; #40;undo#41;"| n1)"
            "\n"
            R"(  n0 -.->|"error"| n3)"
            "\n"
            R"(  n1 -->|"ok"| n2)"
            "\n"
            R"(  classDef paused fill:#fff9c4,stroke:#fbc02d)"
            "\n"
            R"(  classDef failed fill:#ffcdd2,stroke:#d32f2f)"
            "\n");
}

TEST(RunGraph, awkward_names_cannot_break_a_drawing) {
  RunGraph graph;
  graph.workflow = "a \"b\"";
  graph.nodes.resize(2);
  graph.nodes[0].id = "end\\";
  graph.nodes[0].status = "odd";
  graph.nodes[1].id = "x\"]; y\n<b>#1;`";
  graph.nodes[1].kind = NodeKind::child;
  graph.nodes[1].status = "completed";
  graph.edges.push_back({"e", "end\\", "x\"]; y\n<b>#1;`", std::nullopt, "skipped"});
  EXPECT_EQ(to_dot(graph), R"(digraph "a \"b\"" {)"
                           "\n"
                           R"(  rankdir=TB;)"
                           "\n"
                           R"(  node [fontname="sans-serif", style=filled];)"
                           "\n"
                           R"(  edge [fontname="sans-serif", fontsize=10];)"
                           "\n"
                           R"(  "end\\" [label="end\\\nodd", shape=box, fillcolor="#f5f5f5",)"
                           R"( color="#9e9e9e"];)"
                           "\n"
                           R"(  "x\"]; y\n<b>#1;`" [label="x\"]; y\n<b>#1;`\ncompleted",)"
                           R"( shape=component, fillcolor="#c8e6c9", color="#388e3c"];)"
                           "\n"
                           R"(  "end\\" -> "x\"]; y\n<b>#1;`" [color="#bdbdbd", style=dashed];)"
                           "\n"
                           R"(})"
                           "\n");
  EXPECT_EQ(to_mermaid(graph),
            R"(flowchart TD
  n0["end#92;<br/>odd"]:::waiting
  n1[["x#34;#93;#59; y<br/>#60;b#62;#35;1#59;#96;<br/>completed"]]:::completed
  n0 -.-> n1
  classDef waiting fill:#f5f5f5,stroke:#9e9e9e
  classDef completed fill:#c8e6c9,stroke:#388e3c
)");
}

}  // namespace
}  // namespace holdfast::run_graph_test

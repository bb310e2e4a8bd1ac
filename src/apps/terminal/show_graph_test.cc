#include <algorithm>

#include "apps/terminal/show.h"
#include "tests/support/marked.h"
#include "tests/support/run_story.h"

namespace holdfast::show_graph_test {
namespace {

RunGraph graph_of(const RunStory& story) {
  return run_graph({story.test.run.get(), {&story.queue}, Position{1}, story.test.now});
}

constexpr std::string_view kParallel =
    R"([{"name":"reserve"},{"name":"charge","after":["reserve"],"retry":{"max_attempts":3}},
        {"name":"mail","after":["reserve"],"for_each":{"items":[1,2,3],"on_error":"collect"}},
        {"name":"ship","after":["charge","mail"]},{"name":"thank","after":["ship"]}])";

std::string parallel(const Style& style) {
  RunStory story(kParallel);
  story.start();
  story.complete("reserve");
  story.fail("charge");
  story.complete("mail[0]", "0");
  story.fail("mail[1]");
  return show_graph(graph_of(story), style);
}

TEST(ShowGraph, a_tree_with_a_join_that_is_drawn_once) {
  EXPECT_EQ("\n" + parallel({}), R"(
order version 1  running
run 00000000-0000-0000-0000-000000000001

reserve         completed
├─ charge *     retrying   2 attempts
│  └─ ship      waiting    joins 2
│     └─ thank  waiting
└─ mail *       running    1/3 items, 1 failed  -> ship (above)

* current step
)");
}

TEST(ShowGraph, colours_say_what_words_say) {
  EXPECT_EQ("\n" + marked(parallel({.colour = true})), R"(
{1}order{} version 1  {34}running{}
run 00000000-0000-0000-0000-000000000001

reserve         {32}completed{}
├─ {1}charge *{}     {33}retrying{}   2 attempts
│  └─ ship      {2}waiting{}    joins 2
│     └─ thank  {2}waiting{}
└─ {1}mail *{}       {34}running{}    1/3 items, 1 failed  -> ship (above)

{2}* current step{}
)");
}

TEST(ShowGraph, routes_have_labels_and_say_which_was_taken) {
  RunStory story(flow(R"([{"name":"pay"},{"name":"ask"},{"name":"late"},{"name":"thank"}])",
                      R"([{"from":"pay","to":"thank"},
          {"from":"pay","on":"error","to":"ask","when":{"path":"error.code","equals":"declined"},
           "recovery":"undo"},
          {"from":"pay","on":"error","to":"late"},{"from":"ask","to":"complete"},
          {"from":"ask","on":"error","to":"fail"},{"from":"late","to":"complete"}])"));
  story.start();
  story.fail("pay");
  EXPECT_EQ("\n" + show_graph(graph_of(story), {}), R"(
order version 1  running
run 00000000-0000-0000-0000-000000000001

pay             failed
├─ error when {"equals":"declined","path":"error.cod.. (undo): ask *  pending
│  ├─ ok: -> complete
│  └─ error: -> fail
├─ ok: thank    waiting  route skipped
└─ error: late  waiting  route skipped  ok -> complete

* current step
)");
}

TEST(ShowGraph, a_loop_ends_where_it_began) {
  RunStory story(flow(R"([{"name":"poll"},{"name":"rest","wait":"5s"}])",
                      R"([{"from":"poll","to":"complete","when":{"path":"done","equals":true}},
                          {"from":"poll","to":"rest"},{"from":"rest","to":"poll"}])",
                      R"("entry":"poll")"));
  story.start();
  story.complete("poll");
  story.note(story.test.fire(story.test.key("rest")));
  EXPECT_EQ("\n" + show_graph(graph_of(story), {}), R"(
order version 1  running
run 00000000-0000-0000-0000-000000000001

poll *       pending    2 visits
├─ ok when {"equals":true,"path":"done"}: -> complete
└─ ok: rest  completed  ok -> poll (above), taken

* current step
)");
}

TEST(ShowGraph, compensations_stand_at_the_end) {
  RunStory story(R"([{"name":"book","compensate":"unbook"},{"name":"pay","after":["book"]}])");
  story.start();
  story.complete("book");
  story.fail("pay");
  EXPECT_EQ("\n" + show_graph(graph_of(story), {}), R"(
order version 1  compensating
run 00000000-0000-0000-0000-000000000001

book    completed
└─ pay  failed

Compensation:
  compensate:book *  pending

* current step
)");
}

TEST(ShowGraph, children_are_listed_with_their_ids) {
  RunStory story(R"([{"name":"send","child":"parcel"}])");
  story.test.around.workflows.emplace("parcel",
                                      parsed(R"({"workflow":"parcel","steps":[{"name":"one"}]})"));
  story.start();
  EXPECT_EQ("\n" + show_graph(graph_of(story), {}), R"(
order version 1  running
run 00000000-0000-0000-0000-000000000001

send *  running

Children:
  0d968dde-a9aa-5548-b8bb-a7ce64af9719  parcel, of step send

* current step
)");
}

RunGraph made_of(std::size_t steps) {
  RunGraph graph;
  graph.workflow = "order";
  graph.source = "definition";
  for (std::size_t i = 0; i < steps; ++i) {
    GraphNode& node = graph.nodes.emplace_back();
    node.id = "s" + std::to_string(i);
    node.status = "waiting";
  }
  return graph;
}

void join(RunGraph& graph, const std::string& from, const std::string& to) {
  GraphEdge& edge = graph.edges.emplace_back();
  edge.from = from;
  edge.to = to;
}

TEST(ShowGraph, a_join_of_a_hundred_takes_a_line_for_each) {
  RunGraph graph = made_of(101);
  for (int i = 0; i < 100; ++i) {
    join(graph, "s" + std::to_string(i), "s100");
  }
  const std::string text = show_graph(graph, {});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 103);
  EXPECT_EQ("\n" + text.substr(0, 140), R"(
order

s0       waiting
└─ s100  waiting  joins 100
s1       waiting  -> s100 (above)
s2       waiting  -> s100 (above)
s3       waiting)");
}

TEST(ShowGraph, a_long_chain_continues_at_the_left) {
  RunGraph graph = made_of(10);
  for (int i = 0; i < 9; ++i) {
    join(graph, "s" + std::to_string(i), "s" + std::to_string(i + 1));
  }
  EXPECT_EQ("\n" + show_graph(graph, {.width = 40}), R"(
order

s0              waiting
└─ s1           waiting
   └─ s2        waiting
      └─ s3     waiting
         └─ s4  waiting
            └─ -> s5 (below)
s5              waiting
└─ s6           waiting
   └─ s7        waiting
      └─ s8     waiting
         └─ s9  waiting
)");
}

TEST(ShowGraph, ten_thousand_steps_in_a_row_are_drawn) {
  RunGraph graph = made_of(10'000);
  for (int i = 0; i < 9'999; ++i) {
    join(graph, "s" + std::to_string(i), "s" + std::to_string(i + 1));
  }
  const std::string text = show_graph(graph, {});
  EXPECT_NE(text.find("s9999  "), std::string::npos);
}

TEST(ShowGraph, no_steps_is_said) {
  RunGraph graph;
  graph.workflow = "order";
  EXPECT_EQ(show_graph(graph, {}), "order\n\nNo steps.\n");
}

}  // namespace
}  // namespace holdfast::show_graph_test

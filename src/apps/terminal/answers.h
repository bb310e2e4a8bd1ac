// Answers: every question about a store, answered in the form that somebody wants: JSON, or text
// for people. The command line and the server answer with the same words because both ask here.
//
// Every answer ends with a newline. Each reads the journal alone, in the thread that asks.
#pragma once

#include <string>
#include <string_view>

#include "apps/terminal/show_workflows.h"
#include "apps/terminal/terminal_style.h"
#include "runs/inspect/inspector.h"

namespace holdfast {

enum class GraphForm : std::uint8_t { tree, dot, mermaid };

// With a space in front of the suffix of commands, if there is one.
Style with_space(Style style);

class Answers {
 public:
  // Both must outlive it. The style is of texts; a suffix of commands that has no space in front,
  // as it comes out of a header, gets one.
  Answers(Journal& journal, Clock& clock, Form form, Style style = {})
      : journal_(journal),
        inspector_(journal, clock),
        form_(form),
        style_(with_space(std::move(style))) {}

  // Pages that a filter leaves empty are passed over.
  Result<std::string> list(RunListQuery query, const At& at);
  Result<std::string> run(const RunId& run, const At& at);
  Result<std::string> explain(const RunId& run, const At& at);
  // history: with JSON, also the input and output of each step.
  struct GraphWish {
    GraphForm form = GraphForm::tree;
    bool history = false;
  };
  Result<std::string> graph(const RunId& run, const At& at, const GraphWish& wish);
  // events: with text, a line for everything that happened.
  enum class TimelineForm : std::uint8_t { bars, events };
  Result<std::string> timeline(const RunId& run, const At& at, TimelineForm form);
  Result<std::string> diff(const RunId& run, const At& from, const At& to);
  Result<std::string> status(const At& at);
  struct Diagnosed {
    std::string text;
    bool fault = false;  // something is not as it must be
  };
  Result<Diagnosed> doctor(const At& at);

  // Names as Inspector::workflow takes them.
  Result<std::string> workflows();
  Result<std::string> workflow(std::string_view name);
  Result<std::string> workflow_versions(std::string_view name);
  Result<std::string> workflow_diff(std::string_view before, std::string_view after);

  Inspector& inspector() { return inspector_; }

 private:
  Journal& journal_;
  Inspector inspector_;
  Form form_;
  Style style_;
};

// Of a graph that is not of a store.
std::string graph_answer(const RunGraph& graph, const Answers::GraphWish& wish, Form form,
                         const Style& style);

// What a command on a run did, and what the run does since: `did` goes on after "run ID ". `before`
// is a position before the command: what log steps have said since is told.
Result<std::string> show_steered(Answers& answers, const RunId& run, std::string_view did,
                                 Position before, const Explanation& why, const Style& style);
// What was done, in the words of show_steered.
inline constexpr std::string_view kCancelDeed = "received the cancel command";
inline constexpr std::string_view kResumeDeed = "is resumed";
std::string event_deed(std::string_view event);
std::string approval_deed(std::string_view actor);
std::string rejection_deed(std::string_view actor);

}  // namespace holdfast

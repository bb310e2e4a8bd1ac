// Views as text for people: the same facts as the JSON, in lines that end with a newline. Nothing
// in the text can change a terminal except colour, which only a style with colour contains.
#pragma once

#include <string>
#include <vector>

#include "apps/terminal/terminal_style.h"
#include "runs/inspect/doctor.h"
#include "runs/inspect/inspector.h"
#include "runs/inspect/run_list.h"
#include "runs/inspect/run_queries.h"
#include "runs/inspect/store_status.h"
#include "runs/view/explanation.h"
#include "runs/view/json_diff.h"
#include "runs/view/run_graph.h"
#include "runs/view/run_source.h"
#include "runs/view/timeline.h"

namespace holdfast {

// One run at a glance: what it is, how far each step is, what it waits for, its outcome.
std::string show_run(const RunSource& source, const Explanation& why, const Style& style);
// The sentence, the tree of causes, what to do next.
std::string show_explanation(const Explanation& why, const Style& style);
// The steps as a tree: what follows what, with the status of each.
std::string show_graph(const RunGraph& graph, const Style& style);
// A bar per attempt on a common scale.
std::string show_timeline(const Timeline& timeline, const Style& style);
// When it was, counted from the start of the run and by the clock (UTC), where, what.
std::string show_event(const TimelineEvent& event, TimeMs started_at, const Style& style);
// A table, newest or oldest first as it comes; and how to get the next page.
std::string show_list(const RunRows& page, TimeMs now, const Style& style);
std::string show_status(const StoreStatus& status, const Style& style);
std::string show_diagnosis(const Diagnosis& diagnosis, const Style& style);
std::string show_changes(const std::vector<JsonChange>& changes, const Style& style);
std::string show_workflows(const std::vector<KnownWorkflow>& workflows);
// Its steps, and the versions that the store has of it.
std::string show_workflow(const WorkflowView& view, const Style& style);
std::string show_workflow_diff(const WorkflowDiffView& view, const Style& style);

}  // namespace holdfast

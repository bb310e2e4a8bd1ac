// What a terminal shows while a command waits for a run: a line per step, redrawn as the run
// advances.
#pragma once

#include <string>
#include <vector>

#include "apps/terminal/terminal_style.h"
#include "runs/view/explanation.h"
#include "runs/view/run_graph.h"
#include "runs/view/timeline.h"

namespace holdfast {

struct LivePicture {
  const RunGraph& graph;
  const std::vector<TimelineBar>& bars;
  const Explanation& why;
};

// At most `height` lines, none longer than the style is wide: the steps (if there
// are too many, those that have ended are folded first), then what the run waits for and which
// actions would continue it.
std::vector<std::string> live_lines(const LivePicture& picture, const Style& style,
                                    std::size_t height);

}  // namespace holdfast

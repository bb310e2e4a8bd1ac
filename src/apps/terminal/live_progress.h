// What somebody sees who waits for a run at a terminal: a line per step, redrawn as it goes on.
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

// At most `height` lines, none longer than the style is wide: the steps, those that are over
// first folded together when there are too many; then what is waited for and how to go on.
std::vector<std::string> live_lines(const LivePicture& picture, const Style& style,
                                    std::size_t height);

}  // namespace holdfast

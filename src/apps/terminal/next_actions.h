// What to do next, as several texts end with it.
#pragma once

#include <string>
#include <vector>

#include "apps/terminal/terminal_style.h"
#include "runs/view/explanation.h"

namespace holdfast {

// Those of the explanation, then those of its causes; what is the same comes once.
std::vector<NextAction> all_next_actions(const Explanation& why);
// "What to do next:" and what it is; empty when there is nothing. `without`: a command that brought
// the reader here.
std::string show_next_actions(const std::vector<NextAction>& actions, TimeMs now,
                              const Style& style, std::string_view without = {});

}  // namespace holdfast

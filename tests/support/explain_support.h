// For tests of explanations: an explanation as lines of text.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runs/view/explanation.h"

namespace holdfast {

using Lines = std::vector<std::string>;

inline std::string lines_of(const NextAction& action) {
  return fmt::format("> {}: {}{}{}", action.action, action.summary,
                     action.command.empty() ? "" : " $ " + action.command,
                     action.at.has_value() ? fmt::format(" @ {}", action.at->value) : "");
}

// "attempt_visible at charge, worker since 1000 until 6000", the summary, "> action: summary".
inline Lines lines_of(const Cause& cause) {
  const auto time = [](std::string_view name, const std::optional<TimeMs>& at) {
    return at.has_value() ? fmt::format(" {} {}", name, at->value) : std::string();
  };
  Lines lines{fmt::format("{}{}, {}{}{}", to_text(cause.reason),
                          cause.step.empty() ? "" : " at " + cause.step, cause.waits_for,
                          time("since", cause.since), time("until", cause.until)),
              cause.summary};
  for (const NextAction& action : cause.next_actions) {
    lines.push_back(lines_of(action));
  }
  return lines;
}

// The explanation of a run is that of its main cause.
inline Lines lines_of(const Explanation& why) {
  const Cause* cause = main_cause(why);
  if (cause == nullptr) {
    ADD_FAILURE() << "no cause";
    return {};
  }
  Lines lines = lines_of(*cause);
  EXPECT_EQ(why.reason, cause->reason);
  EXPECT_EQ(why.step, cause->step);
  EXPECT_TRUE(why.summary.ends_with(cause->summary)) << why.summary;
  EXPECT_EQ(why.next_actions.size(), cause->next_actions.size());
  lines[1] = why.summary;
  return lines;
}

}  // namespace holdfast

// Kinds of entries that earlier versions could write and that no longer have a meaning. A journal
// may contain them: they count in the revision of their thread, change nothing and are not an
// anomaly. A retired kind is never used again.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace holdfast {

inline constexpr std::string_view kRetiredDynamicWork = "dynamic_work_recorded";

inline constexpr std::array kRetiredKinds{
    kRetiredDynamicWork,
    std::string_view("run_continuation_fenced"),
    std::string_view("run_continuation_repaired"),
    std::string_view("run_continuation_aborted"),
};

constexpr bool is_retired_kind(std::string_view kind) {
  return std::find(kRetiredKinds.begin(), kRetiredKinds.end(), kind) != kRetiredKinds.end();
}

}  // namespace holdfast

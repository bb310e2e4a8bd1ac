// Views (runs/inspect/run_queries.h) and the results of commands as text. Each text ends with a
// line break.
#pragma once

#include <string>
#include <string_view>

#include "apps/terminal/terminal_style.h"
#include "runs/inspect/run_queries.h"

namespace holdfast {

std::string show_view(const View& view, const Style& style);
// In the form that the caller wants.
inline std::string render_view(const View& view, Form form, const Style& style) {
  return form == Form::json ? view_json(view) : show_view(view, style);
}

// A suffix of commands that has no space in front, as it comes from a header, gets one.
Style with_space(Style style);

// What a command on a run did, and what the run does since. did: follows "run ID ". before: a
// position before the command; the text has what log steps wrote since.
Result<std::string> show_command_result(Inspector& inspector, const RunId& run,
                                        std::string_view did, Position before,
                                        const Explanation& why, const Style& style);
// What commands did, for show_command_result.
inline constexpr std::string_view kCancelResult = "received the cancel command";
inline constexpr std::string_view kResumeResult = "is resumed";
inline constexpr std::string_view kMigrationResult = "follows the other definition";
inline constexpr std::string_view kRetryResult = "attempts the parked step again";
inline constexpr std::string_view kDiscardResult = "has given up the step that failed";
std::string event_result(std::string_view event);
std::string mutation_result(std::string_view mutation_id);
std::string approval_result(std::string_view actor);
std::string rejection_result(std::string_view actor);

}  // namespace holdfast

// Dead letters: parked steps, and attempts that failed their run. They are found by the index of
// the live state, by queue and oldest first. A page looks at no more than kMostPerPage of them,
// whatever its filter is.
//
// The functions run inside a turn; the loop may call them again. `sees` says which workflows the
// caller may know of. Secrets in errors and inputs are redacted.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "runs/api/query_requests.h"
#include "runs/api/store_requests.h"
#include "runs/service/run_commands.h"

namespace holdfast {

using SeesWorkflow = std::function<bool(std::string_view workflow)>;
inline constexpr auto kSeesAll = [](std::string_view /*workflow*/) { return true; };

// invalid_argument when the cursor is not one.
TurnFunction<DeadLettersResponse> read_dead_letters(const DeadLettersRequest& request,
                                                    SeesWorkflow sees);

// What a bulk command selected and, beside each, how it ended; of a dry run, no outcomes.
struct DeadLetterOutcomes {
  std::vector<DeadLetter> selected;
  std::vector<Result<std::string>> outcomes;  // the run that repeats it; empty: the same run
  bool more = false;
};
// Selects and decides in one commit. A step for which the command fails does not affect the others.
// invalid_argument: the limit, or an empty filter without `all`.
Result<TurnFunction<DeadLetterOutcomes>> decide_dead_letters(RunCommands& commands,
                                                             const DeadLetterBulkRequest& request,
                                                             SeesWorkflow sees);

// problem_of: an error as the response shows it.
DeadLetterBulkResponse bulk_response(const DeadLetterBulkRequest& request,
                                     const DeadLetterOutcomes& decided,
                                     const std::function<Payload(const Error&)>& problem_of);

}  // namespace holdfast

// What every command is given.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include "apps/cli/cli_options.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/random.h"
#include "holdfast/result.h"
#include "storage/journal/journal.h"

namespace holdfast {

// Exit codes of commands that did what they were asked to.
inline constexpr int kExitBadAnswer = 1;
inline constexpr int kExitWaits = 6;
inline constexpr int kExitInterrupted = 130;

struct Context {
  Clock& clock;
  Random& random;
  std::ostream& out;  // standard output
  OutputForm form;
  int exit_code = 0;  // of a command that could be carried out

  [[nodiscard]] bool json() const { return form == OutputForm::json; }
};

// For commands that read everything. unfinished_copy as for a journal, but the batches are not
// read to open it.
Result<std::unique_ptr<Log>> open_log_to_read(const std::string& url, Context& context);

// The URL without its secrets, for messages. Must be valid.
std::string shown_url(std::string_view url);

void print_line(Context& context, std::string_view line);
// "holdfast: ..." on standard error, as errors are shown; nothing when the message is empty.
void warn(std::string_view message);
void print_json(Context& context, JsonWriter writer);

}  // namespace holdfast

// The store a command works on, and what commands on runs share.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"
#include "engine/inspector.h"
#include "holdfast/engine.h"
#include "show/style.h"

namespace holdfast {

struct NamedStore {
  std::string url;
  std::string suffix;  // what makes a command that is shown mean this store: " --store …"
};

// The option, HOLDFAST_STORE, or sqlite:holdfast.db.
NamedStore store_of(const std::string& option);

// A store that is only looked at. not_found says how to make one.
class Looker {
 public:
  static Result<Looker> open(const NamedStore& store, Context& context);

  // A whole id, a part of one, or latest. run_not_found says where to look.
  Result<RunId> find(const NamedStore& store, const std::string& run);

  Journal& journal() { return *journal_; }
  Inspector inspector() { return {*journal_, *clock_}; }

 private:
  Looker(std::unique_ptr<Journal> journal, Clock& clock)
      : journal_(std::move(journal)), clock_(&clock) {}

  std::unique_ptr<Journal> journal_;
  Clock* clock_;
};

// A store that is worked on. Without `create` it must exist.
Result<Engine> open_engine(const NamedStore& store, EngineOptions options);

// The same error; its message says what to do next, too.
Error advised(const Error& error, std::string_view advice);

// Of texts on standard output.
Style style_of(const NamedStore& store);
// A word of a shell command, quoted when it must be.
std::string shell_word(std::string_view text);

// What can be said of a start before a store is made for it. invalid_argument, invalid_trigger.
Result<void> check_start(const Definition& definition, const std::string& run_id,
                         const std::string& trigger);
// The JSON object that an argument stands for: itself, @FILE or - (standard input); {} when empty.
Result<std::string> json_argument(std::string_view field, const std::string& argument);
// {"customer":"ann","total":12} of customer=ann and total=12; empty when there are none.
Result<std::string> attributes_argument(const std::vector<std::string>& attributes);
// A time or an age, as it is now. invalid_argument.
Result<TimeMs> time_argument(std::string_view field, const std::string& text, TimeMs now);
// The whole file. not_found, permission_denied, invalid_argument (too long for a workflow).
Result<std::string> read_file_argument(const std::string& file);

}  // namespace holdfast

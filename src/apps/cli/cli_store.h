// The store a command works on, and what commands on runs share.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/cli_context.h"
#include "apps/terminal/terminal_style.h"
#include "holdfast/engine.h"
#include "runs/inspect/inspector.h"

namespace holdfast {

struct NamedStore {
  std::string url;
  std::string suffix;  // what makes a command that is shown mean this store: " --store …"
};

// The option, HOLDFAST_STORE, or sqlite:holdfast.db.
NamedStore store_of(const std::string& option);

// A store that is only looked at. not_found says how to make one.
class StoreReader {
 public:
  static Result<StoreReader> open(const NamedStore& store, Context& context);

  // A whole id, a part of one, or latest. run_not_found.
  Result<RunId> find(const std::string& run);

  Journal& journal() { return *journal_; }
  Inspector inspector() { return {*journal_, *clock_}; }

 private:
  StoreReader(std::unique_ptr<Journal> journal, Clock& clock)
      : journal_(std::move(journal)), clock_(&clock) {}

  std::unique_ptr<Journal> journal_;
  Clock* clock_;
};

// A store that is worked on. Without `create` it must exist.
Result<Engine> open_engine(const NamedStore& store, EngineOptions options);

// The same error; its message says what to do next, too.
Error advised(const Error& error, std::string_view advice);

// Of texts on standard output. suffix: what stands behind commands that are shown.
Style style_of(const std::string& suffix);

// What can be said of a start before a store is made for it. invalid_argument, invalid_trigger.
Result<void> check_start(const Definition& definition, const std::string& run_id,
                         const std::string& trigger);

}  // namespace holdfast

// The store that a command works on.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/cli_context.h"
#include "apps/terminal/terminal_style.h"
#include "holdfast/engine.h"
#include "runs/inspect/inspector.h"

namespace holdfast::cli {

struct NamedStore {
  std::string url;
  std::string suffix;  // appended to commands that are shown: " --store …"
};

// The option, HOLDFAST_STORE, or sqlite:holdfast.db.
NamedStore store_of(const std::string& option);

// A store that is only read. Its not_found error names how to create one.
class StoreReader {
 public:
  static Result<StoreReader> open(const NamedStore& store, Context& context);

  // A whole id, the first or last characters of one, or latest. Fails with run_not_found.
  Result<RunId> find(const std::string& run);

  Journal& journal() { return *journal_; }
  Inspector inspector() { return {*journal_, *clock_}; }

 private:
  StoreReader(std::unique_ptr<Journal> journal, Clock& clock)
      : journal_(std::move(journal)), clock_(&clock) {}

  std::unique_ptr<Journal> journal_;
  Clock* clock_;
};

// A store with an engine. Without `create` it must exist.
Result<Engine> open_engine(const NamedStore& store, EngineOptions options);

// The same error, with what to do next appended to its message.
Error advised(const Error& error, std::string_view advice);

// The style of text on standard output. suffix: appended to commands that are shown.
Style style_of(const std::string& suffix);

}  // namespace holdfast::cli

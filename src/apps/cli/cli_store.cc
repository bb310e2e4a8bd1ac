#include "apps/cli/cli_store.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "apps/cli/argument_values.h"
#include "apps/cli/cli_terminal.h"
#include "base/text.h"
#include "storage/journal/open_journal.h"

namespace holdfast::cli {

namespace {

constexpr const char* kDefaultStore = "sqlite:holdfast.db";

Error no_store(const NamedStore& store, const Error& error) {
  if (error.field("reason") == "unfinished") {
    return error;
  }
  return Error{error.code(),
               fmt::format("store {} does not exist; `holdfast run FILE` creates one, or name "
                           "another with --store or HOLDFAST_STORE",
                           shown_url(store.url))};
}

}  // namespace

NamedStore store_of(const std::string& option) {
  if (!option.empty()) {
    return {option, " --store " + shell_word(option)};
  }
  const char* const variable = getenv("HOLDFAST_STORE");
  return {variable != nullptr && *variable != '\0' ? variable : kDefaultStore, ""};
}

Result<StoreReader> StoreReader::open(const NamedStore& store, Context& context) {
  auto journal = open_journal(store.url, OpenMode::read, context.clock, context.random);
  if (!journal.ok()) {
    return journal.error().code() == ErrorCode::not_found ? no_store(store, journal.error())
                                                          : journal.error();
  }
  return StoreReader(std::move(journal).value(), context.clock);
}

Result<RunId> StoreReader::find(const std::string& run) {
  HOLDFAST_TRY(const RunId found, inspector().find(run));
  // The inspector accepts a whole id without reading the journal.
  HOLDFAST_CHECK(journal_->catch_up());
  HOLDFAST_TRY(const auto entries, journal_->load(run_thread(found), {}, 1));
  if (entries.empty()) {
    return Error{ErrorCode::run_not_found, fmt::format("there is no run {}", run)}.with("run_id",
                                                                                        run);
  }
  return found;
}

Result<Engine> open_engine(const NamedStore& store, EngineOptions options) {
  options.all_queues = options.queues.empty();
  options.source = "cli";
  auto engine = Engine::open(store.url, options);
  if (!engine.ok() && engine.error().code() == ErrorCode::not_found && !options.create) {
    return no_store(store, engine.error());
  }
  return engine;
}

Error advised(const Error& error, std::string_view advice) {
  Error result(error.code(), fmt::format("{}; {}", error.message(), advice));
  for (const auto& [name, value] : error.fields()) {
    std::move(result).with(name, value);
  }
  for (const std::string& frame : error.context()) {
    std::move(result).in(frame);
  }
  return std::move(result).with(error.what_next());
}

Style style_of(const std::string& suffix) {
  Style style;
  style.colour = supports_colour();
  style.command_suffix = suffix;
  winsize size{};
  if (is_terminal(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
      size.ws_col > 0) {
    constexpr std::size_t kMinWidth = 60;
    style.width = std::max<std::size_t>(size.ws_col, kMinWidth);
  } else {
    constexpr std::size_t kFileWidth = 120;
    const char* const columns = getenv("COLUMNS");
    const auto given = parse_decimal(columns == nullptr ? "" : columns);
    style.width = std::max<std::size_t>(given.value_or(kFileWidth), 60);
  }
  return style;
}

}  // namespace holdfast::cli

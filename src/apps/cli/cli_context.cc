#include "apps/cli/cli_context.h"

#include <fmt/format.h>

#include "runs/view/view_words.h"
#include "storage/journal/open_journal.h"
#include "storage/log/store_url.h"

namespace holdfast::cli {

namespace {

struct Shown {
  std::string operator()(const MemoryUrl&) const { return "memory:"; }
  std::string operator()(const SqliteUrl& url) const { return fmt::format("sqlite:{}", url.path); }
  std::string operator()(const PostgresUrl& url) const { return url.shown; }
};

}  // namespace

Result<std::unique_ptr<Log>> open_log_to_read(const std::string& url, Context& context) {
  HOLDFAST_TRY(auto log, open_log(url, OpenMode::read, context.clock, context.random));
  HOLDFAST_CHECK(check_copy_finished(*log));
  return log;
}

std::string shown_url(std::string_view url) {
  const auto parsed = parse_store_url(url);
  return parsed.ok() ? harmless(std::visit(Shown{}, parsed.value())) : std::string("the store");
}

void warn(std::string_view message) {
  if (!message.empty()) {
    fmt::print(stderr, "holdfast: {}\n", harmless(message));
  }
}

void print_line(Context& context, std::string_view line) { context.out << line << '\n'; }

void print_json(Context& context, JsonWriter writer) {
  context.out << std::move(writer).take() << '\n';
}

void print_body(Context& context, std::string_view body) {
  context.out << body << (body.ends_with('\n') ? "" : "\n");
}

}  // namespace holdfast::cli

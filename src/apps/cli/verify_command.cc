#include <fmt/format.h>

#include "apps/cli/cli_commands.h"
#include "apps/cli/cli_terminal.h"
#include "base/hash.h"
#include "base/text.h"
#include "runs/view/view_words.h"
#include "storage/journal/journal_verify.h"

namespace holdfast {

namespace {

Result<VerifyReport> verify_with_bar(Log& log) {
  ProgressBar bar("verifying", "batches");
  return verify_journal(log, bar.progress());
}

}  // namespace

Result<void> run_command(const VerifyOptions& options, Context& context) {
  HOLDFAST_TRY(const auto log, open_log_to_read(options.store, context));
  HOLDFAST_TRY(const VerifyReport report, verify_with_bar(*log));
  if (context.json()) {
    JsonWriter writer;
    writer.begin_object();
    writer.member("ok", true);
    writer.member("entries", report.entries);
    writer.member("batches", report.batches);
    writer.member("sealed_batches", report.sealed_batches);
    writer.member("threads", report.threads);
    writer.member("head", report.head.value);
    writer.member("chain", to_hex(report.chain));
    writer.end_object();
    print_json(context, std::move(writer));
    return {};
  }
  print_line(context,
             fmt::format("{} is whole: {} in {} ({} sealed), {}", harmless(log->name()),
                         counted(report.entries, "entry", "entries"),
                         counted(report.batches, "batch", "batches"),
                         with_thousands(report.sealed_batches), counted(report.threads, "thread")));
  print_line(context, fmt::format("chain {} at position {}", to_hex(report.chain),
                                  with_thousands(report.head.value)));
  return {};
}

}  // namespace holdfast

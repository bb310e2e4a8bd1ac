#include "apps/cli/run_outcome.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "apps/cli/cli_terminal.h"
#include "base/json_value.h"
#include "runs/run/redact.h"
#include "runs/view/view_words.h"

namespace holdfast::cli {

namespace {

int exit_code_of(FollowEnd end, const RunView& view) {
  switch (end) {
    case FollowEnd::ended:
      return view.status == "completed" || view.status == "continued" ? 0 : kExitNegativeResult;
    case FollowEnd::blocked:
      return kExitWaits;
    case FollowEnd::interrupted:
      return kExitInterrupted;
    case FollowEnd::stopped:
      break;
  }
  return 0;
}

void print_outcome(FollowEnd end, const RunView& view, const OutcomeStyle& how, Context& context) {
  if (context.json()) {
    context.out << view.json << '\n';
    return;
  }
  const Style& style = how.style;
  const std::string& suffix = style.command_suffix;
  const std::int64_t until = view.terminal ? view.ended_at_ms : context.clock.now().value;
  print_line(context, fmt::format("run {} {} after {}", view.run_id,
                                  style.paint(ink_of_status(view.status), view.status),
                                  duration_text(until - view.started_at_ms)));
  if (!view.result.empty()) {
    const Payload shown = redact(Payload::trusted(view.result));
    const std::size_t most = is_terminal(STDOUT_FILENO) ? 4 * style.width : shown.view().size();
    print_line(context, shown.view().size() <= most
                            ? fmt::format("result: {}", harmless(shown.view()))
                            : fmt::format("result: {}\nfull result: holdfast show {} --json{}",
                                          one_line(shown.view(), most), view.run_id, suffix));
  }
  if (!view.error.empty()) {
    print_line(context, "error: " + error_text(Payload::trusted(view.error)));
    print_line(context, fmt::format("history: holdfast timeline {}{}", view.run_id, suffix));
  }
  if (end == FollowEnd::interrupted || end == FollowEnd::blocked) {
    print_line(context, fmt::format("nothing is lost; {}", how.continue_hint));
    print_line(context,
               fmt::format("why the run waits: holdfast explain {}{}", view.run_id, suffix));
  }
}

bool needs_handler(const Cause& cause) {
  return (cause.waits_for == "worker" || cause.waits_for == "lease") &&
         !cause.next_actions.empty() && cause.next_actions.front().command.empty();
}

}  // namespace

const Cause* waits_for_handler(const std::vector<Cause>& causes) {
  for (const Cause& cause : causes) {
    if (needs_handler(cause)) {
      return &cause;
    }
    if (const Cause* inner = waits_for_handler(cause.causes)) {
      return inner;
    }
  }
  return nullptr;
}

bool waits_for_others(const std::vector<Cause>& causes, TimeMs now) {
  static const std::set<std::string, std::less<>> kOthers{"approval", "pause",      "parked",
                                                          "event",    "definition", "writer"};
  for (const Cause& cause : causes) {
    const bool later =
        cause.until.has_value() && cause.until->value - now.value > kSoonMs &&
        (cause.waits_for == "timer" || cause.waits_for == "retry" || cause.waits_for == "deferral");
    const bool no_handler = needs_handler(cause);
    const bool inside = !cause.causes.empty() && waits_for_others(cause.causes, now);
    const bool due = cause.until.has_value() && *cause.until <= now;  // of an event wait
    if (!(later || no_handler || inside || (kOthers.contains(cause.waits_for) && !due))) {
      return false;
    }
  }
  return true;
}

bool needs_intervention(const std::vector<Cause>& causes) {
  return std::any_of(causes.begin(), causes.end(), [](const Cause& cause) {
    return cause.reason == Reason::manual_intervention_required || needs_intervention(cause.causes);
  });
}

void report_outcome(FollowEnd end, const RunView& view, const OutcomeStyle& how, Context& context) {
  const FollowEnd reason = view.terminal ? FollowEnd::ended : end;
  print_outcome(reason, view, how, context);
  context.exit_code = exit_code_of(reason, view);
}

}  // namespace holdfast::cli

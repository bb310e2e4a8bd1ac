#include "apps/cli/run_outcome.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "apps/cli/cli_terminal.h"
#include "base/json_value.h"
#include "runs/run/redact.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

int exit_code_of(Left left, const RunView& view) {
  switch (left) {
    case Left::ended:
      return view.status == "completed" || view.status == "continued" ? 0 : kExitBadAnswer;
    case Left::blocked:
      return kExitWaits;
    case Left::interrupted:
      return kExitInterrupted;
    case Left::stopped:
      break;
  }
  return 0;
}

void print_outcome(Left left, const RunView& view, const OutcomeStyle& how, Context& context) {
  if (context.json()) {
    context.out << view.json << '\n';
    return;
  }
  const Style& style = how.style;
  const std::string& suffix = style.command_suffix;
  const std::int64_t end = view.terminal ? view.ended_at_ms : context.clock.now().value;
  print_line(context, fmt::format("run {} {} after {}", view.run_id,
                                  style.paint(ink_of_status(view.status), view.status),
                                  duration_text(end - view.started_at_ms)));
  if (!view.result.empty()) {
    const Payload shown = redact(Payload::trusted(view.result));
    const std::size_t room = is_terminal(STDOUT_FILENO) ? 4 * style.width : shown.view().size();
    print_line(context, shown.view().size() <= room
                            ? fmt::format("result: {}", harmless(shown.view()))
                            : fmt::format("result: {}\nall of it: holdfast show {} --json{}",
                                          one_line(shown.view(), room), view.run_id, suffix));
  }
  if (!view.error.empty()) {
    print_line(context, "error: " + error_text(Payload::trusted(view.error)));
    print_line(context,
               fmt::format("see what happened: holdfast timeline {}{}", view.run_id, suffix));
  }
  if (left == Left::interrupted || left == Left::blocked) {
    print_line(context, fmt::format("nothing is lost; {}", how.continue_hint));
    print_line(context,
               fmt::format("why it is where it is: holdfast explain {}{}", view.run_id, suffix));
  }
}

}  // namespace

namespace {

bool needs_handler(const Cause& cause) {
  return (cause.waits_for == "worker" || cause.waits_for == "lease") &&
         !cause.next_actions.empty() && cause.next_actions.front().command.empty();
}

}  // namespace

std::string other_definition_text(std::string_view snapshot, const Definition& given) {
  const auto json = Json::parse(snapshot);
  const auto text = [&](std::string_view object, std::string_view name) -> std::string {
    const auto outer = json.ok() ? json.value().find(object) : std::nullopt;
    const auto inner = outer.has_value() ? outer->find(name) : std::nullopt;
    return std::string(inner.has_value() ? inner->string().value_or("") : "");
  };
  const std::string first = text("definition", "fingerprint");
  if (first.empty() || first == given.fingerprint().view()) {
    return "";
  }
  constexpr std::size_t kShown = 12;
  return fmt::format(
      "this run was started earlier with another definition of {} (fingerprint {}..., the file has "
      "{}...) and keeps it; only new runs follow the file: start one with another --key",
      given.workflow().view(), first.substr(0, kShown),
      given.fingerprint().view().substr(0, kShown));
}

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

// Everything that is outside of this process, or a time that does not come soon.
bool waits_for_others(const std::vector<Cause>& causes, TimeMs now) {
  static const std::set<std::string, std::less<>> kOthers{"approval", "pause", "event",
                                                          "definition", "writer"};
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

void report_outcome(Left left, const RunView& view, const OutcomeStyle& how, Context& context) {
  const Left why = view.terminal ? Left::ended : left;
  print_outcome(why, view, how, context);
  context.exit_code = exit_code_of(why, view);
}

}  // namespace holdfast

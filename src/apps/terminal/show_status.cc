#include <fmt/format.h>

#include <algorithm>

#include "apps/terminal/show.h"
#include "apps/terminal/terminal_text.h"
#include "apps/terminal/text_table.h"
#include "base/text.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

using Align = Table::Column::Align;

std::string heading(std::string_view text, const Style& style) {
  return "\n" + style.paint(Ink::bold, text) + "\n";
}

std::string show_runs(const StoreStatus& status, const Style& style) {
  Table table({{"", Align::left}, {"", Align::right}});
  const auto row = [&](std::string_view name, std::uint64_t number) {
    if (number > 0) {
      table.add({{std::string(name), ink_of_status(name)}, {with_thousands(number)}});
    }
  };
  std::uint64_t all = status.ended.total();
  for (const std::string_view name : kEnumNames<RunStatus>) {
    const auto live = status.live.find(std::string(name));
    row(name, live == status.live.end() ? 0 : live->second);
    all += live == status.live.end() ? 0 : live->second;
  }
  row("completed", status.ended.completed);
  row("failed", status.ended.failed);
  row("cancelled", status.ended.cancelled);
  row("continued", status.ended.continued);
  return heading(fmt::format("Runs: {}", with_thousands(all)), style) + table.text(style, 2);
}

// "charge 2, mail 1", the most first.
std::string counts_text(const std::map<std::string, std::uint64_t>& counts) {
  std::vector<std::pair<std::string, std::uint64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& left, const auto& right) { return left.second > right.second; });
  std::string text;
  for (const auto& [name, number] : sorted) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", handler_text(name),
                        with_thousands(number));
  }
  return text;
}

Table::Cell number_cell(std::uint64_t number, Ink ink = Ink::plain) {
  return {with_thousands(number), number == 0 ? Ink::dim : ink};
}

// "step charge of pay, 5 failures, opened 3 min ago, probe in 12 s"
std::string circuit_text(const CircuitStatus& circuit, TimeMs now) {
  return fmt::format(
      "step {} of {}, {}, opened {}, {}", circuit.step, circuit.workflow,
      counted(circuit.failures, "failure"), from_now(circuit.opened_at, now),
      circuit.probing ? "a worker probes" : "probe " + from_now(circuit.probe_at, now));
}

std::string show_queues(const StoreStatus& status, const Style& style) {
  if (status.queues.empty()) {
    return {};
  }
  Table table({{"QUEUE", Align::left, 8},
               {"VISIBLE", Align::right},
               {"SCHEDULED", Align::right},
               {"CLAIMED", Align::right},
               {"EXPIRED", Align::right},
               {"SLEEPING", Align::right},
               {"OLDEST WAITS", Align::right, 0, true},
               {"NEXT DUE", Align::right, 0, true}});
  const TimeMs now = status.moment.now;
  for (const QueueStatus& queue : status.queues) {
    const auto& oldest = queue.oldest_visible_at;
    const auto& next = queue.next_visible_at;
    table.add({{short_text(queue.name, style.width)},
               number_cell(queue.visible),
               number_cell(queue.scheduled),
               number_cell(queue.claimed),
               number_cell(queue.expired, Ink::red),
               number_cell(queue.sleeping),
               {oldest.has_value() ? duration_text(now.value - oldest->value) : ""},
               {next.has_value() ? from_now(*next, now) : ""}});
    const auto below = [&](std::string_view what, const std::string& text) {
      if (!text.empty()) {
        const std::string line = fmt::format("  {}: {}", what, text);
        table.add_below(short_text(line, style.width - std::min<std::size_t>(style.width, 2)));
      }
    };
    below("waited for", counts_text(queue.waiting_by_handler));
    below("held by", counts_text(queue.claimed_by_owner));
    for (const CircuitStatus& circuit : queue.open_circuits) {
      below("circuit open", circuit_text(circuit, now));
    }
  }
  return heading("Queues", style) + table.text(style, 2);
}

std::string show_attention(const StoreStatus& status, const Style& style) {
  std::string lines;
  std::string out;
  const auto line = [&](std::uint64_t number, std::string_view one, std::string_view many) {
    lines += number == 0 ? "" : "  " + counted(number, one, many) + "\n";
  };
  // Of all lines since the command before.
  const auto command = [&](std::string_view text) {
    out += lines.empty() ? lines : lines + command_line(text, 6, style);
    lines.clear();
  };
  std::uint64_t expired = 0;
  for (const QueueStatus& queue : status.queues) {
    expired += queue.expired;
  }
  line(status.manual_interventions, "step that waits for a person", "steps that wait for a person");
  line(expired, "attempt whose worker was lost", "attempts whose worker was lost");
  line(status.anomalies, "fact that violated a rule", "facts that violated a rule");
  command("holdfast doctor");
  line(status.pending_dispatches, "step that is planned but not in a queue",
       "steps that are planned but not in a queue");
  line(status.pending_results, "result that is stored but not applied to its run",
       "results that are stored but not applied to their runs");
  command("holdfast work");
  return out.empty() ? out : heading("Needs attention", style) + out;
}

std::string show_workflows(const StoreStatus& status, const Style& style) {
  std::string names;
  for (const std::string& workflow : status.workflows) {
    names += (names.empty() ? "" : ", ") + workflow;
  }
  return names.empty()
             ? names
             : heading("Workflows", style) + paragraph(names, {"  ", "  "}, Ink::plain, style);
}

}  // namespace

std::string show_status(const StoreStatus& status, const Style& style) {
  return fmt::format("As of {}, position {}\n", format_time(status.moment.now),
                     with_thousands(status.moment.position.value)) +
         show_runs(status, style) + show_queues(status, style) + show_attention(status, style) +
         show_workflows(status, style);
}

}  // namespace holdfast

#include <fmt/format.h>

#include <algorithm>

#include "apps/terminal/next_actions.h"
#include "apps/terminal/show.h"
#include "apps/terminal/terminal_text.h"
#include "apps/terminal/text_table.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxListed = 20;  // children, commands, anomalies
constexpr std::size_t kMaxValue = 500;

// Writes one run, part by part; a part that has nothing to say is not there.
class RunText {
 public:
  RunText(const RunSource& source, const Explanation& why, const Style& style)
      : source_(source), run_(*source.run), why_(why), style_(style) {}

  std::string write() && {
    out_ = title_line({why_.workflow, why_.version, why_.status}, style_);
    write_facts();
    out_ += "\n" + paragraph(sentence("It " + why_.summary), {}, Ink::bold, style_);
    write_steps();
    write_values();
    write_children();
    write_commands();
    write_anomalies();
    const std::string next = show_next_actions(all_next_actions(why_), source_.now, style_,
                                               "holdfast show " + why_.run_id);
    return out_ + (next.empty() ? "" : "\n" + next);
  }

 private:
  void fact(std::string_view name, std::string_view text) {
    constexpr std::size_t kNameWidth = 16;
    out_ += style_.paint(Ink::dim, name);
    out_ += std::string(kNameWidth - name.size(), ' ');
    out_ += short_text(text, style_.width - std::min(style_.width, kNameWidth)) + "\n";
  }
  void run_fact(std::string_view name, const RunId& run) {
    if (!run.empty()) {
      fact(name, to_string(run));
    }
  }

  void write_facts() {
    fact("run", why_.run_id);
    const TimeMs end = run_.is_terminal() ? run_.terminal_at() : source_.now;
    if (run_.started().has_value()) {
      const std::int64_t took = end.value - run_.started_at().value;
      fact("started", fmt::format("{}, {}", format_time(run_.started_at()),
                                  from_now(run_.started_at(), source_.now)));
      if (run_.is_terminal()) {
        fact("ended", fmt::format("{}, took {}", format_time(end), duration_text(took)));
      }
      run_fact("replay of", run_.started()->replayed_from_run_id);
    }
    if (!why_.queue.empty() && why_.queue != kDefaultQueue) {
      fact("queue", why_.queue);
    }
    run_fact("child of", parent_of(run_));
    if (run_.continued_from().has_value()) {
      run_fact("continues", run_.continued_from()->predecessor_run_id);
    }
    if (run_.continuation().has_value()) {
      run_fact("continued as", run_.continuation()->successor_run_id);
    }
    if (run_.archived().has_value()) {
      const std::string_view reason = run_.archived()->reason.view();
      fact("archived", fmt::format("{}{}{}", format_time(run_.archived_at()),
                                   reason.empty() ? "" : ": ", reason));
    }
    std::string attributes;
    for (const auto& [name, value] : run_.attributes()) {
      attributes += fmt::format("{}{} = {}", attributes.empty() ? "" : ", ", name,
                                short_json(value, style_.width));
    }
    if (!attributes.empty()) {
      fact("attributes", attributes);
    }
  }

  void write_steps() {
    Table table({{"STEP", Table::Column::Align::left, 12},
                 {"STATUS"},
                 {"ATTEMPTS", Table::Column::Align::right},
                 {"ITEMS", Table::Column::Align::right},
                 {"RESULT OR ERROR", Table::Column::Align::left, 12}});
    const RunGraph graph = run_graph(source_);
    for (const GraphNode& node : graph.nodes) {
      const std::string visit = node.visits > 1 ? fmt::format(" (visit {})", node.visits) : "";
      table.add({{short_text(node.id + visit, style_.width), node.current ? Ink::bold : Ink::plain},
                 {node.status, ink_of_status(node.status)},
                 {node.attempts == 0 ? "" : fmt::format("{}", node.attempts)},
                 {node.items.has_value() ? fmt::format("{}/{}", node.items->done, node.items->total)
                                         : ""},
                 note_of(node)});
    }
    if (!graph.nodes.empty()) {
      out_ += "\n" + table.text(style_);
    }
  }

  [[nodiscard]] Table::Cell note_of(const GraphNode& node) const {
    const bool late = !node.deadline.empty() && node.deadline != "on_time" &&
                      (node.current || node.deadline != "due_soon");
    const std::string deadline = late ? node.deadline : std::string();
    const std::string joint = late ? ": " : "";
    if (!node.error.empty()) {
      return {deadline + joint + short_error(node.error, style_.width), Ink::red};
    }
    if (!node.output.empty()) {
      return {deadline + joint + short_json(node.output, style_.width)};
    }
    if (node.items.has_value() && node.items->failed > 0) {
      return {deadline + joint + counted(node.items->failed, "item failed", "items failed"),
              Ink::red};
    }
    return {deadline, ink_of_status(node.deadline)};
  }

  void write_values() {
    std::string text;
    const auto value = [&](std::string_view name, const std::string& shown, Ink ink) {
      // The sentence above may have said it.
      if (!shown.empty() && !why_.summary.ends_with(shown)) {
        const std::size_t used = name.size() + 2;
        text += style_.paint(Ink::bold, name) + ": " +
                style_.paint(ink, cut(shown, style_.width - std::min(style_.width, used))) + "\n";
      }
    };
    if (run_.started().has_value()) {
      value("Input", short_json(run_.started()->input, kMaxValue), Ink::plain);
    }
    if (run_.is_terminal()) {
      const bool completed = run_.terminal()->status == TerminalStatus::completed;
      const Payload& result = run_.terminal()->result;
      value("Result",
            completed ? short_json(result.empty() ? run_.context() : result, kMaxValue) : "",
            Ink::plain);
      value("Error", short_error(run_.terminal()->error, kMaxValue), Ink::red);
    } else if (run_.compensation().has_value()) {
      value("Error", short_error(run_.compensation()->error, kMaxValue), Ink::red);
    }
    out_ += text.empty() ? text : "\n" + text;
  }

  void write_section(std::string_view title, const Table& table, std::size_t total) {
    if (total > 0) {
      out_ += "\n" + style_.paint(Ink::bold, title) + "\n" + table.text(style_, 2);
      out_ += total > kMaxListed ? fmt::format("  (and {} more)\n", total - kMaxListed) : "";
    }
  }

  void write_children() {
    Table table({{""}, {"", Table::Column::Align::left, 8}, {"", Table::Column::Align::left, 8}});
    std::size_t number = 0;
    for (const auto& [id, child] : run_.children()) {
      if (++number <= kMaxListed) {
        table.add({{to_string(id)},
                   {short_text(child.child_workflow.view(), style_.width)},
                   {short_text(fmt::format("of step {}{}", child.origin.step.view(),
                                           child.awaited ? "" : ", not awaited"),
                               style_.width)}});
      }
    }
    write_section("Children", table, number);
  }

  // How it was started need not be said when there is nothing to say about it.
  void write_commands() {
    const auto& receipts = run_.receipts();
    const bool plain = receipts.size() == 1 && receipts.front().signal.actor.empty() &&
                       receipts.front().signal.comment.empty();
    Table table({{"", Table::Column::Align::right}, {""}, {"", Table::Column::Align::left, 8}});
    std::size_t number = 0;
    for (const Receipt& receipt : receipts) {
      if (!plain && ++number <= kMaxListed) {
        const RunSignalReceived& signal = receipt.signal;
        std::string who = signal.actor.empty() ? "" : "by " + signal.actor.str();
        if (!signal.comment.empty()) {
          who += (who.empty() ? "" : ": ") + signal.comment.str();
        }
        table.add({{since_start(receipt.at)},
                   {std::string(to_text(signal.signal_type))},
                   {short_text(who, style_.width)}});
      }
    }
    write_section("Commands", table, number);
  }

  void write_anomalies() {
    Table table({{"", Table::Column::Align::right}, {"", Table::Column::Align::left, 8}});
    std::size_t number = 0;
    const auto add = [&](const Anomaly& anomaly) {
      if (++number <= kMaxListed) {
        std::string text = fmt::format("{} ({})", anomaly.reason.view(), anomaly.entry_type.view());
        text += anomaly.step.empty() ? "" : fmt::format(" at step {}", anomaly.step.view());
        text += anomaly.detail.empty() ? "" : fmt::format(": {}", anomaly.detail.view());
        table.add({{since_start(anomaly.at)}, {short_text(text, style_.width), Ink::yellow}});
      }
    };
    std::for_each(run_.anomalies().begin(), run_.anomalies().end(), add);
    for (const DispatchProjection* queue : source_.queues) {
      for (const Anomaly& anomaly : queue->anomalies()) {
        if (anomaly.run_id == run_.run_id()) {
          add(anomaly);
        }
      }
    }
    write_section("Facts that violated a rule and were ignored", table, number);
  }

  [[nodiscard]] std::string since_start(TimeMs at) const {
    return run_.started().has_value() ? offset_text(at, run_.started_at()) : format_time(at);
  }

  const RunSource& source_;
  const RunProjection& run_;
  const Explanation& why_;
  const Style& style_;
  std::string out_;
};

}  // namespace

std::string show_run(const RunSource& source, const Explanation& why, const Style& style) {
  return RunText(source, why, style).write();
}

}  // namespace holdfast

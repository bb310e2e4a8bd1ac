#include <fmt/format.h>

#include "apps/terminal/next_actions.h"
#include "apps/terminal/show.h"
#include "apps/terminal/terminal_text.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

// " (for 3 min, 12 s left)", " (in 12 s)", " (2 h ago)": what the times of a cause mean now.
std::string times_of(const Cause& cause, TimeMs now) {
  const bool comes = cause.until.has_value() && *cause.until > now;
  if (cause.reason == Reason::attempt_scheduled_for_later ||
      cause.reason == Reason::deferred_continuation) {
    return comes ? fmt::format(" ({})", from_now(*cause.until, now)) : std::string();
  }
  if (cause.reason == Reason::terminal) {
    return cause.since.has_value() ? fmt::format(" ({})", from_now(*cause.since, now))
                                   : std::string();
  }
  std::string text;
  if (cause.since.has_value()) {
    text = "for " + duration_text(now.value - cause.since->value);
  }
  if (comes) {
    text += (text.empty() ? "" : ", ") + duration_text(cause.until->value - now.value) + " left";
  }
  return text.empty() ? text : fmt::format(" ({})", text);
}

// Without what the causes below it say again.
std::string_view own_summary(const Cause& cause) {
  std::string_view text = cause.summary;
  for (const Cause& below : cause.causes) {
    if (!below.summary.empty() && text.ends_with(below.summary)) {
      text.remove_suffix(below.summary.size());
      for (const std::string_view joint : {", which ", " and ", ": "}) {
        if (text.ends_with(joint)) {
          text.remove_suffix(joint.size());
        }
      }
      return text;
    }
  }
  return text;
}

class CauseTree {
 public:
  CauseTree(const Explanation& why, const Style& style) : why_(why), style_(style) {}

  std::string text() && {
    add(why_.causes, "");
    return std::move(out_);
  }

 private:
  void add(const std::vector<Cause>& causes, const std::string& margin) {
    for (std::size_t i = 0; i < causes.size(); ++i) {
      const Cause& cause = causes[i];
      const bool last = i + 1 == causes.size() && cause.omitted == 0;
      const std::string below = margin + (last ? "   " : "│  ");
      const std::string name = cause.step.empty() ? "" : harmless(cause.step) + ": ";
      const std::string rest = below + (cause.causes.empty() ? "   " : "│  ");
      std::string lines =
          paragraph(name + std::string(own_summary(cause)) + times_of(cause, why_.now),
                    {margin + (last ? "└─ " : "├─ "), rest}, Ink::plain, style_);
      embolden(lines, harmless(cause.step));
      out_ += lines;
      add(cause.causes, below);
      if (cause.omitted > 0) {
        out_ += fmt::format("{}└─ (and {} more)\n", margin, cause.omitted);
      }
    }
  }

  // A name that was not broken apart.
  void embolden(std::string& lines, const std::string& name) const {
    const auto at = name.empty() ? std::string::npos : lines.find(name);
    if (at != std::string::npos) {
      lines.replace(at, name.size(), style_.paint(Ink::bold, name));
    }
  }

  const Explanation& why_;
  const Style& style_;
  std::string out_;
};

// One line for each item that a backend carries, and one for a backend that cannot be reached.
std::string show_backends(const Payload& backends, const Style& style) {
  const auto array = Json::parse(backends.empty() ? "[]" : backends.view());
  std::string out;
  const auto add = [&](const Json& json) {
    const auto summary = json.find("summary");
    if (summary.has_value() && summary->string().has_value()) {
      out += paragraph(harmless(*summary->string()), {"  ", "    "}, Ink::plain, style);
    }
  };
  for (std::size_t i = 0; array.ok() && i < array.value().size(); ++i) {
    add(array.value().item(i));
    const auto items = array.value().item(i).find("items");
    for (std::size_t k = 0; items.has_value() && k < items->size(); ++k) {
      add(items->item(k));
    }
  }
  return out.empty() ? "" : "\nBackends:\n" + out;
}

}  // namespace

std::string show_explanation(const Explanation& why, const Style& style) {
  const std::string workflow = why.workflow.empty() ? "" : fmt::format(" ({})", why.workflow);
  std::string out =
      paragraph(sentence(fmt::format("run {}{} {}", why.run_id, workflow, why.summary)), {"", "  "},
                Ink::bold, style);
  // A single cause that repeats the sentence is not shown again.
  const bool alone = why.causes.size() == 1 && why.causes.front().causes.empty() &&
                     why.causes.front().omitted == 0 &&
                     why.summary.ends_with(why.causes.front().summary);
  const std::string times = alone ? times_of(why.causes.front(), why.now) : std::string();
  out += fmt::format("status {}, reason {}{}\n", style.paint(ink_of_status(why.status), why.status),
                     to_text(why.reason), times);
  if (!alone && !why.causes.empty()) {
    out += "\n" + CauseTree(why, style).text();
  }
  out += show_backends(why.backends, style);
  const std::string next = show_next_actions(all_next_actions(why), why.now, style);
  return out + (next.empty() ? "" : "\n" + next);
}

}  // namespace holdfast

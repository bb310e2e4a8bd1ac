#include <fmt/format.h>

#include "apps/terminal/show.h"
#include "apps/terminal/terminal_text.h"

namespace holdfast {

namespace {

std::string_view word_of(Check::Verdict verdict) {
  return verdict == Check::Verdict::fault ? "FAULT" : to_text(verdict);
}

constexpr std::size_t kVerdictWidth = 9;  // "warning" and a gap

std::string show_finding(const Finding& finding, const Style& style) {
  std::string who = finding.run_id.empty() ? "" : "run " + finding.run_id;
  if (!finding.step.empty()) {
    who += (who.empty() ? "step " : ", step ") + finding.step;
  }
  const std::string text =
      who.empty() ? finding.summary : fmt::format("{}: {}", who, finding.summary);
  const std::string margin(kVerdictWidth, ' ');
  return paragraph(text, {margin + "- ", margin + "  "}, Ink::plain, style) +
         (finding.command.empty() ? "" : command_line(finding.command, kVerdictWidth + 4, style));
}

std::string show_check(const Check& check, const Style& style) {
  const std::string_view word = word_of(check.verdict());
  const std::string count = check.count == 0 ? "none" : fmt::format("{}", check.count);
  const std::string_view padding = "         ";
  std::string out = style.paint(ink_of_status(word), word);
  out += padding.substr(word.size());
  out += short_text(check.question, style.width - std::min(style.width, kVerdictWidth + 12));
  out += ": " + (check.count == 0 ? count : style.paint(Ink::bold, count)) + "\n";
  for (const Finding& finding : check.findings) {
    out += show_finding(finding, style);
  }
  if (check.count > check.findings.size()) {
    out += fmt::format("{}(and {} more)\n", padding, check.count - check.findings.size());
  }
  return out;
}

}  // namespace

std::string show_diagnosis(const Diagnosis& diagnosis, const Style& style) {
  std::string out;
  std::uint64_t faults = 0;
  std::uint64_t warnings = 0;
  for (const Check& check : diagnosis.checks) {
    out += show_check(check, style);
    faults += check.verdict() == Check::Verdict::fault ? 1U : 0U;
    warnings += check.verdict() == Check::Verdict::warning ? 1U : 0U;
  }
  const std::string_view word = word_of(diagnosis.verdict());
  std::string verdict;
  if (faults > 0) {
    verdict = counted(faults, "check found a fault", "checks found faults");
  }
  if (warnings > 0) {
    verdict += (verdict.empty() ? "" : ", ") + counted(warnings, "warning", "warnings");
  }
  out +=
      fmt::format("\n{} checked, as of {}\n", counted(diagnosis.live_runs, "live run", "live runs"),
                  format_time(diagnosis.moment.now));
  out += fmt::format("{}: {}\n", style.paint(ink_of_status(word), word),
                     verdict.empty() ? "no problems found" : verdict);
  return out;
}

}  // namespace holdfast

// After the faults: every run is brought to its end by following the advice of its explanation. A
// run without a reason or advice, or one that does not move when its advice is followed, is a
// violation.
#include <algorithm>
#include <utility>

#include "lab/sim/sim_clients.h"
#include "lab/sim/sim_words.h"
#include "lab/sim/simulation.h"
#include "runs/inspect/inspector.h"

namespace holdfast::sim {

namespace {

constexpr std::int64_t kLongestPause = 6LL * 3600 * kSecond;
// A disk may still be slow, or another event may have to happen first.
constexpr std::int64_t kPatience = 600 * kSecond;
constexpr int kTries = 6;
// One of so many explanations is compared with one for which everything is read again.
constexpr std::uint64_t kReadAnew = 8;

std::string unquoted(std::string word) {
  std::erase_if(word, [](char letter) { return letter == '\'' || letter == '"'; });
  return word;
}

// The explanation without its evidence, which contains counts and times.
std::string without_evidence(const Explanation& why) {
  const std::string json(to_json(why).view());
  return json.substr(0, json.find(R"(,"evidence":)"));
}

}  // namespace

bool Clients::has_live_runs() const {
  const auto& runs = simulation_.audit().runs;
  return std::any_of(runs.begin(), runs.end(), [](const auto& run) {
    return run.second->started().has_value() && !run.second->is_terminal();
  });
}

void Clients::follow_all_advice() {
  simulation_.check_unanswered();
  std::vector<RunId> live;
  for (const auto& [id, run] : simulation_.audit().runs) {
    if (run->started().has_value() && !run->is_terminal()) {
      live.push_back(id);
    }
  }
  for (const RunId& id : live) {
    if (!simulation_.violated()) {
      follow_explanation(id);
    }
  }
  // While runs can only wait, the pause between two rounds doubles.
  pause_us_ = std::exchange(acted_, false) ? kSecond : std::min(pause_us_ * 2, kLongestPause);
  simulation_.schedule().after(pause_us_, [this] { follow_all_advice(); });
}

Inspector& Clients::inspector(Process& process) {
  const auto known = readers_.find(process.number());
  if (known != readers_.end() && known->second.incarnation == process.incarnation()) {
    return known->second.inspector;
  }
  readers_.erase(process.number());
  Reader reader{process.incarnation(), Inspector(process.journal(), process.clock())};
  return readers_.emplace(process.number(), std::move(reader)).first->second.inspector;
}

void Clients::compare_with_anew(Process& process, const RunId& run, const Explanation& why) {
  const auto anew = Inspector(process.journal(), process.clock()).explain(run);
  simulation_.count("check:explained_anew");
  if (!anew.ok() || to_json(anew.value()).view() != to_json(why).view()) {
    simulation_.report_violation(
        "run " + to_string(run) + " is explained as " + std::string(to_json(why).view()) +
        ", and from its beginning as " +
        (anew.ok() ? std::string(to_json(anew.value()).view()) : anew.error().text()));
  }
}

void Clients::follow_explanation(const RunId& run) {
  Process* process = simulation_.some_process(simulation_.dice().about("help", ++draws_));
  if (process == nullptr) {
    return;
  }
  const auto why = inspector(*process).explain(run);
  if (!why.ok()) {
    simulation_.report_violation("run " + to_string(run) +
                                 " cannot be explained: " + why.error().text());
    return;
  }
  const Explanation& now = why.value();
  if (draws_ % kReadAnew == 0) {
    compare_with_anew(*process, run, now);
  }
  if (now.terminal) {
    return;
  }
  simulation_.count("reason:" + std::string(to_text(now.reason)));
  if (now.reason >= Reason::idle || now.next_actions.empty()) {
    if (simulation_.oracle_enabled()) {
      simulation_.report_violation("run " + to_string(run) + " has no reason or no advice: " +
                                   std::string(to_json(now).view()));
    }
    return;
  }
  std::string& before = explained_[run];
  if (before != without_evidence(now)) {
    before = without_evidence(now);
    followed_[run] = {0, simulation_.schedule().now_us()};
  }
  const Dice dice = simulation_.dice().about("advice", draws_);
  const NextAction& advice = now.next_actions[dice.below(now.next_actions.size(), "which")];
  auto& [tries, since] = followed_[run];
  const bool acted = follow_advice(run, advice);
  acted_ = acted_ || acted;
  if (acted && ++tries > kTries && simulation_.schedule().now_us() - since > kPatience &&
      simulation_.oracle_enabled()) {
    simulation_.report_violation("run " + to_string(run) +
                                 " does not move although its advice was followed: \"" +
                                 advice.command + "\": " + now.summary);
  }
}

// False if the advice is only to wait or to inspect.
bool Clients::follow_advice(const RunId& run, const NextAction& advice) {
  simulation_.count("advice:" + advice.action);
  const std::vector<std::string> words = words_of(advice.command);
  if (words.size() < 3 || advice.at.has_value() || words[1] == "work" || words[1] == "show") {
    return false;
  }
  // holdfast VERB RUN ..., holdfast dead-letters discard RUN ...
  const std::size_t place = words[1] == "dead-letters" && words.size() > 3 ? 3 : 2;
  const auto about = parse_run_id(words[place]);
  const RunId target = about.ok() ? about.value() : run;
  const Dice dice = simulation_.dice().about("follow", draws_);
  const std::string key = "help-" + std::to_string(draws_);
  if (words[1] == "signal" && words.size() > 3) {
    const std::string event = unquoted(words[3]);
    submit(event_command(target, event, unquoted(after_option(words, "--correlation")),
                         simulation_.scenario().event_payload(event, dice), key),
           dice, 1);
    return true;
  }
  if (words[1] == "cancel") {
    submit(cancel_command(target, OnCancel::stop, ""), dice, 1);
    return true;
  }
  if (words[1] == "retry" || words[1] == "dead-letters") {
    const bool retries = words[1] == "retry";
    submit(resolve_command(target, unquoted(after_option(words, "--step")),
                           retries ? ManualAction::retried : ManualAction::discarded, key),
           dice, 1);
    return true;
  }
  if (words[1] == "approve" || words[1] == "reject" || words[1] == "resume") {
    const ManualAction action = words[1] == "approve"  ? ManualAction::approved
                                : words[1] == "reject" ? ManualAction::rejected
                                                       : ManualAction::resumed;
    submit(resolve_command(target, unquoted(after_option(words, "--step")), action, key), dice, 1);
    return true;
  }
  return false;
}

}  // namespace holdfast::sim

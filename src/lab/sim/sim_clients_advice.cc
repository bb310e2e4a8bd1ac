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

std::string unquoted(std::string word) {
  std::erase_if(word, [](char letter) { return letter == '\'' || letter == '"'; });
  return word;
}

// The explanation without its evidence, which contains counts and times.
std::string gist(const Explanation& why) {
  const std::string json(to_json(why).view());
  return json.substr(0, json.find(R"(,"evidence":)"));
}

}  // namespace

bool Clients::somebody_lives() const {
  const auto& runs = world_.audit().runs;
  return std::any_of(runs.begin(), runs.end(), [](const auto& run) {
    return run.second->started().has_value() && !run.second->is_terminal();
  });
}

void Clients::help_runs() {
  world_.look_for_unanswered();
  std::vector<RunId> live;
  for (const auto& [id, run] : world_.audit().runs) {
    if (run->started().has_value() && !run->is_terminal()) {
      live.push_back(id);
    }
  }
  for (const RunId& id : live) {
    if (!world_.broken()) {
      help(id);
    }
  }
  // If runs can only wait, the next round comes later and later.
  pause_us_ = std::exchange(acted_, false) ? kSecond : std::min(pause_us_ * 2, kLongestPause);
  world_.schedule().after(pause_us_, [this] { help_runs(); });
}

void Clients::help(const RunId& run) {
  Process* process = world_.some_process(world_.dice().about("help", ++asked_));
  if (process == nullptr) {
    return;
  }
  Inspector inspector(process->journal(), process->clock());
  const auto why = inspector.explain(run);
  if (!why.ok()) {
    world_.complain("run " + to_string(run) + " cannot be explained: " + why.error().text());
    return;
  }
  const Explanation& now = why.value();
  if (now.terminal) {
    return;
  }
  world_.count("reason:" + std::string(to_text(now.reason)));
  if (now.reason >= Reason::idle || now.next_actions.empty()) {
    if (world_.oracle_judges()) {
      world_.complain("run " + to_string(run) +
                      " has no reason or no advice: " + std::string(to_json(now).view()));
    }
    return;
  }
  std::string& before = helped_[run];
  if (before != gist(now)) {
    before = gist(now);
    in_vain_[run] = {0, world_.schedule().now_us()};
  }
  const Dice dice = world_.dice().about("advice", asked_);
  const NextAction& advice = now.next_actions[dice.below(now.next_actions.size(), "which")];
  auto& [tries, since] = in_vain_[run];
  const bool acted = follow(run, advice);
  acted_ = acted_ || acted;
  if (acted && ++tries > kTries && world_.schedule().now_us() - since > kPatience &&
      world_.oracle_judges()) {
    world_.complain("run " + to_string(run) + " does not move although its advice was followed: \"" + advice.command +
                    "\": " + now.summary);
  }
}

// False if the advice is only to wait or to inspect.
bool Clients::follow(const RunId& run, const NextAction& advice) {
  world_.count("advice:" + advice.action);
  const std::vector<std::string> words = words_of(advice.command);
  if (words.size() < 3 || advice.at.has_value() || words[1] == "work" || words[1] == "show") {
    return false;
  }
  const auto about = parse_run_id(words[2]);
  const RunId target = about.ok() ? about.value() : run;
  const Dice dice = world_.dice().about("follow", asked_);
  const std::string key = "help-" + std::to_string(asked_);
  if (words[1] == "signal" && words.size() > 3) {
    const std::string event = unquoted(words[3]);
    ask(event_wish(target, event, unquoted(after_option(words, "--correlation")),
                   world_.scenario().event_payload(event, dice), key),
        dice, 1);
    return true;
  }
  if (words[1] == "cancel") {
    ask(cancel_wish(target, OnCancel::stop, ""), dice, 1);
    return true;
  }
  if (words[1] == "approve" || words[1] == "reject" || words[1] == "resume") {
    const ManualAction action = words[1] == "approve"  ? ManualAction::approved
                                : words[1] == "reject" ? ManualAction::rejected
                                                       : ManualAction::resumed;
    ask(resolve_wish(target, unquoted(after_option(words, "--step")), action, key), dice, 1);
    return true;
  }
  return false;
}

}  // namespace holdfast::sim

#include <array>

#include "lab/sim/sim_author.h"
#include "lab/sim/sim_leases.h"
#include "lab/sim/sim_scenario.h"
#include "lab/sim/sim_schedule.h"
#include "lab/sim/sim_versions.h"
#include "runs/facts/activation.h"

namespace holdfast::sim {

namespace {

Completion completed(std::string_view result, std::string_view opts = "") {
  Completion done;
  done.result = Payload::trusted(result);
  done.execution_opts = Payload::trusted(opts);
  return done;
}

Failure failed(std::string_view code, bool retryable) {
  return Failure{Payload::trusted(R"({"code":")" + std::string(code) + R"("})"), retryable,
                 std::nullopt};
}

class GeneratedScenario final : public Scenario {
 public:
  explicit GeneratedScenario(std::uint64_t seed) : dice_(Dice(seed).about("scenario")) {
    const std::uint64_t count = 1 + dice_.below(3, "workflows");
    for (std::uint64_t i = 0; i < count; ++i) {
      add_workflow("flow" + std::to_string(i), i);
    }
  }

  [[nodiscard]] std::vector<std::string> definitions(bool faults_ended) const override {
    std::vector<std::string> texts = definitions_;
    texts.emplace_back(R"({"workflow":"inner","steps":[{"name":"i0"},
                           {"name":"i1","approval":true,"after":["i0"]}]})");
    texts.emplace_back(R"({"workflow":"delivered","triggers":[{"name":"again",)"
                       R"("cron":{"expression":"0 * * * *","timezone":"Etc/UTC",)"
                       R"("delivery":"external"}},{"name":"once","cron":{"expression":"0 * * * *",)"
                       R"("timezone":"Etc/UTC","delivery":"external",)"
                       R"("idempotency":"skip_duplicate"}},{"name":"each","cron":{)"
                       R"("expression":"0 * * * *","timezone":"Etc/UTC","delivery":"external",)"
                       R"("idempotency":"none"}}],"steps":[{"name":"s0"}]})");
    if (has_ticking()) {
      const std::string trigger =
          faults_ended ? R"("triggers":[{"name":"hand"}],)"
                       : R"("triggers":[{"name":"tick",)"
                         R"("cron":{"expression":"* * * * *","timezone":"Etc/UTC"}}],)";
      texts.push_back(R"({"workflow":"ticking",)" + trigger + R"("steps":[{"name":"s0"}]})");
    }
    return texts;
  }

  [[nodiscard]] std::optional<std::string> other_definition(const Dice& dice) const override {
    const std::string& text = definitions_[dice.below(definitions_.size(), "workflow")];
    constexpr std::uint64_t kTries = 8;
    for (std::uint64_t tries = 0; tries < kTries; ++tries) {
      std::string other = other_version(text, dice.about("version", tries));
      if (Definition::parse(other).ok()) {
        return other;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] StartRequest start(const Dice& dice) const override {
    StartRequest request;
    request.workflow = "flow" + std::to_string(dice.below(definitions_.size(), "workflow"));
    request.input = R"({"n":)" + std::to_string(dice.below(5, "n")) + R"(,"list":[1,2,3]})";
    return request;
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> schedules() const override {
    std::vector<std::pair<std::string, std::string>> known{
        {"delivered", "again"}, {"delivered", "once"}, {"delivered", "each"}};
    if (has_ticking()) {
      known.emplace_back("ticking", "tick");
    }
    return known;
  }

  // Lease adapters keep polling: a run that does not end must not cost months.
  [[nodiscard]] std::int64_t longest_end_us() const override { return 24LL * 3600 * kSecond; }

  // Few windows, so that many are delivered more than once; some overlap.
  [[nodiscard]] std::optional<DeliverWindow> delivery(const Dice& dice) const override {
    if (!dice.chance(15, "delivery")) {
      return std::nullopt;
    }
    constexpr std::int64_t kHour = 3'600'000;
    DeliverWindow window;
    window.workflow = "delivered";
    static constexpr std::array<const char*, 3> kTriggers{"again", "once", "each"};
    window.trigger = kTriggers[dice.below(kTriggers.size(), "trigger")];
    const TimeMs start_at{SimClock::kBegin +
                          static_cast<std::int64_t>(dice.below(2, "at")) * kHour};
    const auto hours = 1 + static_cast<std::int64_t>(dice.below(2, "hours"));
    window.delivered.window = ScheduleWindow{start_at, TimeMs{start_at.value + hours * kHour}};
    if (dice.chance(30, "named")) {
      window.delivered.signal_id = "signal" + std::to_string(dice.below(2, "signal"));
    }
    return window;
  }

  [[nodiscard]] HandlerAnswer answer(const Assignment& attempt) const override {
    const Dice dice = dice_.about(attempt.runnable_key.view());
    HandlerAnswer answer{outcome(attempt, dice), 0};
    static constexpr std::array<std::int64_t, 8> kTakes{1, 1, 5, 20, 20, 200, 3000, 45'000};
    answer.takes_us = kTakes[dice.below(kTakes.size(), "takes")] * kMs;
    return answer;
  }

  [[nodiscard]] std::optional<ManualAction> decide(const ManualState& at, const Dice& dice,
                                                   bool faults_ended) const override {
    if (!faults_ended && dice.chance(20, "hesitates")) {
      return std::nullopt;
    }
    if (at.kind == BoundaryKind::pause) {
      return ManualAction::resumed;
    }
    if (at.kind == BoundaryKind::parked) {
      return dice.chance(30, "discards") ? ManualAction::discarded : ManualAction::retried;
    }
    return dice.chance(30, "rejects") ? ManualAction::rejected : ManualAction::approved;
  }

 private:
  [[nodiscard]] bool has_ticking() const { return dice_.chance(25, "cron"); }

  void add_workflow(const std::string& name, std::uint64_t which) {
    // Some of the generated definitions are invalid.
    for (std::uint64_t tries = 0;; ++tries) {
      std::string text =
          Author(dice_.number("author", which * 1000 + tries), name, std::string(kCarriedQueue))
              .write();
      if (Definition::parse(text).ok()) {
        definitions_.push_back(std::move(text));
        return;
      }
    }
  }

  static std::variant<Completion, Failure> outcome(const Assignment& attempt, const Dice& dice) {
    const std::uint64_t luck = dice.below(40, "luck");
    if (luck < 5) {
      return failed("flaky", true);
    }
    if (luck < 8) {
      return failed("broken", false);
    }
    if (luck == 8) {
      Failure later = failed("later", true);
      later.retry_after_ms = 1500;
      return later;
    }
    const std::string result =
        R"({"n":)" + std::to_string(luck % 5) + (luck % 3 == 0 ? R"(,"late":[1,2]})" : "}");
    const std::string_view key = attempt.runnable_key.view();
    if (luck < 11 && key.find(":deferred") == std::string_view::npos) {
      return completed(result, R"({"defer":{"reason":"early","schedule_in_ms":700}})");
    }
    if (luck == 11) {
      return completed(result, R"({"continue_as_new":{"key":"next","input":{"n":1,"list":[4]}}})");
    }
    if (luck == 13) {
      return completed(result, added_steps(attempt, dice));
    }
    return completed(result, luck == 12 ? R"({"schedule_in_ms":300})" : "");
  }

  // Two steps, one after the other; sometimes in a circle, which the run refuses as a whole.
  static std::string added_steps(const Assignment& attempt, const Dice& dice) {
    const std::string id = "g" + std::to_string(dice.below(4, "added"));
    const std::string circle = dice.chance(15, "circle")
                                   ? R"(,{"kind":"edge","id":")" + id + R"(c","from":")" + id +
                                         R"(b","to":")" + id + R"("})"
                                   : "";
    const std::string from(parse_activation(attempt.step.view()).step);
    return R"({"graph":{"additions":[{"kind":"node","id":")" + id +
           R"(","handler":"h","retry":{"max_attempts":2,"delay_ms":40}},{"kind":"node","id":")" +
           id + R"(b","handler":"h","input":{"x":1}},{"kind":"edge","id":")" + id +
           R"(e","from":")" + id + R"(","to":")" + id + R"(b"},{"kind":"edge","id":")" + id +
           R"(f","from":")" + from + R"(","to":")" + id + R"("})" + circle + "]}}";
  }

  Dice dice_;
  std::vector<std::string> definitions_;
};

}  // namespace

std::unique_ptr<Scenario> make_generated_scenario(std::uint64_t seed) {
  return std::make_unique<GeneratedScenario>(seed);
}

}  // namespace holdfast::sim

// TestEngine::Impl: one engine after another on one store, the virtual clock, stubs, and what was
// called.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/embed/engine_parts.h"
#include "apps/testkit/crash_store.h"
#include "base/random.h"
#include "holdfast/testing.h"
#include "storage/log/memory_store.h"

namespace holdfast::testing {

inline TimeMs time_ms(Time time) {
  return TimeMs{std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count()};
}
inline Time time_of(TimeMs time) { return Time(std::chrono::milliseconds(time.value)); }

class TestEngine::Impl {
 public:
  explicit Impl(TestOptions options);

  void handle(std::string_view name, StepHandler handler);
  Stub& stub(std::string_view name);
  void remove_stub(std::string_view name) { stubs_.erase(std::string(name)); }

  // A command that is sent again when a planned crash interrupts it: it must be idempotent.
  template <typename Command>
  auto execute(Command command) {
    for (;;) {
      auto result = command(live());
      if (!restart_after_crash()) {
        return result;
      }
    }
  }
  // The same, and an error fails the test.
  template <typename Command>
  auto must(std::string_view what, Command command) {
    auto result = execute(std::move(command));
    if (!result.ok()) {
      fail(std::string(what) + ": " + result.error().text());
    }
    if constexpr (requires { std::move(result).value(); }) {
      return std::move(result).value();
    }
  }

  std::string start(std::string_view workflow, std::string_view input, StartOptions options);
  std::vector<std::string> runs(std::string_view workflow);

  // Until `done` returns true, or nothing is left to do.
  void run_until(const std::function<bool()>& done);
  void skip_to(TimeMs time);
  [[nodiscard]] TimeMs now() const { return now_; }
  [[nodiscard]] TimeSkip time_skip() const { return options_.skip; }

  void crash();
  void restart();
  enum class Crash : std::uint8_t { before, after };
  void plan_crash(std::string_view name, Crash when);
  void plan_crash_after_commits(std::uint64_t commits);
  [[nodiscard]] std::uint64_t crashes() const { return crashes_; }

  [[nodiscard]] std::vector<HandlerCall> calls(std::string_view name) const;
  [[nodiscard]] const std::vector<LogMessage>& logs() const { return logs_; }
  // Another one each time.
  std::string new_key();
  // Fails when the engine has crashed.
  Engine& live();
  [[noreturn]] static void fail(const std::string& what) { throw TestFailure(what); }

 private:
  void open();
  Result<std::unique_ptr<Store>> open_handle();
  void register_with_engine(const std::string& name);
  StepResult call(const std::string& handler, StepContext& context, std::string_view input);
  StepResult execute_step(const std::string& handler, StepContext& context, std::string_view input);
  // The power fails if that is planned for a call of this handler.
  bool crash_at(const std::string& handler, const StepContext& context, Crash when);
  // True when a planned crash had happened: the engine runs again.
  bool restart_after_crash();
  // Executes every step that is ready.
  void drain();
  TimesAhead settle();
  void walk_to(TimeMs time);
  void count_step();
  void check_no_handler(std::string_view what) const;

  TestOptions options_;
  TimeMs now_;
  SeededRandom random_;
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::map<std::string, StepHandler, std::less<>> handlers_;
  std::map<std::string, Stub, std::less<>> stubs_;
  std::map<std::string, Crash, std::less<>> plans_;  // by handler or step
  std::vector<HandlerCall> calls_;
  std::vector<LogMessage> logs_;
  std::optional<std::string> running_;  // the handler that is being called
  std::optional<std::string> failure_;  // of the test, inside a handler
  std::uint64_t steps_ = 0;             // of the current call
  std::uint64_t crashes_ = 0;
  std::uint64_t incarnation_ = 0;

  std::shared_ptr<Power> power_;
  std::optional<Engine> engine_;  // ends first
};

}  // namespace holdfast::testing

// The agent of the C++ client: executes the commands of driver.py with holdfast::Client. README.md
// describes the protocol.
#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/json_slice.h"
#include "holdfast/client.h"
#include "holdfast/json.h"

namespace holdfast {
namespace {

using std::chrono::milliseconds;

// Writes one line for the driver.
void say(const JsonObject& event) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  std::cout << event.text() << '\n' << std::flush;
}

JsonObject event_of(std::string_view kind) {
  JsonObject event;
  event.add("event", kind);
  return event;
}

JsonObject step_event(std::string_view kind, const StepInfo& info) {
  JsonObject event = event_of(kind);
  event.add("run_id", info.run_id).add("step", info.step).add("attempt", info.attempt);
  event.add("runnable_key", info.runnable_key);
  return event;
}

// What a handler does, and whether it may continue.
class Plan {
 public:
  explicit Plan(std::string json)
      : json_(std::move(json)), open_(!json_boolean(json_, "hold").value_or(false)) {}

  void release() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

  // Returns when it is released, or must stop.
  void wait(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [this] { return open_; });
  }

  [[nodiscard]] std::optional<std::string> progress() const {
    return json_value(json_, "progress");
  }

  [[nodiscard]] StepResult answer(std::uint32_t attempt, std::string_view input) const {
    const std::string answers = json_value(json_, "answers").value_or("[]");
    JsonSlicer slicer(answers);
    std::string chosen = R"({"outcome":"ok"})";
    for (std::uint32_t n = 0; n < attempt; ++n) {
      const auto next = slicer.next();
      if (!next.has_value()) {
        break;
      }
      chosen = next->value;
    }
    const std::string code = json_text(chosen, "code").value_or("");
    const std::string message = json_text(chosen, "message").value_or("");
    const std::string outcome = json_text(chosen, "outcome").value_or("ok");
    if (outcome == "retry") {
      return StepResult::retry(code, message);
    }
    if (outcome == "fail") {
      return StepResult::fail(code, message);
    }
    return StepResult::ok(
        json_value(chosen, "result").value_or(JsonObject().add_json("echo", input).text()));
  }

 private:
  const std::string json_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool open_;
};

StepResult carry_out(const std::string& handler, Plan& plan, StepContext& context,
                     std::string_view input) {
  JsonObject called = step_event("called", context.info());
  called.add("handler", handler).add_json("input", input);
  called.add("idempotency_key", context.info().idempotency_key);
  say(called);
  const std::stop_callback on_stop(context.stop(),
                                   [&] { say(step_event("told_to_stop", context.info())); });
  if (const auto progress = plan.progress()) {
    context.progress(*progress);
  }
  plan.wait(context.stop());
  return plan.answer(context.attempt(), input);
}

void observe(const WorkEvent& seen) {
  switch (seen.kind) {
    case WorkEvent::Kind::step_reported:
      say(step_event("reported", seen.step).add("counted", true));
      return;
    case WorkEvent::Kind::step_lost:
      say(step_event("reported", seen.step).add("counted", false).add("message", seen.message));
      return;
    case WorkEvent::Kind::unreachable:
    case WorkEvent::Kind::reachable:
    case WorkEvent::Kind::draining:
      return;
  }
}

class Agent {
 public:
  Agent(std::string url, std::string token) : url_(std::move(url)) {
    options_.token = std::move(token);
    options_.name = "conformance";
    options_.built_in_steps = false;
    options_.observe = observe;
  }

  void stop() { stop_.request_stop(); }

  // Returns at once for every command.
  void obey(const std::string& command) {
    const std::string what = json_text(command, "do").value_or("");
    if (what == "stop") {
      stop();
    } else if (what == "release") {
      const std::scoped_lock lock(mutex_);
      plans_.at(json_text(command, "handler").value_or(""))->release();
    } else if (what == "work") {
      read_plans(json_value(command, "handlers").value_or("{}"));
      worker_ = std::thread([this, command] { work(command); });
    } else {
      // They end with the process.
      std::thread([this, command, what] { answer(command, what); }).detach();
    }
  }

  // Waits until the worker has stopped; returns at once if there is none.
  void finish() {
    stop();
    if (worker_.joinable()) {
      worker_.join();
    }
  }

 private:
  // Connects at the first use: the server may not be running yet.
  Result<Client*> client() {
    const std::scoped_lock lock(connecting_);
    if (client_ == nullptr) {
      HOLDFAST_TRY(Client made, Client::connect(url_, options_));
      client_ = std::make_unique<Client>(std::move(made));
    }
    return client_.get();
  }

  void read_plans(const std::string& handlers) {
    const std::scoped_lock lock(mutex_);
    JsonSlicer slicer(handlers);
    while (const auto member = slicer.next()) {
      plans_.emplace(member->name, std::make_shared<Plan>(std::string(member->value)));
    }
  }

  Result<void> work_until_stopped(const std::string& command) {
    say(event_of("working"));
    HOLDFAST_TRY(Client* const client, this->client());
    for (const auto& [name, plan] : plans_) {
      HOLDFAST_CHECK(client->register_handler(
          name, [name = name, plan = plan](StepContext& context, std::string_view input) {
            return carry_out(name, *plan, context, input);
          }));
    }
    const auto threads = json_integer(command, "concurrency").value_or(1);
    return client->work(static_cast<std::size_t>(threads), stop_.get_token());
  }

  void work(const std::string& command) {
    const Result<void> worked = work_until_stopped(command);
    if (!worked.ok()) {
      say(event_of("failed").add("code", error_info(worked.error().code()).name));
    }
    say(event_of("stopped"));
    std::_Exit(worked.ok() ? 0 : 1);
  }

  Result<std::string> result_of(const std::string& command, const std::string& what) {
    HOLDFAST_TRY(Client* const client, this->client());
    const std::string run = json_text(command, "run_id").value_or("");
    if (what == "start") {
      StartOptions options;
      options.idempotency_key = json_text(command, "key").value_or("");
      HOLDFAST_TRY(const StartedRun started,
                   client->start(json_text(command, "workflow").value_or(""),
                                 json_value(command, "input").value_or("{}"), options));
      return JsonObject().add("run_id", started.run_id).add("existed", started.existed).text();
    }
    if (what == "outcome") {
      HOLDFAST_TRY(
          const RunView ended,
          client->wait(run, milliseconds(json_integer(command, "timeout_ms").value_or(60'000))));
      return JsonObject().add("status", ended.status).add("terminal", ended.terminal).text();
    }
    if (what == "signal") {
      HOLDFAST_CHECK(client->signal(run, json_text(command, "name").value_or(""),
                                    json_value(command, "data").value_or("{}")));
      return std::string("{}");
    }
    HOLDFAST_CHECK(client->cancel(run));
    return std::string("{}");
  }

  void answer(const std::string& command, const std::string& what) {
    const auto result = result_of(command, what);
    JsonObject event = event_of(result.ok() ? "done" : "failed");
    event.add("id", json_integer(command, "id").value_or(0));
    if (result.ok()) {
      event.add_json("result", result.value());
    } else {
      event.add("code", error_info(result.error().code()).name);
      event.add("message", result.error().text());
    }
    say(event);
  }

  const std::string url_;
  ClientOptions options_;
  std::mutex connecting_;
  std::unique_ptr<Client> client_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Plan>, std::less<>> plans_;
  std::stop_source stop_;
  std::thread worker_;
};

// A thread waits for SIGTERM, so that no signal handler is needed.
void stop_at_sigterm(Agent& agent) {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  std::thread([&agent, wanted] {
    int number = 0;
    sigwait(&wanted, &number);
    agent.stop();
  }).detach();
}

int run(int count, char** arguments) {
  std::string url;
  std::string token;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = arguments[i];
    (name == "--server" ? url : token) = arguments[i + 1];
  }
  Agent agent(url, token);
  stop_at_sigterm(agent);
  say(event_of("ready").add_json("can",
                                 R"(["start","work","signal","cancel","outcome","progress"])"));
  std::string line;
  while (std::getline(std::cin, line)) {
    agent.obey(line);
  }
  agent.finish();
  std::_Exit(0);
}

}  // namespace
}  // namespace holdfast

int main(int count, char** arguments) { return holdfast::run(count, arguments); }

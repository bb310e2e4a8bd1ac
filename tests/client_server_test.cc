// Client against a real server: what a client program sees when the engine runs elsewhere.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "apps/server/server.h"
#include "holdfast/client.h"
#include "holdfast/json.h"
#include "tests/support/gone_calls.h"
#include "tests/support/temp_dir.h"

namespace holdfast::client_server_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ClientServer : public testing::Test {
 protected:
  void SetUp() override { start("127.0.0.1:0"); }

  void start(const std::string& listen) {
    ServerOptions options;
    options.store = "sqlite:" + dir_.file("store.db");
    options.shown_store = options.store;
    options.http.listen = {listen};
    auto started = Server::start(options, clock_, random_, log_);
    ASSERT_TRUE(started.ok()) << started.error().text();
    server_ = std::move(started).value();
    url_ = server_->urls().front();
  }
  // Restarts on the same store and address.
  void restart() {
    server_->stop(seconds(5));
    server_ = nullptr;
    start(url_.substr(url_.find("//") + 2));
  }
  Client connect(const ClientOptions& options = {}) {
    auto client = Client::connect(url_, options);
    EXPECT_TRUE(client.ok()) << client.error().text();
    return std::move(client).value();
  }

  TempDir dir_;
  SystemClock clock_;
  SystemRandom random_;
  ServerLog log_{clock_, LogLevel::error, LogForm::text, [](std::string_view) {}};
  std::unique_ptr<Server> server_;
  std::string url_;
};

// Works until it is destroyed.
class Working {
 public:
  explicit Working(Client& client, std::size_t threads = 2)
      : result_(std::async(std::launch::async, [this, &client, threads] {
          return client.work(threads, stop_.get_token());
        })) {}
  ~Working() {
    stop_.request_stop();
    const auto ended = result_.get();
    EXPECT_TRUE(ended.ok()) << ended.error().text();
  }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

 private:
  std::stop_source stop_;
  std::future<Result<void>> result_;
};

Workflow two_steps() {
  return Workflow("order").version("1").step("charge").step("ship", {.after = {"charge"}});
}

TEST_F(ClientServer, a_client_registers_starts_works_and_waits_like_an_engine) {
  Client client = connect();
  ASSERT_TRUE(client.register_workflow(two_steps()).ok());
  std::atomic<int> calls = 0;
  for (const char* name : {"charge", "ship"}) {
    ASSERT_TRUE(client
                    .register_handler(name,
                                      [&, name](StepContext& context, std::string_view) {
                                        ++calls;
                                        EXPECT_EQ(context.step(), name);
                                        return StepResult::ok(JsonObject().add(name, 1).text());
                                      })
                    .ok());
  }
  const Working working(client);
  const auto started = client.start("order", R"({"total":12})");
  ASSERT_TRUE(started.ok()) << started.error().text();
  const auto view = client.wait(started.value().run_id, seconds(30));
  ASSERT_TRUE(view.ok()) << view.error().text();
  EXPECT_EQ(view.value().status, "completed");
  EXPECT_EQ(view.value().result, R"({"total":12,"charge":1,"ship":1})");
  EXPECT_EQ(view.value().steps.size(), 2U);
  EXPECT_EQ(calls, 2);
  const auto why = client.explain(started.value().run_id);
  ASSERT_TRUE(why.ok()) << why.error().text();
  EXPECT_EQ(why.value().reason, "terminal");
  const auto page = client.list({.workflow = "order"});
  ASSERT_TRUE(page.ok()) << page.error().text();
  EXPECT_EQ(page.value().runs.size(), 1U);
}

TEST_F(ClientServer, dead_letters_are_listed_and_decided_as_by_an_engine) {
  Client client = connect();
  ASSERT_TRUE(client.register_workflow(Workflow("order").step("charge")).ok());
  std::atomic<bool> bank_is_up = false;
  ASSERT_TRUE(client
                  .register_handler("charge",
                                    [&](StepContext&, std::string_view) {
                                      return bank_is_up ? StepResult::ok()
                                                        : StepResult::fail("bank_down", "");
                                    })
                  .ok());
  const Working working(client);
  std::vector<std::string> runs;
  for (int i = 0; i < 2; ++i) {
    runs.push_back(client.start("order").value().run_id);
    EXPECT_EQ(client.wait(runs.back(), seconds(30)).value().status, "failed");
  }
  const auto page = client.dead_letters({.code = "bank_down", .reason = "exhausted"});
  ASSERT_TRUE(page.ok()) << page.error().text();
  ASSERT_EQ(page.value().dead_letters.size(), 2U);
  EXPECT_EQ(page.value().dead_letters[0].run_id, runs[0]);
  EXPECT_EQ(page.value().dead_letters[0].step, "charge");
  EXPECT_GE(page.value().dead_letters[0].age_ms, 0);
  bank_is_up = true;
  std::string replay;
  for (int i = 0; i < 2; ++i) {
    const auto redriven = client.redrive_dead_letters({.run_id = runs[0]});
    ASSERT_TRUE(redriven.ok()) << redriven.error().text();
    ASSERT_EQ(redriven.value().matched.size(), 1U);
    EXPECT_TRUE(replay.empty() || replay == redriven.value().matched[0].replay_run_id);
    replay = redriven.value().matched[0].replay_run_id;
  }
  EXPECT_EQ(client.wait(replay, seconds(30)).value().status, "completed");
  ASSERT_TRUE(client.discard_dead_letters({.all = true}).ok());
  EXPECT_TRUE(client.dead_letters().value().dead_letters.empty());
  EXPECT_EQ(client.redrive_dead_letters({}).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(client.dead_letters({.limit = 0}).error().code(), ErrorCode::invalid_argument);
}

TEST_F(ClientServer, errors_are_those_of_an_engine) {
  Client client = connect();
  EXPECT_EQ(client.start("nothing").error().code(), ErrorCode::unknown_workflow);
  EXPECT_EQ(client.inspect("0192aaaa-0000-7000-8000-000000000000").error().code(),
            ErrorCode::run_not_found);
  ASSERT_TRUE(client.register_workflow(two_steps()).ok());
  const auto run = client.start("order", "{}", {.idempotency_key = "k"});
  ASSERT_TRUE(run.ok());
  EXPECT_FALSE(run.value().existed);
  EXPECT_TRUE(client.start("order", "{}", {.idempotency_key = "k"}).value().existed);
  EXPECT_EQ(client.start("order", R"({"a":1})", {.idempotency_key = "k"}).error().code(),
            ErrorCode::idempotency_conflict);
  EXPECT_EQ(client.approve(run.value().run_id, {.actor = "ann"}).error().code(),
            ErrorCode::invalid_transition);
  ASSERT_TRUE(client.cancel(run.value().run_id).ok());
  EXPECT_EQ(client.inspect(run.value().run_id).value().status, "cancelled");
}

TEST_F(ClientServer, a_window_of_a_schedule_is_delivered_as_to_an_engine) {
  Client client = connect();
  const auto registered = client.register_workflow(
      Workflow("report")
          .cron("nightly", {.expression = "10 22 * * *",
                            .timezone = "UTC",
                            .idempotency = CronTrigger::Idempotency::skip_duplicate,
                            .delivery = CronTrigger::Delivery::external})
          .step("write"));
  ASSERT_TRUE(registered.ok()) << registered.error().text();
  const DeliverOptions options{.window = CronWindow{1'794'780'600'000, 1'794'867'000'000}};
  const auto first = client.deliver_cron("report", "nightly", options);
  ASSERT_TRUE(first.ok()) << first.error().text();
  EXPECT_EQ(first.value().outcome, DeliveredRun::Outcome::started);
  const auto again = client.deliver_cron("report", "nightly", options);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again.value().outcome, DeliveredRun::Outcome::skipped);
  EXPECT_EQ(again.value().run_id, first.value().run_id);
  const auto none = client.deliver_cron("report", "daily", options);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code(), ErrorCode::invalid_trigger);
}

TEST_F(ClientServer, exec_steps_are_executed) {
  Client client = connect();
  ASSERT_TRUE(client
                  .register_workflow(Workflow("shell").version("1").exec(
                      "say", std::vector<std::string>{"sh", "-c", "echo '{\"said\":1}'"}))
                  .ok());
  const Working working(client);
  const auto run = client.start("shell");
  ASSERT_TRUE(run.ok());
  const auto view = client.wait(run.value().run_id, seconds(30));
  ASSERT_TRUE(view.ok()) << view.error().text();
  EXPECT_EQ(view.value().status, "completed") << view.value().json;
  EXPECT_EQ(view.value().result, R"({"said":1})");
}

TEST_F(ClientServer, every_step_is_executed_once_while_the_server_restarts) {
  Client client = connect();
  ASSERT_TRUE(client.register_workflow(two_steps()).ok());
  std::mutex mutex;
  std::map<std::string, int> done;  // by run and step
  for (const char* name : {"charge", "ship"}) {
    ASSERT_TRUE(client
                    .register_handler(name,
                                      [&](StepContext& context, std::string_view) {
                                        const std::scoped_lock lock(mutex);
                                        ++done[context.run_id() + context.step()];
                                        return StepResult::ok();
                                      })
                    .ok());
  }
  constexpr int kRuns = 300;
  std::vector<std::string> runs;
  {
    const Working working(client, 4);
    for (int i = 0; i < kRuns; ++i) {
      const auto started = client.start("order");
      ASSERT_TRUE(started.ok()) << started.error().text();
      runs.push_back(started.value().run_id);
      if (i == kRuns / 3 || i == 2 * kRuns / 3) {
        restart();
      }
    }
    for (const std::string& run : runs) {
      const auto view = client.wait(run, seconds(60));
      ASSERT_TRUE(view.ok()) << view.error().text();
      EXPECT_EQ(view.value().status, "completed");
    }
  }
  EXPECT_EQ(done.size(), 2U * kRuns);
  for (const auto& [key, times] : done) {
    EXPECT_EQ(times, 1) << key << ": an orderly shutdown loses no claim";
  }
}

TEST_F(ClientServer, a_cancelled_run_stops_its_handler) {
  Client client = connect();
  ASSERT_TRUE(
      client.register_workflow(Workflow("slow").version("1").step("wait", {.lease = seconds(1)}))
          .ok());
  std::promise<std::string> begun;
  std::promise<void> stopped;
  ASSERT_TRUE(client
                  .register_handler("wait",
                                    [&](StepContext& context, std::string_view) {
                                      std::promise<void> requested;
                                      const std::stop_callback callback(
                                          context.stop(), [&] { requested.set_value(); });
                                      begun.set_value(context.run_id());
                                      requested.get_future().wait();
                                      stopped.set_value();
                                      return StepResult::ok();
                                    })
                  .ok());
  const Working working(client);
  const auto started = client.start("slow");
  ASSERT_TRUE(started.ok()) << started.error().text();
  ASSERT_TRUE(client.cancel(begun.get_future().get()).ok());
  EXPECT_EQ(stopped.get_future().wait_for(seconds(30)), std::future_status::ready);
}

TEST_F(ClientServer, every_function_of_a_moved_from_client_returns_an_error) {
  Client client = connect();
  const Client taken = std::move(client);
  GoneCalls calls = common_calls(client);  // NOLINT(bugprone-use-after-move)
  calls["server_json"] = [&] { return code_of(client.server_json()); };
  expect_all(calls, "invalid_argument");
}

}  // namespace
}  // namespace holdfast::client_server_test

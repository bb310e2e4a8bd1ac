// Client::work against a server that is scripted.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "holdfast/client.h"
#include "holdfast/json.h"
#include "tests/support/fake_work.h"

namespace holdfast::client_work_test {
namespace {

using client::FakeWork;
using net::ScriptedServer;
using net::SeenRequest;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A client that works in a thread until it is stopped.
class Working {
 public:
  Working(const std::string& url, ClientOptions options, StepHandler handler,
          std::size_t threads = 2)
      : client_(connect(url, options)) {
    EXPECT_TRUE(client_.register_handler("work", std::move(handler)).ok());
    result_ = std::async(std::launch::async,
                         [this, threads] { return client_.work(threads, stop_.get_token()); });
  }
  ~Working() { stop_.request_stop(); }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

  void request_stop() { stop_.request_stop(); }
  Result<void> end() {
    stop_.request_stop();
    return result_.get();
  }
  std::future<Result<void>>& result() { return result_; }

 private:
  static Client connect(const std::string& url, const ClientOptions& options) {
    auto client = Client::connect(url, options);
    EXPECT_TRUE(client.ok()) << client.error().text();
    return std::move(client).value();
  }

  Client client_;
  std::stop_source stop_;
  std::future<Result<void>> result_;
};

StepResult say_ok(StepContext& /*context*/, std::string_view input) {
  return StepResult::ok(JsonObject().add("got", *json_integer(input, "n")).text());
}

using Reports = std::map<std::string, std::vector<std::string>>;  // by claim

std::string outcome_of(const std::vector<std::string>& reports) {
  return reports.empty() ? "" : json_text(reports.front(), "outcome").value_or("?");
}

// The reports of each claim, once so many are there.
Reports reports_of(FakeWork& work, std::size_t count) {
  Reports reports;
  EXPECT_TRUE(work.wait_until([&] {
    reports = work.reports;
    return reports.size() == count;
  })) << reports.size();
  return reports;
}

// Every claim is reported, and the result is that of its input. A report whose response was lost is
// repeated unchanged.
void expect_each(const Reports& found) {
  for (const auto& [claim_id, reports] : found) {
    for (const std::string& report : reports) {
      EXPECT_EQ(report, reports.front()) << claim_id;
    }
    const auto key = json_text(reports.front(), "runnable_key").value();
    EXPECT_EQ(json_value(reports.front(), "result"), "{\"got\":" + key.substr(1) + "}");
    EXPECT_EQ(json_text(reports.front(), "token"), "t" + claim_id.substr(1));
  }
}

void expect_each_once(FakeWork& work, std::size_t count) {
  const Reports found = reports_of(work, count);
  expect_each(found);
  for (const auto& [claim_id, reports] : found) {
    EXPECT_EQ(reports.size(), 1U) << claim_id;
  }
}

TEST(ClientWork, every_attempt_is_executed_and_reported_once) {
  FakeWork work;
  work.add(3000);
  net::ScriptedServer server(work.script());
  Working working(server.url(), {}, say_ok, 3);
  expect_each_once(work, 3000);
  EXPECT_TRUE(working.end().ok());
}

TEST(ClientWork, reports_go_together_and_more_is_claimed_ahead_when_handlers_are_short) {
  FakeWork work;
  work.add(20'000);
  net::ScriptedServer server(work.script());
  const auto begin = std::chrono::steady_clock::now();
  Working working(server.url(), {}, say_ok, 2);
  expect_each_once(work, 20'000);
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  RecordProperty("steps_per_second", std::to_string(20'000 / took));
  EXPECT_LT(work.report_calls, 2000U);
  EXPECT_GT(work.largest_claim, 100U);
}

TEST(ClientWork, long_handlers_are_not_claimed_ahead) {
  FakeWork work;
  work.add(50);
  net::ScriptedServer server(work.script());
  std::promise<void> release;
  auto released = release.get_future().share();
  Working working(
      server.url(), {},
      [&](StepContext& context, std::string_view input) {
        released.wait();
        return say_ok(context, input);
      },
      2);
  ASSERT_TRUE(work.wait_until([&] { return work.given == 2; }));
  EXPECT_EQ(work.with_lock<std::size_t>([&] { return work.largest_claim; }), 2U);
  release.set_value();
  expect_each_once(work, 50);
}

TEST(ClientWork, a_handler_sees_its_attempt_and_says_how_it_ended) {
  FakeWork work;
  work.add(1, 30'000, R"(,"trace":{"traceparent":"00-ab-cd-01"},"progress":{"page":7})");
  work.add(6);
  net::ScriptedServer server(work.script());
  std::promise<StepInfo> info;
  std::promise<std::string> before;
  Working working(
      server.url(), {},
      [&](StepContext& context, std::string_view input) -> StepResult {
        switch (*json_integer(input, "n")) {
          case 0:
            info.set_value(context.info());
            before.set_value(context.trace() + " " + context.previous_progress());
            return StepResult::ok("{}", {.schedule_in = seconds(2)});
          case 1:
            return StepResult::retry("busy", "try later");
          case 2:
            return StepResult::retry_after("busy", "later", milliseconds(1500));
          case 3:
            return StepResult::fail("bad", "never");
          case 4:
            return StepResult::defer("early", seconds(3));
          case 5:
            return StepResult::continue_as_new("{\"a\":1}", "k");
          default:
            throw std::runtime_error("oh no");
        }
      },
      1);
  ASSERT_TRUE(work.wait_until([&] { return work.reports.size() == 7; }));
  const StepInfo seen = info.get_future().get();
  EXPECT_EQ(seen.run_id, FakeWork::run_id(0));
  EXPECT_EQ(seen.workflow, "order");
  EXPECT_EQ(seen.step, "charge");
  EXPECT_EQ(seen.idempotency_key, "i0");
  EXPECT_EQ(seen.attempt, 2U);
  EXPECT_EQ(seen.visit, 3U);
  EXPECT_EQ(seen.item, 4);
  EXPECT_EQ(before.get_future().get(), "00-ab-cd-01 {\"page\":7}");
  std::map<std::string, std::string> by_key;
  for (const auto& [claim_id, reports] : work.reports) {
    by_key[*json_text(reports.front(), "runnable_key")] = reports.front();
  }
  const auto has = [&](const std::string& key, std::string_view part) {
    EXPECT_NE(by_key[key].find(part), std::string::npos) << by_key[key];
  };
  has("k0", R"("outcome":"ok","result":{},"schedule_in_ms":2000)");
  has("k1", R"("outcome":"retry","code":"busy","message":"try later")");
  has("k2", R"("retry_after_ms":1500)");
  has("k3", R"("outcome":"fail","code":"bad","message":"never")");
  has("k4", R"("outcome":"defer","reason":"early","schedule_in_ms":3000)");
  has("k5", R"("outcome":"continue_as_new","key":"k","input":{"a":1})");
  has("k6", R"("outcome":"fail","code":"step_exception")");
  has("k6", R"(std::runtime_error)");
}

TEST(ClientWork, claims_are_kept_alive_with_what_the_handler_says) {
  FakeWork work;
  work.add(1, 150);
  net::ScriptedServer server(work.script());
  Working working(server.url(), {}, [&](StepContext& context, std::string_view) {
    context.progress("{\"page\":1}");
    context.progress("no json");
    EXPECT_TRUE(work.wait_until([&] { return work.heartbeats["c0"].size() >= 4; }));
    return StepResult::ok();
  });
  ASSERT_TRUE(work.wait_until([&] { return work.reports.size() == 1; }));
  EXPECT_EQ(work.heartbeats["c0"].front(), "{\"page\":1}");
  EXPECT_EQ(outcome_of(work.reports["c0"]), "ok");
  EXPECT_TRUE(working.end().ok());
}

TEST(ClientWork, a_handler_whose_claim_is_lost_is_stopped_and_its_result_not_sent) {
  FakeWork work;
  work.lost = {"c0"};
  work.add(1, 150);
  net::ScriptedServer server(work.script());
  std::promise<bool> stopped;
  std::promise<WorkEvent> lost_event;
  ClientOptions options;
  options.observe = [&](const WorkEvent& event) {
    if (event.kind == WorkEvent::Kind::step_lost) {
      lost_event.set_value(event);
    }
  };
  Working working(server.url(), options, [&](StepContext& context, std::string_view) {
    std::promise<void> requested;
    const std::stop_callback callback(context.stop(), [&] { requested.set_value(); });
    stopped.set_value(requested.get_future().wait_for(seconds(30)) == std::future_status::ready);
    return StepResult::ok();
  });
  EXPECT_TRUE(stopped.get_future().get());
  EXPECT_EQ(lost_event.get_future().get().step.run_id, FakeWork::run_id(0));
  EXPECT_TRUE(working.end().ok());
  EXPECT_TRUE(work.reports.empty());
}

TEST(ClientWork, a_handler_of_a_compensating_run_is_stopped_and_still_reports) {
  FakeWork work;
  work.to_stop = {"c0"};
  work.add(1, 150);
  net::ScriptedServer server(work.script());
  Working working(server.url(), {}, [&](StepContext& context, std::string_view) {
    std::promise<void> requested;
    const std::stop_callback callback(context.stop(), [&] { requested.set_value(); });
    const bool in_time = requested.get_future().wait_for(seconds(30)) == std::future_status::ready;
    return StepResult::fail(in_time ? "stopped" : "late", "");
  });
  ASSERT_TRUE(work.wait_until([&] { return work.reports.size() == 1; }));
  EXPECT_EQ(json_text(work.reports["c0"].front(), "code"), "stopped");
}

TEST(ClientWork, what_waits_to_be_executed_is_kept_alive_too_or_dropped_when_it_is_lost) {
  FakeWork work;
  work.lost = {"c1"};
  net::ScriptedServer server(work.script());
  // Short ones first, so that it claims ahead.
  work.add(2000);
  std::atomic<bool> slow = false;
  std::atomic<int> slow_calls = 0;
  Working working(
      server.url(), {},
      [&](StepContext& context, std::string_view input) {
        if (slow && slow_calls++ == 0) {
          EXPECT_TRUE(work.wait_until([&] {
            return std::count_if(work.heartbeats.begin(), work.heartbeats.end(),
                                 [](const auto& beat) { return beat.second.size() >= 2; }) >= 3;
          }));
        }
        return say_ok(context, input);
      },
      1);
  expect_each_once(work, 2000);
  slow = true;
  work.with_lock<int>([&] {
    work.lost = {"c2001"};
    return 0;
  });
  work.add(4, 150);
  ASSERT_TRUE(work.wait_until([&] { return work.reports.size() == 2003; }));
  EXPECT_FALSE(work.with_lock<bool>([&] { return work.reports.contains("c2001"); }));
}

TEST(ClientWork, what_was_claimed_is_executed_and_reported_after_stop) {
  FakeWork work;
  work.add(2);
  net::ScriptedServer server(work.script());
  std::promise<void> release;
  auto released = release.get_future().share();
  std::atomic<int> running = 0;
  std::promise<void> both;
  Working working(
      server.url(), {},
      [&](StepContext& context, std::string_view input) {
        if (++running == 2) {
          both.set_value();
        }
        released.wait();
        EXPECT_FALSE(context.stop().stop_requested());
        return say_ok(context, input);
      },
      2);
  both.get_future().wait();
  working.request_stop();
  work.add(5);
  EXPECT_EQ(working.result().wait_for(milliseconds(100)), std::future_status::timeout);
  release.set_value();
  EXPECT_TRUE(working.result().get().ok());
  expect_each_once(work, 2);
  EXPECT_EQ(work.given, 2U) << "nothing new is claimed";
}

TEST(ClientWork, waiting_for_work_ends_at_once_when_it_is_stopped) {
  FakeWork work;
  net::ScriptedServer server(work.script());
  Working working(server.url(), {}, say_ok);
  ASSERT_TRUE(work.wait_until([&] { return work.waiting == 1; }));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(working.end().ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(15));
  work.drain();  // the one that was given up
}

// The response to a claim is lost: the request is repeated, and no attempt is forgotten.
TEST(ClientWork, a_claim_without_a_response_is_repeated) {
  FakeWork work;
  std::atomic<int> cut = 0;
  work.answers = [&](const net::SeenRequest& request) {
    return request.target != "/v1/work/claim" || ++cut % 2 == 0;
  };
  work.add(300);
  net::ScriptedServer server(work.script());
  Working working(server.url(), {}, say_ok);
  expect_each_once(work, 300);
  EXPECT_TRUE(working.end().ok());
  EXPECT_EQ(work.given, 300U);
  EXPECT_GE(work.again_calls, 1U);
}

TEST(ClientWork, a_report_without_a_response_is_repeated_with_the_same_claim) {
  FakeWork work;
  std::atomic<int> cut = 0;
  work.answers = [&](const net::SeenRequest& request) {
    return request.target != "/v1/work/report" || ++cut % 2 == 0;
  };
  work.add(500);
  net::ScriptedServer server(work.script());
  Working working(server.url(), {}, say_ok);
  ASSERT_TRUE(work.wait_until([&] { return work.reports.size() == 500; }));
  EXPECT_TRUE(working.end().ok());
  EXPECT_EQ(work.given, 500U) << "no claim was lost";
  for (const auto& [claim_id, reports] : work.reports) {
    EXPECT_LE(reports.size(), 2U);
    EXPECT_EQ(reports.front(), reports.back());
  }
}

TEST(ClientWork, a_server_that_is_restarted_is_found_again) {
  FakeWork work;
  std::promise<void> unreachable;
  std::promise<void> reachable;
  ClientOptions options;
  options.observe = [&](const WorkEvent& event) {
    if (event.kind == WorkEvent::Kind::unreachable) {
      unreachable.set_value();
    } else if (event.kind == WorkEvent::Kind::reachable) {
      reachable.set_value();
    }
  };
  auto server = std::make_unique<net::ScriptedServer>(work.script());
  const std::uint16_t port = server->port();
  std::promise<void> release;
  auto released = release.get_future().share();
  Working working(
      server->url(), options,
      [&](StepContext& context, std::string_view input) {
        if (*json_integer(input, "n") == 100) {
          released.wait();
        }
        return say_ok(context, input);
      },
      2);
  work.add(100);
  expect_each_once(work, 100);
  work.add(1);
  ASSERT_TRUE(work.wait_until([&] { return work.given == 101; }));
  work.drain();
  server = nullptr;
  release.set_value();  // its report reaches no server
  unreachable.get_future().wait();
  work.undrain();
  work.add(100);
  server = std::make_unique<net::ScriptedServer>(work.script(), "", port);
  expect_each(reports_of(work, 201));
  reachable.get_future().wait();
  EXPECT_TRUE(working.end().ok());
}

TEST(ClientWork, a_worker_that_is_stopped_gives_a_server_that_is_gone_only_its_patience) {
  FakeWork work;
  work.add(1);
  auto server = std::make_unique<net::ScriptedServer>(work.script());
  ClientOptions options;
  options.patience = milliseconds(100);
  std::promise<void> begun;
  std::promise<void> release;
  auto released = release.get_future().share();
  Working working(
      server->url(), options,
      [&](StepContext& context, std::string_view input) {
        begun.set_value();
        released.wait();
        return say_ok(context, input);
      },
      1);
  begun.get_future().wait();
  server = nullptr;
  working.request_stop();
  release.set_value();
  const auto ended = working.result().get();
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code(), ErrorCode::unavailable);
}

TEST(ClientWork, a_refusal_ends_the_work) {
  net::ScriptedServer server([](net::ScriptedPeer& peer) {
    while (const auto seen = peer.read()) {
      if (seen->target == "/v1/server") {
        peer.answer("{}");
      } else {
        peer.answer(R"({"code":"permission_denied","detail":"role viewer may not work"})",
                    "403 Forbidden");
      }
    }
  });
  Working working(server.url(), {}, say_ok);
  const auto ended = working.result().get();
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code(), ErrorCode::permission_denied);
  EXPECT_EQ(ended.error().text(), "role viewer may not work");
}

TEST(ClientWork, a_result_that_is_not_json_fails_only_its_step) {
  FakeWork work;
  work.add(20);
  net::ScriptedServer server(work.script());
  Working working(server.url(), {}, [&](StepContext& context, std::string_view input) {
    return *json_integer(input, "n") == 7 ? StepResult::ok("no json") : say_ok(context, input);
  });
  ASSERT_TRUE(work.wait_until([&] { return work.reports.size() == 20; }));
  std::size_t failed = 0;
  for (const auto& [claim_id, reports] : work.reports) {
    failed += outcome_of(reports) == "fail" ? 1U : 0U;
  }
  EXPECT_EQ(failed, 1U);
}

TEST(ClientWork, a_child_is_started_under_the_claim_of_its_parent) {
  FakeWork work;
  work.add(1);
  net::ScriptedServer server(work.script());
  std::promise<std::string> child;
  Working working(server.url(), {}, [&](StepContext& context, std::string_view) {
    const auto started =
        context.start_child("shipping", "first", "{ \"a\": 1 }", {.cancel_with_parent = true});
    child.set_value(started.ok() ? started.value().run_id : started.error().text());
    return StepResult::ok();
  });
  EXPECT_EQ(child.get_future().get(), "child-1");
  ASSERT_TRUE(work.wait_until([&] { return work.children.size() == 1; }));
  EXPECT_NE(
      work.children.front().find(R"("parent":{"run_id":"00000000-0000-7000-8000-000000000000",)"
                                 R"("runnable_key":"k0","claim_id":"c0","token":"t0"})"),
      std::string::npos);
  EXPECT_NE(work.children.front().find(
                R"("workflow":"shipping","key":"first","input":{"a":1},"cancel_with_parent":true)"),
            std::string::npos);
}

}  // namespace
}  // namespace holdfast::client_work_test

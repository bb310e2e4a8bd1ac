#include "runs/lease_backends/lease_messages.h"

#include <gtest/gtest.h>

#include "runs/lease_backends/redis_lease_backend.h"

namespace holdfast::lease_messages_test {
namespace {

LeaseSignal signal_with(SignalKind kind, std::string body) {
  LeaseSignal signal;
  signal.kind = kind;
  signal.item_id = "run:a:1";
  signal.claim_id = "claim";
  signal.token = "token";
  signal.body = std::move(body);
  return signal;
}

TEST(LeaseMessages, the_kind_of_the_signal_decides_the_outcome) {
  struct Case {
    SignalKind kind;
    std::string body;
    ReportedOutcome outcome;
  };
  for (const Case& one : {
           Case{SignalKind::complete, "", ReportedOutcome::ok},
           Case{SignalKind::complete, R"({"outcome":"defer","schedule_in_ms":5})",
                ReportedOutcome::defer},
           Case{SignalKind::complete, R"({"outcome":"continue_as_new"})",
                ReportedOutcome::continue_as_new},
           Case{SignalKind::complete, R"({"outcome":"fail"})", ReportedOutcome::ok},
           Case{SignalKind::fail, R"({"code":"declined"})", ReportedOutcome::fail},
           Case{SignalKind::fail, R"({"outcome":"ok"})", ReportedOutcome::fail},
           Case{SignalKind::retry, R"({"retry_after_ms":9})", ReportedOutcome::retry},
       }) {
    const Report report = report_of(signal_with(one.kind, one.body), RunId{});
    EXPECT_EQ(report.outcome, one.outcome) << one.body;
    EXPECT_EQ(report.claim_id.view(), "claim");
    EXPECT_EQ(report.token.view(), "token");
    EXPECT_EQ(report.runnable_key.view(), "run:a:1");
  }
}

TEST(LeaseMessages, white_space_in_a_report_is_allowed) {
  const Report report =
      report_of(signal_with(SignalKind::complete, "{ \"result\" : { \"n\": 1 } }"), RunId{});
  EXPECT_EQ(report.result.view(), R"({"n":1})");
}

TEST(LeaseMessages, a_report_that_cannot_be_read_is_a_failure) {
  for (const char* body : {"{", "[]", "7", R"({"outcome":"maybe"})", R"({"code":1})"}) {
    const Report report = report_of(signal_with(SignalKind::complete, body), RunId{});
    EXPECT_EQ(report.outcome, ReportedOutcome::fail) << body;
    EXPECT_EQ(report.code, "invalid_report") << body;
  }
}

TEST(LeaseMessages, a_report_survives_the_way_through_a_backend) {
  Report report;
  report.outcome = ReportedOutcome::retry;
  report.code = "busy";
  report.message = "try \"later\"";
  report.details = Payload::trusted(R"({"a":[1,2]})");
  report.retry_after_ms = 250;
  EXPECT_EQ(end_of(report), SignalKind::retry);
  const Report read = report_of(signal_with(SignalKind::retry, body_of(report)), RunId{});
  EXPECT_EQ(read.code, report.code);
  EXPECT_EQ(read.message, report.message);
  EXPECT_EQ(read.details, report.details);
  EXPECT_EQ(read.retry_after_ms, report.retry_after_ms);
}

TEST(LeaseMessages, items_and_answers_survive_storage) {
  const WorkItem item{"id", "key", "handler", R"({"input":{"text":"ä\n"}})", 17};
  const auto stored = stored_item(item);
  ASSERT_TRUE(stored.ok());
  const auto read = read_stored_item(stored.value());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().id, item.id);
  EXPECT_EQ(read.value().idempotency_key, item.idempotency_key);
  EXPECT_EQ(read.value().handler, item.handler);
  EXPECT_EQ(read.value().payload, item.payload);
  EXPECT_EQ(read.value().visible_at_ms, item.visible_at_ms);
  LeaseAnswer answer{"claim", LeaseAnswer::Verdict::granted, 3000, R"({"done":1})"};
  const auto again = read_answer(answer_json(answer));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().verdict, answer.verdict);
  EXPECT_EQ(again.value().lease_ms, answer.lease_ms);
  EXPECT_EQ(again.value().progress, answer.progress);
}

TEST(LeaseMessages, a_payload_that_is_not_json_is_refused) {
  const auto stored = stored_item(WorkItem{"id", "key", "handler", "{", 0});
  ASSERT_FALSE(stored.ok());
  EXPECT_EQ(stored.error().code(), ErrorCode::invalid_json);
}

TEST(RedisLeaseOptions, are_read_from_the_url) {
  const auto url = parse_redis_url("redis://h?prefix=shop&redeliver_ms=70&max_deliveries=3");
  ASSERT_TRUE(url.ok());
  const auto options = redis_lease_options(url.value());
  ASSERT_TRUE(options.ok()) << options.error().text();
  EXPECT_EQ(options.value().prefix, "shop");
  EXPECT_EQ(options.value().redeliver_ms, 70U);
  EXPECT_EQ(options.value().max_deliveries, 3U);
}

TEST(RedisLeaseOptions, are_refused_when_they_are_wrong) {
  for (const char* text :
       {"redis://h?prefx=a", "redis://h?redeliver_ms=soon", "redis://h?redeliver_ms=0",
        "redis://h?prefix=a%20b", "redis://h?prefix=", "redis://h?max_deliveries=-1", "http://h"}) {
    const auto opened = open_lease_backend(text);
    ASSERT_FALSE(opened.ok()) << text;
    EXPECT_EQ(opened.error().code(), ErrorCode::invalid_url) << text;
  }
}

}  // namespace
}  // namespace holdfast::lease_messages_test

// Deliveries to webhooks on both stores. The numbers in the names are those of
// docs/delivery-tests.md.
#include <algorithm>
#include <set>
#include <thread>

#include "delivery/broker/webhook_endpoints.h"
#include "delivery/broker/webhook_log.h"
#include "delivery/broker/webhook_queue.h"
#include "tests/support/broker_fixture.h"

namespace holdfast::delivery::broker_webhook_test {
namespace {

const Destination kAlerts{DestinationKind::topic, "alerts"};
const Destination kJobs{DestinationKind::queue, "jobs"};

class BrokerWebhooks : public BrokerFixture {
 protected:
  static WebhookSecret secret(char byte = 'k') {
    return WebhookSecret::from_bytes(std::vector<std::byte>(32, static_cast<std::byte>(byte)));
  }

  std::string make(std::vector<Destination> destinations = {}, std::uint32_t in_flight = 100) {
    WebhookEndpoint endpoint;
    endpoint.endpoint_id = ulid();
    endpoint.mesh_id = team_.mesh_id;
    endpoint.created_at = endpoint.state_at = clock_.now();
    endpoint.settings = {"http://example.test/", "", std::move(destinations), in_flight, 0};
    write([&](SqlSession& s) { return create_webhook(s, endpoint, secret()); });
    return endpoint.endpoint_id;
  }

  void post(const std::string& id, const Destination& to = kAlerts) {
    must(send(request(id, "body of " + id, to)));
  }

  // In few groups.
  void post_many(int count) {
    std::vector<MessageRequest> messages;
    for (int i = 0; i < count; ++i) {
      messages.push_back(request("m-" + std::to_string(i), "text"));
    }
    std::vector<AcceptCall> calls;
    for (const MessageRequest& message : messages) {
      calls.push_back({"token-ann", &message});
    }
    for (auto& reply : broker_->accept_group(calls)) {
      must(std::move(reply));
    }
  }
  // As a broker does from time to time.
  void lease(const std::string& owner = "one", std::int64_t lease_ms = 1000) {
    const TimeMs now = clock_.now();
    must(store_->deliver([&](SqlSession& s) {
      return lease_webhooks(s, {owner, now, TimeMs{now.value + lease_ms}, now});
    }));
  }

  WebhookTurned turn(WebhookTurn turn) {
    turn.now = clock_.now();
    turn.owner = turn.owner.empty() ? "one" : turn.owner;
    WebhookTurned turned;
    must(store_->deliver([&](SqlSession& s) -> Result<void> {
      HOLDFAST_TRY(turned, take_webhook_turn(s, turn));
      return {};
    }));
    return turned;
  }
  WebhookTurned claim(const std::string& endpoint, std::uint32_t most = 100,
                      const std::string& owner = "one") {
    return turn({.endpoint_id = endpoint, .owner = owner, .most_new = most});
  }
  static std::string ids_of(const WebhookTurned& turned) {
    std::string text;
    for (const ClaimedWebhook& one : turned.claimed) {
      text += one.message.client_message_id + " ";
    }
    return text;
  }
  std::string claimed_ids(const std::string& endpoint, std::uint32_t most = 100) {
    return ids_of(claim(endpoint, most));
  }

  static WebhookResult result(const ClaimedWebhook& claimed, WebhookOutcome outcome,
                              int status = 500) {
    WebhookResult result;
    result.broker_message_id = claimed.message.broker_message_id;
    result.attempt = claimed.attempt;
    result.outcome = outcome;
    result.status = outcome == WebhookOutcome::delivered ? 200 : status;
    result.response = "response";
    return result;
  }
  // Nothing new is claimed.
  WebhookTurned end(const std::string& endpoint, const WebhookTurned& claimed,
                    WebhookOutcome outcome, const std::string& owner = "one") {
    WebhookTurn ended{.endpoint_id = endpoint, .owner = owner};
    for (const ClaimedWebhook& one : claimed.claimed) {
      ended.results.push_back(result(one, outcome));
    }
    return turn(std::move(ended));
  }

  WebhookEndpoint endpoint(const std::string& id) {
    std::optional<WebhookEndpoint> found;
    must(store_->read([&](SqlSession& s) -> Result<void> {
      HOLDFAST_TRY(found, find_webhook(s, team_.mesh_id, id));
      return {};
    }));
    return found.value();
  }
  std::vector<WebhookAttemptEntry> attempts(const std::string& id) {
    std::vector<WebhookAttemptEntry> found;
    must(store_->read([&](SqlSession& s) -> Result<void> {
      HOLDFAST_TRY(found, list_webhook_attempts(s, {.endpoint_id = id, .limit = 1000}));
      return {};
    }));
    return found;
  }
  std::size_t listed(const std::string& id, std::optional<WebhookDeliveryState> state) {
    std::size_t rows = 0;
    must(store_->read([&](SqlSession& s) -> Result<void> {
      HOLDFAST_TRY(const auto found,
                   list_webhook_deliveries(s, {.endpoint_id = id, .state = state, .limit = 10}));
      rows = found.size();
      return {};
    }));
    return rows;
  }
  std::int64_t in_state(const std::string& state) {
    return count("webhook_delivery WHERE state = '" + state + "'");
  }
  WebhookReplayed replay(WebhookReplay what, bool preview = false) {
    what.mesh_id = team_.mesh_id;
    what.limit = what.limit == 0 ? 100 : what.limit;
    WebhookReplayed replayed;
    const auto work = [&](SqlSession& s) -> Result<void> {
      HOLDFAST_TRY(replayed, preview ? preview_webhook_replay(s, what)
                                     : replay_webhook(s, what, clock_.now()));
      return {};
    };
    must(preview ? store_->scan(work) : store_->write(work));
    return replayed;
  }
  std::string message_id(const std::string& client_id) {
    return query(
               "SELECT broker_message_id FROM @.client_message_dedupe "
               "WHERE client_message_id = $1t",
               {client_id})[0][0]
        .bytes;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, BrokerWebhooks,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         store_kind_name);

TEST_P(BrokerWebhooks, a_message_is_taken_over_once_with_everything_it_has) {
  post("before");
  const std::string id = make();
  lease();
  EXPECT_EQ(claimed_ids(id), "") << "what was accepted before is not sent";
  MessageRequest message = request("m-1", "text", kAlerts);
  message.priority = Priority::now;
  message.meta = Payload(JsonText::trusted(R"({"a":1})"));
  message.request_fingerprint = fingerprint_of({.destination = kAlerts,
                                                .reply_to = {},
                                                .priority = Priority::now,
                                                .meta = R"({"a":1})",
                                                .body = "text"});
  must(send(message));
  const WebhookTurned turned = claim(id);
  ASSERT_EQ(turned.claimed.size(), 1U);
  const ClaimedWebhook& one = turned.claimed.front();
  EXPECT_EQ(one.attempt, 1U);
  EXPECT_EQ(one.message.broker_message_id, message_id("m-1"));
  EXPECT_EQ(one.message.client_message_id, "m-1");
  EXPECT_EQ(one.message.history_seq, 2U);
  EXPECT_EQ(one.message.created_at, clock_.now());
  EXPECT_EQ(one.message.envelope.body, "text");
  EXPECT_EQ(one.message.envelope.meta, R"({"a":1})");
  EXPECT_EQ(claimed_ids(id), "");
  end(id, turned, WebhookOutcome::delivered);
  EXPECT_EQ(in_state("delivered"), 1);
  EXPECT_EQ(claimed_ids(id), "");
}

TEST_P(BrokerWebhooks, each_endpoint_gets_the_destinations_it_names) {
  const Destination ben{DestinationKind::dm, ben_.pubkey};
  const std::string all = make();
  const std::string some = make({kJobs, ben});
  lease();
  post("topic");
  post("queue", kJobs);
  post("dm", ben);
  post("other-dm", {DestinationKind::dm, cat_.pubkey});
  EXPECT_EQ(claim(all).claimed.size(), 4U);
  std::set<std::string> got;
  for (const ClaimedWebhook& one : claim(some).claimed) {
    got.insert(one.message.client_message_id);
  }
  EXPECT_EQ(got, (std::set<std::string>{"queue", "dm"}));
}

TEST_P(BrokerWebhooks, destinations_can_be_changed_and_nothing_is_lost_or_sent_from_before) {
  const std::string id = make({kAlerts});
  lease();
  post("a-1");
  post("j-1", kJobs);
  WebhookSettings both = endpoint(id).settings;
  both.destinations = {kAlerts, kJobs};
  write([&](SqlSession& s) { return change_webhook(s, endpoint(id), both); });
  post("j-2", kJobs);
  const WebhookTurned turned = claim(id);
  EXPECT_EQ(ids_of(turned), "a-1 j-2 ");
  WebhookSettings all = both;
  all.destinations = {};
  post("e-1", {DestinationKind::topic, "empty"});
  post("a-2");
  write([&](SqlSession& s) { return change_webhook(s, endpoint(id), all); });
  post("e-2", {DestinationKind::topic, "empty"});
  EXPECT_EQ(claimed_ids(id), "a-2 e-2 ");
  WebhookSettings jobs = both;
  jobs.destinations = {kJobs};
  post("a-3");
  write([&](SqlSession& s) { return change_webhook(s, endpoint(id), jobs); });
  EXPECT_EQ(claimed_ids(id), "");
  EXPECT_EQ(endpoint(id).settings, jobs);
}

TEST_P(BrokerWebhooks, FO_10_nothing_is_taken_over_from_a_message_that_was_rolled_back) {
  const std::string id = make();
  lease();
  BrokerStoreOptions failing;
  failing.fault = [](FaultPoint point) {
    return point == FaultPoint::before_commit ? Result<void>(Error{ErrorCode::io_error, "planned"})
                                              : Result<void>();
  };
  open(failing);
  EXPECT_FALSE(send(request("m-1", "x")).ok());
  open();
  EXPECT_EQ(claimed_ids(id), "");
  EXPECT_EQ(count("webhook_delivery"), 0);
}

TEST_P(BrokerWebhooks, WH_04_attempt_numbers_and_times_survive_a_restart) {
  const std::string id = make();
  lease();
  post("m-1");
  EXPECT_EQ(end(id, claim(id), WebhookOutcome::failed).next_at->value, clock_.now().value + 5000);
  open();
  EXPECT_EQ(claimed_ids(id), "");
  clock_.advance_ms(4999);
  EXPECT_EQ(claimed_ids(id), "");
  clock_.advance_ms(1);
  const WebhookTurned second = claim(id);
  ASSERT_EQ(second.claimed.size(), 1U);
  EXPECT_EQ(second.claimed[0].attempt, 2U);
  end(id, second, WebhookOutcome::rejected);
  clock_.advance_ms(299'999);
  EXPECT_EQ(claimed_ids(id), "");
  clock_.advance_ms(1);
  EXPECT_EQ(claim(id).claimed.at(0).attempt, 3U);
}

TEST_P(BrokerWebhooks, WH_04_after_the_last_attempt_a_delivery_is_dead_and_can_be_replayed) {
  const std::string id = make();
  lease();
  post("m-1");
  for (std::uint32_t attempt = 1; attempt <= 8; ++attempt) {
    const WebhookTurned turned = claim(id);
    ASSERT_EQ(turned.claimed.size(), 1U) << attempt;
    EXPECT_EQ(turned.claimed[0].attempt, attempt);
    const WebhookTurned ended = end(id, turned, WebhookOutcome::failed);
    EXPECT_EQ(ended.dead.size(), attempt == 8 ? 1U : 0U);
    clock_.advance_ms(13 * kHoursMs);
  }
  EXPECT_EQ(in_state("dead"), 1);
  EXPECT_EQ(claimed_ids(id), "");
  const WebhookReplayed replayed = replay({.endpoint_id = id,
                                           .from = TimeMs{0},
                                           .until = clock_.now(),
                                           .choice = WebhookReplay::Choice::dead});
  EXPECT_EQ(replayed.dead, 1U);
  const WebhookTurned again = claim(id);
  ASSERT_EQ(again.claimed.size(), 1U);
  EXPECT_EQ(again.claimed[0].attempt, 9U) << "attempts are counted on";
  EXPECT_EQ(end(id, again, WebhookOutcome::failed).next_at->value, clock_.now().value + 480'000)
      << "the schedule begins anew, behind the hold of the breaker";
}

TEST_P(BrokerWebhooks, WH_08_the_limit_of_an_endpoint_holds) {
  const std::string id = make({}, 3);
  lease();
  post_many(10);
  const WebhookTurned first = claim(id);
  EXPECT_EQ(first.claimed.size(), 3U);
  std::vector<std::string> in_flight;
  for (const ClaimedWebhook& one : first.claimed) {
    in_flight.push_back(one.message.broker_message_id);
  }
  EXPECT_EQ(turn({.endpoint_id = id, .in_flight = in_flight, .most_new = 100}).claimed.size(), 0U);
  WebhookTurn next{.endpoint_id = id, .most_new = 100};
  next.results = {result(first.claimed[0], WebhookOutcome::delivered)};
  next.in_flight = {in_flight[1], in_flight[2]};
  EXPECT_EQ(turn(next).claimed.size(), 1U);
}

TEST_P(BrokerWebhooks, WH_08_the_breaker_defers_without_spending_attempts) {
  const std::string id = make({}, 5);
  lease();
  post_many(20);
  end(id, claim(id), WebhookOutcome::unreachable);  // five at once
  EXPECT_EQ(breaker_of(endpoint(id).health, clock_.now()), BreakerState::open);
  clock_.advance_ms(29'999);
  EXPECT_EQ(claimed_ids(id), "");
  clock_.advance_ms(1);
  const WebhookTurned probe = claim(id);
  EXPECT_EQ(probe.claimed.size(), 1U);
  const WebhookTurned failed = end(id, probe, WebhookOutcome::timed_out);
  EXPECT_EQ(failed.next_at->value, clock_.now().value + 60'000);
  EXPECT_EQ(count("webhook_delivery WHERE attempts > 0"), 6) << "the others lost nothing";
  clock_.advance_ms(60'000);
  end(id, claim(id), WebhookOutcome::delivered);
  EXPECT_EQ(breaker_of(endpoint(id).health, clock_.now()), BreakerState::closed);
  EXPECT_EQ(claim(id).claimed.size(), 5U);
}

TEST_P(BrokerWebhooks, WH_03_gone_disables_the_endpoint_and_keeps_what_waits) {
  const std::string id = make({}, 1);
  lease();
  post("m-1");
  post("m-2");
  EXPECT_EQ(end(id, claim(id), WebhookOutcome::gone).disabled, DisableReason::gone);
  EXPECT_EQ(endpoint(id).state, WebhookState::disabled);
  EXPECT_EQ(endpoint(id).disabled, DisableReason::gone);
  post("m-3");
  clock_.advance_ms(kDaysMs);
  EXPECT_EQ(claimed_ids(id), "");
  write([&](SqlSession& s) { return enable_webhook(s, id, WebhookBacklog::keep, clock_.now()); });
  EXPECT_EQ(endpoint(id).state, WebhookState::active);
  EXPECT_EQ(endpoint(id).health, EndpointHealth{});
  std::string all;
  for (int i = 0; i < 3; ++i) {
    const WebhookTurned turned = claim(id);
    all += ids_of(turned);
    end(id, turned, WebhookOutcome::delivered);
  }
  EXPECT_EQ(in_state("delivered"), 3) << all;
}

TEST_P(BrokerWebhooks, WH_09_days_of_failures_disable_and_enabling_resumes_or_skips) {
  const std::string id = make();
  lease();
  post("m-1");
  std::optional<DisableReason> disabled;
  for (int day = 0; day <= 6 && !disabled.has_value(); ++day) {
    post("day-" + std::to_string(day));
    disabled = end(id, claim(id), WebhookOutcome::failed).disabled;
    EXPECT_EQ(disabled.has_value(), day == 5) << day;
    clock_.advance_ms(kDaysMs);
  }
  EXPECT_EQ(disabled, DisableReason::failing);
  EXPECT_NE(endpoint(id).last_error, "");
  post("while-disabled");
  write([&](SqlSession& s) { return enable_webhook(s, id, WebhookBacklog::skip, clock_.now()); });
  post("after");
  EXPECT_EQ(claimed_ids(id), "after ") << "skip leaves out what was accepted before";
}

TEST_P(BrokerWebhooks, WH_10_a_replay_is_previewed_and_repeats_what_was_selected) {
  const std::string id = make({kAlerts});
  lease();
  const TimeMs start = clock_.now();
  std::vector<TimeMs> times;
  for (int i = 0; i < 6; ++i) {
    times.push_back(clock_.now());
    post("m-" + std::to_string(i));
    post("j-" + std::to_string(i), kJobs);
    clock_.advance_ms(1000);
  }
  const WebhookTurned turned = claim(id);
  EXPECT_EQ(turned.claimed.size(), 6U);
  end(id, turned, WebhookOutcome::delivered);
  WebhookReplay range{.endpoint_id = id, .from = times[2], .until = times[5]};
  const WebhookReplayed preview = replay(range, true);
  EXPECT_EQ(preview.messages, 3U);
  EXPECT_EQ(preview.delivered, 3U);
  EXPECT_EQ(claimed_ids(id), "") << "a preview changes nothing";
  EXPECT_EQ(replay(range).messages, 3U);
  const WebhookTurned again = claim(id);
  EXPECT_EQ(ids_of(again), "m-2 m-3 m-4 ");
  EXPECT_EQ(again.claimed[0].attempt, 2U);
  EXPECT_EQ(replay(range).sending, 3U) << "what is on its way is left alone";
  EXPECT_EQ(replay(range).messages, 0U);
  end(id, again, WebhookOutcome::delivered);
  EXPECT_EQ(replay({.endpoint_id = id, .broker_message_id = message_id("m-0")}).messages, 1U);
  EXPECT_EQ(claimed_ids(id), "m-0 ");
  EXPECT_EQ(replay({.endpoint_id = id, .broker_message_id = message_id("j-0")}).messages, 0U)
      << "not of this endpoint";
  WebhookReplay paged{.endpoint_id = id, .from = start, .until = clock_.now(), .limit = 4};
  const WebhookReplayed first = replay(paged, true);
  EXPECT_EQ(first.messages + first.sending, 4U);
  paged.after_id = first.last_id;
  const WebhookReplayed rest = replay(paged, true);
  EXPECT_EQ(rest.messages + rest.sending, 2U);
  EXPECT_EQ(rest.last_id, "");
}

TEST_P(BrokerWebhooks, WH_10_messages_from_before_the_endpoint_can_be_replayed) {
  post("old");
  clock_.advance_ms(1000);
  const std::string id = make();
  lease();
  const WebhookReplayed replayed =
      replay({.endpoint_id = id, .from = TimeMs{kStartMs}, .until = clock_.now()});
  EXPECT_EQ(replayed.fresh, 1U);
  EXPECT_EQ(claimed_ids(id), "old ");
}

TEST_P(BrokerWebhooks, one_owner_at_a_time_has_an_endpoint) {
  const std::string id = make();
  lease("one");
  lease("two");
  post("m-1");
  EXPECT_FALSE(claim(id, 100, "two").owned);
  const WebhookTurned mine = claim(id, 100, "one");
  EXPECT_EQ(mine.claimed.size(), 1U);
  clock_.advance_ms(999);
  lease("two");
  EXPECT_FALSE(claim(id, 100, "two").owned);
  clock_.advance_ms(1);
  lease("two");
  const WebhookTurned theirs = claim(id, 100, "two");
  ASSERT_EQ(theirs.claimed.size(), 1U) << "what was on its way is sent again";
  EXPECT_EQ(theirs.claimed[0].attempt, 2U);
  EXPECT_FALSE(end(id, mine, WebhookOutcome::failed).owned) << "a late result counts for nothing";
  end(id, theirs, WebhookOutcome::delivered, "two");
  EXPECT_EQ(in_state("delivered"), 1);
  const auto log = attempts(id);
  ASSERT_EQ(log.size(), 2U);
  EXPECT_EQ(log[1].outcome, WebhookOutcome::interrupted);
}

TEST_P(BrokerWebhooks, an_interrupted_attempt_is_not_a_failure_but_has_a_limit) {
  const std::string id = make();
  post("m-1");
  for (std::uint32_t i = 0; i < kMostInterruptions; ++i) {
    lease("owner " + std::to_string(i), 1);
    EXPECT_EQ(claim(id, 1, "owner " + std::to_string(i)).claimed.size(), 1U) << i;
    clock_.advance_ms(1);
  }
  EXPECT_EQ(query("SELECT failures FROM @.webhook_delivery")[0][0].integer, 0);
  lease("the last", 1);
  EXPECT_EQ(in_state("dead"), 1);
}

TEST_P(BrokerWebhooks, a_turn_of_unknown_outcome_is_made_good) {
  const std::string id = make();
  lease();
  post("m-1");
  post("m-2");
  const WebhookTurned lost = claim(id);
  EXPECT_EQ(lost.claimed.size(), 2U);
  // The owner knows of one of them only.
  const WebhookTurned again = turn({.endpoint_id = id,
                                    .in_flight = {lost.claimed[0].message.broker_message_id},
                                    .most_new = 100,
                                    .unsure = true});
  EXPECT_EQ(ids_of(again), "m-2 ");
  EXPECT_EQ(end(id, lost, WebhookOutcome::delivered).dead.size(), 0U);
  EXPECT_EQ(in_state("delivered"), 1) << "the result of an earlier attempt does not count";
  end(id, again, WebhookOutcome::delivered);
  EXPECT_EQ(in_state("delivered"), 2);
}

TEST_P(BrokerWebhooks, a_backlog_is_taken_over_in_portions) {
  const std::string id = make();
  lease();
  post_many(1200);
  EXPECT_TRUE(turn({.endpoint_id = id}).more);
  EXPECT_EQ(count("webhook_delivery"), 500);
  EXPECT_TRUE(turn({.endpoint_id = id}).more);
  const WebhookTurned full = turn({.endpoint_id = id});
  EXPECT_TRUE(full.full) << "the rest stays in the history";
  EXPECT_EQ(count("webhook_delivery"), 1000);
  std::set<std::string> got;
  for (int turns = 0; got.size() < 1200 && turns < 100; ++turns) {
    const WebhookTurned turned = claim(id);
    for (const ClaimedWebhook& one : turned.claimed) {
      EXPECT_TRUE(got.insert(one.message.client_message_id).second);
    }
    end(id, turned, WebhookOutcome::delivered);
  }
  EXPECT_EQ(got.size(), 1200U);
}

TEST_P(BrokerWebhooks, a_message_that_was_removed_ends_its_delivery) {
  const std::string id = make();
  lease();
  post("m-1");
  turn({.endpoint_id = id});
  execute("UPDATE @.message_history SET pruned_at = 1");
  execute("DELETE FROM @.topic_message");
  const WebhookTurned turned = claim(id);
  EXPECT_EQ(turned.claimed.size(), 0U);
  EXPECT_EQ(turned.dead.size(), 1U);
  EXPECT_EQ(in_state("dead"), 1);
}

TEST_P(BrokerWebhooks, WH_06_both_secrets_are_read_until_the_old_one_ends) {
  const std::string id = make();
  lease();
  write([&](SqlSession& s) {
    return rotate_webhook_secret(s, id, secret('n'), TimeMs{clock_.now().value + 1000});
  });
  const auto secrets = [&] {
    std::string text;
    for (const WebhookSecret& one : claim(id).secrets) {
      text += one.text() + " ";
    }
    return text;
  };
  EXPECT_EQ(secrets(), secret('n').text() + " " + secret('k').text() + " ");
  clock_.advance_ms(1000);
  EXPECT_EQ(secrets(), secret('n').text() + " ");
}

TEST_P(BrokerWebhooks, a_removed_endpoint_or_workspace_leaves_nothing) {
  const std::string id = make({kAlerts});
  const std::string other = make();
  lease();
  post("m-1");
  end(id, claim(id), WebhookOutcome::failed);
  end(other, claim(other), WebhookOutcome::failed);
  write([&](SqlSession& s) { return delete_webhook(s, id); });
  EXPECT_EQ(count("webhook_endpoint"), 1);
  EXPECT_EQ(count("webhook_delivery"), 1);
  write([&](SqlSession& s) { return delete_workspace(s, team_.mesh_id); });
  for (const std::string table : {"webhook_endpoint", "webhook_filter", "webhook_cursor",
                                  "webhook_delivery", "webhook_attempt"}) {
    EXPECT_EQ(count(table), 0) << table;
  }
}

TEST_P(BrokerWebhooks, the_log_is_pruned_and_what_waits_is_kept) {
  const std::string id = make({}, 1);
  lease();
  post("m-1");
  post("m-2");
  end(id, claim(id), WebhookOutcome::delivered);
  EXPECT_EQ(listed(id, {}), 2U);
  EXPECT_EQ(listed(id, WebhookDeliveryState::delivered), 1U);
  clock_.advance_ms(1000);
  EXPECT_EQ(must(prune_webhook_log(*store_, clock_.now(), 10)), 2U);
  EXPECT_EQ(count("webhook_attempt"), 0);
  EXPECT_EQ(in_state("queued"), 1);
  EXPECT_EQ(in_state("delivered"), 0);
}

TEST_P(BrokerWebhooks, a_workspace_has_a_limited_number_of_webhooks) {
  std::string id;
  for (std::uint64_t i = 0; i < kMostWebhooks; ++i) {
    id = make();
  }
  WebhookEndpoint one = endpoint(id);
  one.endpoint_id = ulid();
  EXPECT_EQ(code_of(store_->write([&](SqlSession& s) { return create_webhook(s, one, secret()); })),
            "invalid_argument");
}

TEST_P(BrokerWebhooks, two_brokers_send_every_message_once_while_accepts_continue) {
  const std::string id = make();
  std::atomic<bool> done = false;
  std::vector<std::string> sent;  // by the owners, one at a time
  std::thread sender([&] {
    for (int i = 0; i < 200; ++i) {
      post("m-" + std::to_string(i));
    }
    done = true;
  });
  for (int round = 0; !done || sent.size() < 200; ++round) {
    ASSERT_LT(round, 5000);
    const std::string owner = round % 2 == 0 ? "one" : "two";
    lease(owner);
    const WebhookTurned turned = claim(id, 100, owner);
    for (const ClaimedWebhook& one : turned.claimed) {
      sent.push_back(one.message.client_message_id);
    }
    end(id, turned, WebhookOutcome::delivered, owner);
    must(store_->deliver([&](SqlSession& s) { return release_webhooks(s, owner, clock_.now()); }));
  }
  sender.join();
  EXPECT_EQ(sent.size(), 200U);
  EXPECT_EQ(std::set<std::string>(sent.begin(), sent.end()).size(), 200U);
}

}  // namespace
}  // namespace holdfast::delivery::broker_webhook_test

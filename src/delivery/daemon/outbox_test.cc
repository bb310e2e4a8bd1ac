#include "delivery/daemon/outbox.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/threads.h"
#include "tests/support/outbox_fixture.h"

namespace holdfast::delivery::outbox_test {
namespace {

class OutboxSend : public OutboxFixture {};
class OutboxStorage : public OutboxFixture {};
class OutboxDrain : public OutboxFixture {};

TEST_F(OutboxSend, IPC_10_a_new_message_is_one_pending_row) {
  const auto reply = must(send(outgoing("m-1")));
  EXPECT_EQ(reply.answer.http_status, 202);
  EXPECT_EQ(reply.answer.status, "queued");
  EXPECT_EQ(reply.client_message_id, "m-1");
  EXPECT_EQ(reply.lane, alerts());
  const OutboxEntry row = entry("m-1");
  EXPECT_EQ(row.status, OutboxState::pending);
  EXPECT_EQ(row.attempts, 0U);
  EXPECT_EQ(row.payload, "hello");
  EXPECT_EQ(row.enqueued_at.value, kOutboxStartMs);
  EXPECT_EQ(outbox_->waiting(), 1U);
}

TEST_F(OutboxSend, IPC_07_without_an_id_each_message_gets_a_ulid_and_a_row) {
  const std::string first = must(send(outgoing(""))).client_message_id;
  const std::string second = must(send(outgoing(""))).client_message_id;
  EXPECT_TRUE(Ulid::parse(first).ok());
  EXPECT_LT(first, second);
  EXPECT_EQ(rows(), 2U);
}

TEST_F(OutboxSend, IPC_22_IPC_23_every_state_has_an_answer_and_no_answer_changes_a_byte) {
  struct Case {
    OutboxState state;
    int match;
    std::string status_or_conflict;
    std::string mismatch;
  };
  const std::vector<Case> cases{
      {OutboxState::pending, 202, "queued", "outbox_pending_fingerprint_mismatch"},
      {OutboxState::inflight, 202, "inflight", "outbox_inflight_fingerprint_mismatch"},
      {OutboxState::done, 200, "", "outbox_done_fingerprint_mismatch"},
      {OutboxState::dead, 409, "outbox_dead_fingerprint_match", "outbox_dead_fingerprint_mismatch"},
      {OutboxState::aborted, 409, "outbox_aborted_fingerprint_match",
       "outbox_aborted_fingerprint_mismatch"}};
  // Pending last: a head that waits would keep the others from being claimed.
  for (auto at = cases.rbegin(); at != cases.rend(); ++at) {
    const std::string id = "m-" + std::string(to_text(at->state));
    const std::string lane = "lane-" + std::string(to_text(at->state));
    Outgoing message = outgoing(id);
    message.ordering_key = lane;
    ASSERT_EQ(answer(message).result, SendResult::queued_new);
    Lane own = alerts();
    own.ordering_key = lane;
    if (at->state == OutboxState::aborted) {
      must(outbox_->abort(id, "test", RequeueRequest::Force::no));
    } else if (at->state != OutboxState::pending) {
      const Claim claimed = claim(own);
      ASSERT_TRUE(claimed.entry.has_value());
      if (at->state != OutboxState::inflight) {
        must(outbox_->complete(*claimed.entry,
                               answered(at->state == OutboxState::done ? 201 : 400)));
      }
    }
    const std::string before = all_rows();
    const SendAnswer match = answer(outgoing(id));
    EXPECT_EQ(match.http_status, at->match) << id;
    EXPECT_EQ(std::string(match.status) + std::string(match.conflict), at->status_or_conflict);
    if (at->state == OutboxState::done) {
      EXPECT_FALSE(match.broker_message_id.empty());
      EXPECT_FALSE(match.history_id.empty());
    }
    if (at->state == OutboxState::dead) {
      EXPECT_EQ(match.reason, "status 400");
    }
    const SendAnswer mismatch = answer(outgoing(id, "other"));
    EXPECT_EQ(mismatch.http_status, 409);
    EXPECT_EQ(mismatch.conflict, at->mismatch);
    EXPECT_EQ(mismatch.daemon_fingerprint_prefix.size(), 16U);
    EXPECT_EQ(all_rows(), before);
  }
}

TEST_F(OutboxSend, IPC_24_IPC_25_of_concurrent_first_requests_one_makes_the_row) {
  constexpr std::size_t kCallers = 16;
  for (const bool same : {true, false}) {
    const std::string id = same ? "same" : "different";
    std::mutex mutex;
    std::map<int, int> answers;
    std::size_t next = 0;
    ThreadGroup callers;
    must(callers.start(kCallers, [&] {
      std::size_t mine = 0;
      {
        const std::lock_guard lock(mutex);
        mine = next++;
      }
      const auto reply = outbox_->send(outgoing(id, same || mine % 2 == 0 ? "a" : "b"));
      const std::lock_guard lock(mutex);
      ++answers[reply.ok() ? reply.value().answer.http_status : 500];
    }));
    callers.join();
    const int expected = same ? 16 : 8;
    EXPECT_EQ(answers[202], expected);
    EXPECT_EQ(answers[409], 16 - expected);
  }
  EXPECT_EQ(rows(), 2U);
  EXPECT_EQ(outbox_->waiting(), 2U);
}

TEST_F(OutboxSend, IPC_28_a_failed_commit_is_an_error_and_the_retry_gets_an_answer) {
  bool fail = true;
  OutboxStoreOptions options;
  options.fault = [&](OutboxFault at) -> Result<void> {
    return fail && at == OutboxFault::before_commit
               ? Result<void>(Error{ErrorCode::io_error, "planted"})
               : Result<void>();
  };
  fail = false;
  open(options);
  fail = true;
  EXPECT_EQ(code_of(send(outgoing("m-1"))), ErrorCode::io_error);
  EXPECT_EQ(rows(), 0U);
  EXPECT_EQ(outbox_->waiting(), 0U);
  fail = false;
  EXPECT_EQ(answer(outgoing("m-1")).result, SendResult::queued_new);
}

TEST_F(OutboxSend, IPC_28_a_reply_lost_after_the_commit_leaves_a_row_that_answers) {
  bool fail = false;
  OutboxStoreOptions options;
  options.fault = [&](OutboxFault at) -> Result<void> {
    return fail && at == OutboxFault::after_commit
               ? Result<void>(Error{ErrorCode::io_error, "planted"})
               : Result<void>();
  };
  open(options);
  fail = true;
  EXPECT_FALSE(send(outgoing("m-1")).ok());
  fail = false;
  EXPECT_EQ(outbox_->waiting(), 1U);
  EXPECT_EQ(answer(outgoing("m-1")).result, SendResult::queued);
}

TEST_F(OutboxSend, a_message_that_fails_leaves_the_others_of_its_group_alone) {
  constexpr std::size_t kCallers = 12;
  std::atomic<std::size_t> next = 0;
  std::atomic<int> refused = 0;
  ThreadGroup callers;
  must(callers.start(kCallers, [&] {
    const std::size_t mine = next++;
    Outgoing message = outgoing("m-" + std::to_string(mine));
    if (mine % 3 == 0) {
      message.to_text = "ghost";
      message.destination.reset();
    }
    refused += outbox_->send(message).ok() ? 0 : 1;
  }));
  callers.join();
  EXPECT_EQ(refused, 4);
  EXPECT_EQ(rows(), 8U);
  EXPECT_EQ(outbox_->waiting(), 8U);
}

TEST_F(OutboxSend, IPC_04_IPC_05_a_refused_message_leaves_no_row_and_its_id_free) {
  Outgoing unknown = outgoing("m-1");
  unknown.to_text = "ghost";
  unknown.destination.reset();
  EXPECT_EQ(refusal_of(send(unknown).error()), "unknown_destination");
  outbox_->set_inline_bytes(4);
  EXPECT_EQ(refusal_of(send(outgoing("m-1", "12345")).error()), "too_large");
  EXPECT_EQ(rows(), 0U);
  EXPECT_EQ(answer(outgoing("m-1", "1234")).result, SendResult::queued_new);
}

TEST_F(OutboxSend, IPC_09_control_characters_and_zero_bytes_are_refused) {
  const std::vector<std::string> texts{
      "#a\nb", std::string("#a\0b", 4), "queue:", "#", "", "dm:x", "a b", "queue:a/b"};
  for (const std::string& text : texts) {
    EXPECT_EQ(refusal_of(parse_destination(text).error()), "invalid_request") << text;
  }
  Outgoing message = outgoing("m-1");
  message.reply_to_id = "01ARZ3NDEKTSV4RRFFQ69G5FA\n";
  EXPECT_EQ(refusal_of(send(message).error()), "invalid_request");
  message = outgoing("m-1", "\xff");
  EXPECT_EQ(refusal_of(send(message).error()), "invalid_request");
  EXPECT_EQ(rows(), 0U);
}

TEST_F(OutboxSend, destinations_in_every_form) {
  const std::string key(64, 'a');
  EXPECT_EQ(must(parse_destination("#alerts")), (Destination{DestinationKind::topic, "alerts"}));
  EXPECT_EQ(must(parse_destination("topic:alerts")),
            (Destination{DestinationKind::topic, "alerts"}));
  EXPECT_EQ(must(parse_destination("queue:jobs")), (Destination{DestinationKind::queue, "jobs"}));
  EXPECT_EQ(must(parse_destination(key)), (Destination{DestinationKind::dm, key}));
  EXPECT_EQ(must(parse_destination("dm:" + key)), (Destination{DestinationKind::dm, key}));
  EXPECT_FALSE(must(parse_destination("ada")).has_value());
}

TEST_F(OutboxSend, H_19_the_same_name_means_the_member_it_meant_at_first) {
  Outgoing message = outgoing("m-1");
  message.to_text = "ada";
  message.destination = Destination{DestinationKind::dm, std::string(64, 'a')};
  EXPECT_EQ(answer(message).result, SendResult::queued_new);
  message.destination = Destination{DestinationKind::dm, std::string(64, 'b')};
  EXPECT_EQ(answer(message).result, SendResult::queued);
  message.destination.reset();  // the name is unknown today
  EXPECT_EQ(answer(message).result, SendResult::queued);
  message.to_text = "ghost";
  EXPECT_EQ(answer(message).conflict, "outbox_pending_fingerprint_mismatch");
}

TEST_F(OutboxSend, IPC_33_the_fingerprint_of_a_row_is_that_of_its_acceptance) {
  Outgoing message = outgoing("m-1");
  message.meta = must(canonical_meta(R"({"b":1,"a":[2]})"));
  must(send(message));
  const Digest expected = fingerprint_of(envelope_of(message, *message.destination));
  const Claim claimed = claim();
  must(outbox_->complete(*claimed.entry, answered(503)));
  open();
  clock_.advance_ms(60'000);
  EXPECT_EQ(claim().entry->request_fingerprint, expected);
}

TEST_F(OutboxSend, IPC_34_a_full_outbox_refuses_new_ids_only) {
  limits_.max_waiting = 2;
  open();
  make("m-1", OutboxState::pending);
  make("m-2", OutboxState::pending);
  EXPECT_EQ(refusal_of(send(outgoing("m-3")).error()), "outbox_full");
  EXPECT_EQ(error_info(send(outgoing("m-3")).error().code()).http_status, 429);
  EXPECT_EQ(answer(outgoing("m-1")).result, SendResult::queued);
  EXPECT_EQ(answer(outgoing("m-1", "other")).http_status, 409);
  must(outbox_->complete(*claim().entry, answered(201)));
  EXPECT_EQ(answer(outgoing("m-3")).result, SendResult::queued_new);
}

TEST_F(OutboxSend, IPC_34_without_space_on_disk_new_ids_are_refused_only) {
  make("m-1", OutboxState::pending);
  limits_.max_bytes = 16'384;
  open();
  EXPECT_EQ(refusal_of(send(outgoing("m-2")).error()), "outbox_low_on_space");
  EXPECT_EQ(error_info(send(outgoing("m-2")).error().code()).http_status, 507);
  EXPECT_EQ(answer(outgoing("m-1")).result, SendResult::queued);
  EXPECT_GE(outbox_->used_percent(), 95U);
}

TEST_F(OutboxStorage, IPC_26_CR_01_after_a_restart_inflight_rows_are_pending_and_ambiguous) {
  make("m-1", OutboxState::inflight);
  Outgoing second = outgoing("m-2", "hello", "queue:jobs");
  must(send(second));
  open();
  const OutboxEntry row = entry("m-1");
  EXPECT_EQ(row.status, OutboxState::pending);
  EXPECT_EQ(row.attempts, 1U);
  EXPECT_TRUE(row.ambiguous);
  EXPECT_EQ(row.next_attempt_at.value, kOutboxStartMs + limits_.min_backoff_ms);
  EXPECT_EQ(entry("m-2").attempts, 0U);
  EXPECT_EQ(outbox_->waiting(), 2U);
  EXPECT_EQ(must(outbox_->lanes()).size(), 2U);
}

TEST_F(OutboxStorage, CK_01_a_clock_that_was_set_back_delays_nothing_beyond_the_longest_backoff) {
  make("m-1", OutboxState::inflight);
  Completion later = answered(503);
  later.retry_after_ms = 25'000;
  open();
  clock_.advance_ms(1'000);
  must(outbox_->complete(*claim().entry, later));
  clock_.advance_ms(-3'600'000);
  open();
  EXPECT_EQ(entry("m-1").next_attempt_at.value, clock_.now().value + limits_.max_backoff_ms);
}

TEST_F(OutboxStorage, CR_04_a_damaged_file_is_refused) {
  make("m-1", OutboxState::pending);
  outbox_.reset();
  const auto damage = [&](std::streamoff at, const std::string& bytes) {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file << bytes;
  };
  damage(4096, std::string(3 * 4096, '\x7f'));
  const auto opened = Outbox::open(path(), limits_, {}, clock_, random_);
  ASSERT_FALSE(opened.ok());
  EXPECT_TRUE(is_damage(opened.error().code()));
  EXPECT_NE(opened.error().text().find("daemon recover"), std::string::npos);
  damage(0, "not a database");
  EXPECT_EQ(code_of(Outbox::open(path(), limits_, {}, clock_, random_)), ErrorCode::corrupt_log);
}

TEST_F(OutboxStorage, CR_06_newer_tables_and_files_of_other_kinds_are_refused) {
  outbox_.reset();
  const auto change = [&](const char* sql) {
    auto db = must(SqliteDb::open(path(), SqliteAccess::create, "", std::chrono::seconds(5)));
    must(db->exec(sql));
  };
  change("PRAGMA user_version = 99");
  EXPECT_EQ(code_of(Outbox::open(path(), limits_, {}, clock_, random_)), ErrorCode::newer_format);
  change("PRAGMA user_version = 1");
  EXPECT_TRUE(Outbox::open(path(), limits_, {}, clock_, random_).ok());
  change("PRAGMA application_id = 7");
  EXPECT_EQ(code_of(Outbox::open(path(), limits_, {}, clock_, random_)), ErrorCode::not_a_journal);
}

// Released migrations are never edited.
TEST_F(OutboxStorage, CR_06_the_migrations_are_those_that_were_released) {
  std::vector<std::string> hashes;
  for (const FileMigration& migration : outbox_file_kind().migrations) {
    EXPECT_EQ(migration.version, hashes.size() + 1);
    hashes.push_back(to_hex(sha256(migration.sql)).substr(0, 16));
  }
  EXPECT_EQ(hashes, (std::vector<std::string>{"08ac4ace109ac05a"}));
}

TEST_F(OutboxStorage, H_21_no_row_is_without_status_and_no_done_row_without_the_brokers_id) {
  make("m-1", OutboxState::pending);
  auto db = must(SqliteDb::open(path(), SqliteAccess::read_write, "", std::chrono::seconds(5)));
  for (const char* sql :
       {"UPDATE outbox SET status = NULL", "UPDATE outbox SET status = 'lost'",
        "UPDATE outbox SET status = 'done'", "UPDATE outbox SET status = 'inflight'",
        "UPDATE outbox SET status = 'aborted'", "UPDATE outbox SET request_fingerprint = x'00'",
        "UPDATE outbox SET lease_token = 'x'"}) {
    EXPECT_FALSE(db->exec(sql).ok()) << sql;
  }
}

TEST_F(OutboxDrain, DR_01_accepted_messages_are_done_with_the_ids_of_the_broker) {
  make("m-1", OutboxState::done);
  const OutboxEntry row = entry("m-1");
  EXPECT_EQ(row.status, OutboxState::done);
  EXPECT_FALSE(row.broker_message_id.empty());
  EXPECT_FALSE(row.history_id.empty());
  EXPECT_EQ(row.delivered_at->value, kOutboxStartMs);
  EXPECT_EQ(row.attempts, 1U);
  EXPECT_EQ(outbox_->waiting(), 0U);
  EXPECT_TRUE(must(outbox_->lanes()).empty());
}

TEST_F(OutboxDrain, DR_03_a_transient_answer_waits_and_counts_one_attempt) {
  make("m-1", OutboxState::inflight);
  open();
  clock_.advance_ms(500);
  Completion later = answered(503);
  later.retry_after_ms = 700;
  must(outbox_->complete(*claim().entry, later));
  const OutboxEntry row = entry("m-1");
  EXPECT_EQ(row.status, OutboxState::pending);
  EXPECT_EQ(row.attempts, 2U);  // one of the crash
  EXPECT_EQ(row.last_status, 503U);
  EXPECT_EQ(row.next_attempt_at.value, clock_.now().value + 700);
  EXPECT_EQ(claim().due, row.next_attempt_at);
  clock_.advance_ms(700);
  EXPECT_TRUE(claim().entry.has_value());
}

TEST_F(OutboxDrain, DR_04_a_transmission_without_answer_is_ambiguous_and_repeats_the_same_bytes) {
  make("m-1", OutboxState::pending);
  const Claim first = claim();
  must(outbox_->complete(*first.entry, without_answer(classify_no_answer())));
  EXPECT_TRUE(entry("m-1").ambiguous);
  const Claim second = claim();
  EXPECT_EQ(second.entry->client_message_id, first.entry->client_message_id);
  EXPECT_EQ(second.entry->request_fingerprint, first.entry->request_fingerprint);
  EXPECT_EQ(second.entry->payload, first.entry->payload);
  EXPECT_EQ(second.entry->first_sent_at, first.entry->first_sent_at);
  EXPECT_NE(second.entry->lease_token, first.entry->lease_token);
}

TEST_F(OutboxDrain, DR_05_DR_06_permanent_answers_are_final) {
  for (const int status : {400, 404, 409, 410, 413, 422}) {
    const std::string id = "m-" + std::to_string(status);
    must(send(outgoing(id)));
    const Claim claimed = claim();
    must(outbox_->complete(*claimed.entry, answered(status)));
    EXPECT_EQ(entry(id).status, OutboxState::dead) << status;
    EXPECT_EQ(entry(id).last_error, "status " + std::to_string(status));
  }
  EXPECT_EQ(rows(), 6U);
}

TEST_F(OutboxDrain, what_was_not_sent_counts_no_attempt_and_does_not_age) {
  make("m-1", OutboxState::pending);
  must(outbox_->complete(*claim().entry, without_answer(classify_unsent())));
  const OutboxEntry row = entry("m-1");
  EXPECT_EQ(row.attempts, 0U);
  EXPECT_FALSE(row.ambiguous);
  EXPECT_FALSE(row.first_sent_at.has_value());
  clock_.advance_ms(2 * kWeekMs);
  EXPECT_TRUE(claim().entry.has_value());
}

TEST_F(OutboxDrain, DR_09_failures_without_number_kill_no_row) {
  make("m-1", OutboxState::pending);
  for (int i = 0; i < 50; ++i) {
    const Claim claimed = claim();
    ASSERT_TRUE(claimed.entry.has_value());
    must(outbox_->complete(*claimed.entry, answered(503)));
  }
  const OutboxEntry row = entry("m-1");
  EXPECT_EQ(row.status, OutboxState::pending);
  EXPECT_EQ(row.attempts, 50U);
  EXPECT_EQ(row.deferrals, 50U);
}

TEST_F(OutboxDrain, DR_10_a_row_first_sent_too_long_ago_is_dead_and_not_sent) {
  make("m-1", OutboxState::pending);
  make("m-2", OutboxState::pending);
  must(outbox_->complete(*claim().entry, answered(503)));
  clock_.advance_ms(kWeekMs);
  EXPECT_TRUE(claim().entry.has_value());  // exactly the age is allowed
  open();
  clock_.advance_ms(60'000);
  const Claim next = claim();
  EXPECT_EQ(next.expired, 1U);
  EXPECT_EQ(next.entry->client_message_id, "m-2");
  EXPECT_EQ(entry("m-1").status, OutboxState::dead);
  EXPECT_EQ(entry("m-1").last_error.substr(0, 7), "expired");
  EXPECT_EQ(outbox_->waiting(), 1U);
}

TEST_F(OutboxDrain, MA_06_a_shorter_age_applies_to_rows_of_before) {
  make("m-1", OutboxState::pending);
  must(outbox_->complete(*claim().entry, answered(503)));
  clock_.advance_ms(2 * kDayMs);
  const Claim shorter = must(outbox_->claim(alerts(), {clock_.now(), kDayMs, 60'000}));
  EXPECT_EQ(shorter.expired, 1U);
}

TEST_F(OutboxDrain, CK_02_CK_03_the_age_is_measured_in_the_time_of_the_broker) {
  make("m-1", OutboxState::pending);
  const TimeMs broker{kOutboxStartMs - 600'000};  // ten minutes behind
  const auto terms_at = [&](std::int64_t passed) {
    return ClaimTerms{TimeMs{broker.value + passed}, kWeekMs, 60'000};
  };
  const Claim first = must(outbox_->claim(alerts(), terms_at(0)));
  EXPECT_EQ(first.entry->first_sent_at, broker);
  must(outbox_->complete(*first.entry, answered(503)));
  clock_.advance_ms(365 * kDayMs);  // of this machine alone
  const Claim again = must(outbox_->claim(alerts(), terms_at(1000)));
  EXPECT_TRUE(again.entry.has_value());
  EXPECT_EQ(again.expired, 0U);
}

TEST_F(OutboxDrain, DR_11_R_02_a_lane_has_one_transmission_and_keeps_its_order) {
  make("m-1", OutboxState::pending);
  make("m-2", OutboxState::pending);
  const Claim first = claim();
  EXPECT_EQ(first.entry->client_message_id, "m-1");
  const Claim blocked = claim();
  EXPECT_FALSE(blocked.entry.has_value());
  EXPECT_EQ(blocked.due, first.entry->lease_until);
  must(outbox_->complete(*first.entry, answered(503)));
  const Claim again = claim();
  EXPECT_EQ(again.entry->client_message_id, "m-1");
  const auto finished = must(outbox_->complete_and_claim(*again.entry, answered(201), terms()));
  EXPECT_EQ(finished.completed, Completed::applied);
  EXPECT_EQ(finished.next.entry->client_message_id, "m-2");
}

TEST_F(OutboxDrain, DR_14_lanes_are_by_destination_priority_and_ordering_key) {
  std::vector<Outgoing> messages{outgoing("a"), outgoing("b", "x", "queue:alerts"), outgoing("c"),
                                 outgoing("d")};
  messages[2].priority = Priority::now;
  messages[3].ordering_key = "k";
  for (const Outgoing& message : messages) {
    must(send(message));
  }
  const std::vector<Lane> lanes = must(outbox_->lanes());
  ASSERT_EQ(lanes.size(), 4U);
  std::set<std::string> claimed;
  for (const Lane& lane : lanes) {
    claimed.insert(claim(lane).entry->client_message_id);
  }
  EXPECT_EQ(claimed, (std::set<std::string>{"a", "b", "c", "d"}));
}

TEST_F(OutboxDrain, H_14_a_row_suspected_of_poison_leaves_its_lane_and_is_still_sent) {
  make("m-1", OutboxState::pending);
  make("m-2", OutboxState::pending);
  Completion poison = answered(500);
  poison.lane = Completion::Lane::leave;
  must(outbox_->complete(*claim().entry, poison));
  EXPECT_EQ(claim().entry->client_message_id, "m-2");
  const OutboxEntry parked = entry("m-1");
  EXPECT_TRUE(parked.poison_suspect);
  EXPECT_EQ(parked.status, OutboxState::pending);
  EXPECT_EQ(must(outbox_->lanes()).size(), 2U);
  EXPECT_EQ(claim(lane_of(parked)).entry->client_message_id, "m-1");
}

TEST_F(OutboxDrain, DR_12_DR_13_after_its_lease_a_worker_changes_nothing) {
  make("m-1", OutboxState::pending);
  const Claim slow = claim();
  EXPECT_EQ(must(outbox_->release_expired_leases()), 0U);
  clock_.advance_ms(60'000);
  EXPECT_EQ(must(outbox_->release_expired_leases()), 1U);
  const OutboxEntry released = entry("m-1");
  EXPECT_EQ(released.status, OutboxState::pending);
  EXPECT_TRUE(released.ambiguous);
  EXPECT_EQ(released.attempts, 1U);
  const Claim next = claim();
  const std::string before = all_rows();
  EXPECT_EQ(must(outbox_->complete(*slow.entry, answered(503))), Completed::fenced);
  EXPECT_EQ(must(outbox_->complete(*slow.entry, answered(400))), Completed::fenced);
  EXPECT_EQ(all_rows(), before);
  EXPECT_EQ(must(outbox_->complete(*slow.entry, answered(201))), Completed::fenced);
  EXPECT_EQ(entry("m-1").status, OutboxState::inflight);
  EXPECT_FALSE(entry("m-1").late_broker_message_id.empty());
  EXPECT_EQ(must(outbox_->complete(*next.entry, answered(200))), Completed::applied);
}

}  // namespace
}  // namespace holdfast::delivery::outbox_test

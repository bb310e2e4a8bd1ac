// What an operator does with rows.
#include <gtest/gtest.h>

#include "delivery/daemon/outbox.h"
#include "tests/support/outbox_fixture.h"

namespace holdfast::delivery::outbox_operator_test {
namespace {

using Force = RequeueRequest::Force;
using Requeued = RequeueReply::Result;

class OutboxRequeue : public OutboxFixture {
 protected:
  RequeueReply requeue(const std::string& id, const RequeueRequest& request = {}) {
    return must(outbox_->requeue(id, request));
  }
  std::string refused(const std::string& id, const RequeueRequest& request = {}) {
    const std::string before = all_rows();
    const auto reply = outbox_->requeue(id, request);
    EXPECT_EQ(all_rows(), before);
    return reply.ok() ? "not refused" : refusal_of(reply.error());
  }
};

TEST_F(OutboxRequeue, RQ_01_RQ_12_a_dead_row_is_retired_and_a_fresh_id_takes_its_place) {
  make("m-1", OutboxState::dead);
  const RequeueReply reply = requeue("m-1", {.reason = "fixed"});
  const OutboxEntry old_row = entry("m-1");
  const OutboxEntry next = entry(reply.new_entry->id);
  EXPECT_EQ(old_row.status, OutboxState::aborted);
  EXPECT_EQ(old_row.aborted_at->value, kOutboxStartMs);
  EXPECT_EQ(old_row.aborted_by, "operator");
  EXPECT_EQ(old_row.abort_reason, "fixed");
  EXPECT_EQ(old_row.superseded_by, next.id);
  EXPECT_EQ(next.supersedes, old_row.id);
  EXPECT_EQ(next.status, OutboxState::pending);
  EXPECT_EQ(next.attempts, 0U);
  EXPECT_FALSE(next.first_sent_at.has_value());
  EXPECT_NE(next.client_message_id, "m-1");
  EXPECT_EQ(rows(), 2U);
  EXPECT_EQ(outbox_->waiting(), 1U);
}

TEST_F(OutboxRequeue, RQ_02_a_pending_row_joins_the_tail) {
  make("m-1", OutboxState::pending);
  make("m-2", OutboxState::pending);
  const RequeueReply reply = requeue(entry("m-1").id);
  EXPECT_EQ(entry("m-1").status, OutboxState::aborted);
  EXPECT_EQ(outbox_->waiting(), 2U);
  const Claim first = claim();
  EXPECT_EQ(first.entry->client_message_id, "m-2");
  const auto finished = must(outbox_->complete_and_claim(*first.entry, answered(201), terms()));
  EXPECT_EQ(finished.next.entry->id, reply.new_entry->id);
}

TEST_F(OutboxRequeue, RQ_03_done_aborted_and_missing_rows_are_refused) {
  make("done", OutboxState::done);
  make("gone", OutboxState::aborted);
  EXPECT_EQ(refused("done"), "row_ended");
  EXPECT_EQ(refused("gone"), "row_ended");
  EXPECT_EQ(refused("missing"), "not_found");
  EXPECT_FALSE(outbox_->abort("done", "", Force::yes).ok());
}

TEST_F(OutboxRequeue, RQ_04_H_16_an_inflight_row_needs_force_and_a_late_answer_does_not_revive_it) {
  make("m-1", OutboxState::pending);
  const Claim claimed = claim();
  EXPECT_EQ(refused("m-1"), "row_inflight");
  EXPECT_FALSE(outbox_->abort("m-1", "", Force::no).ok());
  requeue("m-1", {.force = Force::yes});
  EXPECT_EQ(must(outbox_->complete(*claimed.entry, answered(201))), Completed::fenced);
  const OutboxEntry row = entry("m-1");
  EXPECT_EQ(row.status, OutboxState::aborted);
  EXPECT_EQ(row.late_broker_message_id, answered(201).broker_message_id);
  EXPECT_EQ(outbox_->waiting(), 1U);
}

TEST_F(OutboxRequeue, RQ_05_a_failure_at_any_step_leaves_the_old_row_alone) {
  make("m-1", OutboxState::dead);
  OutboxFault point{};
  bool fail = false;
  OutboxStoreOptions options;
  options.fault = [&](OutboxFault at) -> Result<void> {
    return fail && at == point ? Result<void>(Error{ErrorCode::io_error, "planted"})
                               : Result<void>();
  };
  open(options);
  const std::string before = all_rows();
  fail = true;
  for (const OutboxFault each : {OutboxFault::requeue_checked, OutboxFault::requeue_aborted,
                                 OutboxFault::requeue_inserted, OutboxFault::before_commit}) {
    point = each;
    EXPECT_EQ(code_of(outbox_->requeue("m-1", {})), ErrorCode::io_error);
    EXPECT_EQ(all_rows(), before);
    EXPECT_EQ(outbox_->waiting(), 0U);
  }
  fail = false;
  EXPECT_EQ(requeue("m-1").result, Requeued::requeued);
}

TEST_F(OutboxRequeue, RQ_06_a_new_id_that_has_a_row_is_refused) {
  make("m-1", OutboxState::dead);
  make("m-2", OutboxState::done);
  EXPECT_EQ(refused("m-1", {.new_id = client_id("m-2")}), "idempotency_key_reused");
  EXPECT_EQ(refused("m-1", {.new_id = client_id("m-1")}), "idempotency_key_reused");
  EXPECT_EQ(requeue("m-1", {.new_id = client_id("m-3")}).new_entry->client_message_id, "m-3");
}

TEST_F(OutboxRequeue, RQ_07_a_fresh_id_is_a_ulid) {
  make("m-1", OutboxState::dead);
  EXPECT_TRUE(Ulid::parse(requeue("m-1").new_entry->client_message_id).ok());
}

TEST_F(OutboxRequeue, RQ_08_everything_but_the_id_is_kept) {
  Outgoing message = outgoing("m-1");
  message.priority = Priority::low;
  message.ordering_key = "k";
  message.reply_to_id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  message.meta = R"({"a":1})";
  message.mentions = {"ann", "ben"};
  must(send(message));
  const OutboxEntry old_row = entry("m-1");
  const OutboxEntry next = entry(requeue("m-1").new_entry->id);
  EXPECT_EQ(next.payload, old_row.payload);
  EXPECT_EQ(next.request_fingerprint, old_row.request_fingerprint);
  EXPECT_EQ(next.mesh, "team");
  EXPECT_EQ(next.destination, old_row.destination);
  EXPECT_EQ(next.to_text, "#alerts");
  EXPECT_EQ(next.priority, Priority::low);
  EXPECT_EQ(next.ordering_key, "k");
  EXPECT_EQ(next.reply_to_id, message.reply_to_id);
  EXPECT_EQ(next.meta, message.meta);
  EXPECT_EQ(next.mentions, message.mentions);
}

TEST_F(OutboxRequeue, RQ_09_a_new_payload_is_checked_and_has_its_own_fingerprint) {
  make("m-1", OutboxState::dead);
  EXPECT_EQ(refused("m-1", {.new_payload = "\xff"}), "invalid_request");
  outbox_->set_inline_bytes(10);
  EXPECT_EQ(refused("m-1", {.new_payload = "12345678901"}), "too_large");
  requeue("m-1", {.new_id = client_id("m-2"), .new_payload = "new"});
  EXPECT_EQ(entry("m-2").payload, "new");
  EXPECT_EQ(answer(outgoing("m-2", "new")).result, SendResult::queued);
  EXPECT_EQ(answer(outgoing("m-2")).http_status, 409);
}

TEST_F(OutboxRequeue, RQ_10_the_old_id_stays_retired_also_after_restart_and_compaction) {
  make("m-1", OutboxState::dead);
  requeue("m-1");
  clock_.advance_ms(1000);
  EXPECT_EQ(must(outbox_->compact(clock_.now())), 1U);
  EXPECT_EQ(must(outbox_->compact(clock_.now())), 0U);
  open();
  EXPECT_TRUE(entry("m-1").payload.empty());
  EXPECT_TRUE(entry("m-1").payload_pruned_at.has_value());
  EXPECT_EQ(answer(outgoing("m-1")).conflict, "outbox_aborted_fingerprint_match");
  EXPECT_EQ(answer(outgoing("m-1", "x")).conflict, "outbox_aborted_fingerprint_mismatch");
}

TEST_F(OutboxRequeue, RQ_11_CL_03_the_chain_is_shown_in_order_from_any_member) {
  make("m-1", OutboxState::dead);
  std::vector<std::string> ids{"m-1"};
  for (int i = 2; i <= 4; ++i) {
    ids.push_back("m-" + std::to_string(i));
    requeue(ids[ids.size() - 2], {.new_id = client_id(ids.back())});
  }
  for (const std::string& from : ids) {
    std::vector<std::string> shown;
    for (const OutboxEntry& each : must(outbox_->chain(from))) {
      shown.push_back(each.client_message_id);
    }
    EXPECT_EQ(shown, ids);
  }
}

TEST_F(OutboxRequeue, RQ_13_an_ambiguous_row_is_looked_up_at_the_broker_first) {
  make("m-1", OutboxState::pending);
  must(outbox_->complete(*claim().entry, without_answer(classify_no_answer())));
  must(outbox_->complete(*claim().entry, answered(400)));
  const std::string before = all_rows();
  EXPECT_EQ(requeue("m-1").result, Requeued::check_broker);
  EXPECT_EQ(all_rows(), before);
  EXPECT_EQ(refused("m-1", {.verdict = BrokerVerdict::unknown}), "broker_unsure");
  const RequeueReply reply = requeue(
      "m-1", {.verdict = BrokerVerdict::accepted, .broker_message_id = "B", .history_id = "H"});
  EXPECT_EQ(reply.result, Requeued::delivered);
  EXPECT_EQ(entry("m-1").status, OutboxState::done);
  EXPECT_EQ(entry("m-1").broker_message_id, "B");
  EXPECT_EQ(rows(), 1U);
}

TEST_F(OutboxRequeue, RQ_13_an_ambiguous_row_that_the_broker_does_not_have_is_requeued) {
  for (const auto& request :
       {RequeueRequest{.verdict = BrokerVerdict::absent}, RequeueRequest{.force = Force::yes}}) {
    const std::string id = "m-" + std::to_string(rows());
    make(id, OutboxState::pending);
    must(outbox_->complete(*claim().entry, without_answer(classify_no_answer())));
    EXPECT_EQ(requeue(id, request).result, Requeued::requeued);
    must(outbox_->complete(*claim().entry, answered(201)));
  }
}

TEST_F(OutboxRequeue, RQ_14_the_rows_of_a_filter_newest_first_and_in_pages) {
  for (int i = 0; i < 6; ++i) {
    make("m-" + std::to_string(i), i % 2 == 0 ? OutboxState::dead : OutboxState::done);
    clock_.advance_ms(1000);
  }
  const auto ids = [&](const OutboxFilter& filter) {
    std::string text;
    for (const OutboxEntry& each : must(outbox_->list(filter))) {
      EXPECT_TRUE(each.payload.empty());
      text += each.client_message_id + " ";
    }
    return text;
  };
  EXPECT_EQ(ids({}), "m-5 m-4 m-3 m-2 m-1 m-0 ");
  EXPECT_EQ(ids({.status = OutboxState::dead}), "m-4 m-2 m-0 ");
  EXPECT_EQ(ids({.status = OutboxState::dead, .limit = 2}), "m-4 m-2 ");
  EXPECT_EQ(ids({.status = OutboxState::dead, .before_id = entry("m-2").id}), "m-0 ");
  EXPECT_EQ(ids({.error = "status 400"}), "m-4 m-2 m-0 ");
  EXPECT_EQ(ids({.error = "status 5"}), "");
  EXPECT_EQ(ids({.since = TimeMs{kOutboxStartMs + 4000}}), "m-5 m-4 ");
  EXPECT_EQ(ids({.before = TimeMs{kOutboxStartMs + 1000}}), "m-0 ");
}

TEST_F(OutboxRequeue, RQ_14_requeued_rows_can_be_spread_over_time) {
  make("m-1", OutboxState::dead);
  requeue("m-1", {.delay_ms = 5000});
  EXPECT_EQ(claim().due->value, kOutboxStartMs + 5000);
  clock_.advance_ms(5000);
  EXPECT_TRUE(claim().entry.has_value());
}

TEST_F(OutboxRequeue, aborted_rows_have_a_reason_and_no_successor) {
  make("m-1", OutboxState::dead);
  make("m-2", OutboxState::pending);
  EXPECT_EQ(must(outbox_->abort("m-1", "wrong topic", Force::no)).abort_reason, "wrong topic");
  must(outbox_->abort("m-2", "", Force::no));
  EXPECT_EQ(outbox_->waiting(), 0U);
  EXPECT_TRUE(entry("m-1").superseded_by.empty());
}

TEST_F(OutboxRequeue, OB_02_OB_03_the_counts_are_those_of_the_table) {
  make("done", OutboxState::done);
  make("dead", OutboxState::dead);
  clock_.advance_ms(1000);
  make("m-1", OutboxState::pending);
  clock_.advance_ms(1000);
  make("m-2", OutboxState::pending);
  const OutboxCounts counts = must(outbox_->counts());
  EXPECT_EQ(counts.rows, (std::array<std::uint64_t, 5>{2, 0, 1, 1, 0}));
  EXPECT_EQ(counts.oldest_pending_at->value, kOutboxStartMs + 1000);
}

}  // namespace
}  // namespace holdfast::delivery::outbox_operator_test

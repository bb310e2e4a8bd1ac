// The decisions, over all their inputs.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "delivery/contract/accept_decision.h"
#include "delivery/contract/broker_answer.h"
#include "delivery/contract/envelope.h"
#include "delivery/contract/outbox_decision.h"
#include "delivery/contract/rejection.h"

namespace holdfast::delivery::delivery_decisions_test {
namespace {

// Every value of an enumeration with `count` of them, and no value.
template <typename E>
std::vector<std::optional<E>> each(int count) {
  std::vector<std::optional<E>> all{std::nullopt};
  for (int i = 0; i < count; ++i) {
    all.push_back(static_cast<E>(i));
  }
  return all;
}

// What is known about a request in all combinations: 6*4*4*3*3*4*5*9 = 155,520.
void for_all_knowledge(const std::function<void(const AcceptKnowledge&)>& visit) {
  const std::vector<std::optional<std::optional<Rejection>>> requests{
      std::nullopt, std::optional<Rejection>(), Rejection::invalid_request,
      Rejection::canonical_form_drift};
  for (const auto caller : each<CallerState>(5)) {
    for (const auto& request : requests) {
      for (const auto known : each<KnownState>(3)) {
        for (const auto size : each<SizeState>(2)) {
          for (const auto age : each<AgeState>(2)) {
            for (const auto budget : each<BudgetState>(3)) {
              for (const auto claim : each<ClaimState>(4)) {
                for (const auto destination : each<DestinationState>(8)) {
                  visit({caller, request, known, size, age, budget, claim, destination});
                }
              }
            }
          }
        }
      }
    }
  }
}

// The same decision written as a list of gates: each is open, or unknown, or gives its answer.
struct Gate {
  AcceptStep step;
  bool unknown;
  std::optional<AcceptAnswer> answer;
};

std::optional<AcceptAnswer> refusal(bool when, AcceptPhase phase, Rejection rejection) {
  return when ? std::optional(AcceptAnswer{phase, Refused{rejection}}) : std::nullopt;
}

std::optional<AcceptAnswer> first_of(std::initializer_list<std::optional<AcceptAnswer>> all) {
  for (const auto& answer : all) {
    if (answer.has_value()) {
      return answer;
    }
  }
  return std::nullopt;
}

std::vector<Gate> gates(const AcceptKnowledge& k) {
  using enum Rejection;
  constexpr auto kB0 = AcceptPhase::b0;
  constexpr auto kB1 = AcceptPhase::b1;
  constexpr auto kB2 = AcceptPhase::b2;
  const auto duplicate = [](bool when, AcceptPhase phase) {
    return when ? std::optional(AcceptAnswer{phase, Duplicate{}}) : std::nullopt;
  };
  const auto to = [&](DestinationState state) { return k.destination == state; };
  using D = DestinationState;
  return {
      {AcceptStep::authenticate, !k.caller.has_value(),
       first_of({refusal(k.caller == CallerState::unauthenticated, kB1, unauthenticated),
                 refusal(k.caller == CallerState::no_workspace, kB1, unknown_workspace),
                 refusal(k.caller == CallerState::stranger, kB1, not_a_member),
                 refusal(k.caller == CallerState::revoked, kB1, member_revoked)})},
      {AcceptStep::check_request, !k.request.has_value(),
       k.request.has_value() && k.request->has_value() ? refusal(true, kB1, **k.request)
                                                       : std::nullopt},
      {AcceptStep::read_dedupe, !k.known.has_value(),
       first_of({duplicate(k.known == KnownState::match, kB0),
                 refusal(k.known == KnownState::mismatch, kB0, idempotency_key_reused)})},
      {AcceptStep::check_size, !k.size.has_value(),
       refusal(k.size == SizeState::too_large, kB1, too_large)},
      {AcceptStep::check_age, !k.age.has_value(),
       refusal(k.age == AgeState::stale, kB1, stale_retry)},
      {AcceptStep::consume_budget, !k.budget.has_value(),
       first_of({refusal(k.budget == BudgetState::denied, kB1, rate_limited),
                 refusal(k.budget == BudgetState::unavailable, kB1, limiter_unavailable)})},
      {AcceptStep::claim, !k.claim.has_value() || k.claim == ClaimState::vanished,
       first_of({duplicate(k.claim == ClaimState::match, kB2),
                 refusal(k.claim == ClaimState::mismatch, kB2, idempotency_key_reused)})},
      {AcceptStep::check_destination, !k.destination.has_value(),
       first_of(
           {refusal(to(D::topic_missing) || to(D::recipient_missing) || to(D::queue_missing), kB2,
                    unknown_destination),
            refusal(to(D::topic_archived) || to(D::recipient_revoked), kB2, destination_closed),
            refusal(to(D::post_not_allowed) || to(D::not_subscribed), kB2, not_allowed)})},
  };
}

std::string text_of(const AcceptNext& next) {
  if (const auto* step = std::get_if<AcceptStep>(&next)) {
    return "step " + std::to_string(static_cast<int>(*step));
  }
  const auto& answer = std::get<AcceptAnswer>(next);
  const std::string phase = "b" + std::to_string(static_cast<int>(answer.phase)) + " ";
  if (const auto* refused = std::get_if<Refused>(&answer.answer)) {
    return phase + std::string(rejection_info(refused->rejection).name);
  }
  return phase + (std::holds_alternative<Accepted>(answer.answer) ? "accepted" : "duplicate");
}

AcceptNext by_gates(const AcceptKnowledge& k) {
  for (const Gate& gate : gates(k)) {
    if (gate.unknown) {
      return gate.step;
    }
    if (gate.answer.has_value()) {
      return *gate.answer;
    }
  }
  return AcceptAnswer{AcceptPhase::b3, Accepted{}};
}

TEST(AcceptDecision, H_10_the_order_of_every_check_over_all_inputs) {
  std::size_t wrong = 0;
  for_all_knowledge([&](const AcceptKnowledge& k) {
    const std::string expected = text_of(by_gates(k));
    if (text_of(decide_accept(k)) != expected && ++wrong < 5) {
      ADD_FAILURE() << text_of(decide_accept(k)) << " instead of " << expected;
    }
  });
  EXPECT_EQ(wrong, 0U);
}

AcceptKnowledge known_to_be(KnownState known) {
  AcceptKnowledge k;
  k.caller = CallerState::member;
  k.request = std::optional<Rejection>();
  k.known = known;
  return k;
}

TEST(AcceptDecision, H_01_a_consumed_id_is_answered_in_a_saturated_window) {
  AcceptKnowledge k = known_to_be(KnownState::match);
  k.size = SizeState::too_large;
  k.budget = BudgetState::denied;
  EXPECT_EQ(text_of(decide_accept(k)), "b0 duplicate");
  k.known = KnownState::mismatch;
  EXPECT_EQ(text_of(decide_accept(k)), "b0 idempotency_key_reused");
}

TEST(AcceptDecision, RL_11_the_limiter_is_consulted_only_after_b0_and_before_the_transaction) {
  for_all_knowledge([](const AcceptKnowledge& k) {
    const AcceptNext next = decide_accept(k);
    const auto* step = std::get_if<AcceptStep>(&next);
    if (step != nullptr && *step == AcceptStep::consume_budget) {
      ASSERT_TRUE(k.known == KnownState::absent && !k.budget.has_value());
    }
    if (step != nullptr && *step == AcceptStep::claim) {
      ASSERT_TRUE(k.budget == BudgetState::admitted);
    }
  });
}

TEST(AcceptDecision, TX_06_a_row_that_was_swept_is_claimed_again) {
  AcceptKnowledge k = known_to_be(KnownState::absent);
  k.size = SizeState::fits;
  k.age = AgeState::fresh;
  k.budget = BudgetState::admitted;
  k.claim = ClaimState::vanished;
  EXPECT_EQ(text_of(decide_accept(k)), text_of(AcceptStep::claim));
}

TEST(Rejections, every_one_has_its_status_and_is_found_again_in_its_error) {
  int rows = 0;
#define HOLDFAST_ROW(name, status, code, line)                                \
  EXPECT_EQ(rejection_info(Rejection::name).http_status, status);             \
  EXPECT_EQ(rejection_of(rejected(Rejection::name, "why")), Rejection::name); \
  EXPECT_EQ(find_rejection(#name), Rejection::name);                          \
  ++rows;
  HOLDFAST_DELIVERY_REJECTIONS(HOLDFAST_ROW)
#undef HOLDFAST_ROW
  EXPECT_EQ(rows, 18);
  EXPECT_FALSE(find_rejection("").has_value());
  EXPECT_FALSE(rejection_of(Error{ErrorCode::io_error, "x"}).has_value());
}

const Digest kOne = sha256("one");
const Digest kTwo = sha256("two");

OutboxRow row_in(OutboxState state) {
  return OutboxRow{state, kOne, "BROKER", "HISTORY", "413 too_large"};
}

void expect_conflict(OutboxState state, const Digest& fingerprint, std::string_view conflict) {
  const SendAnswer answer = decide_send(row_in(state), fingerprint);
  EXPECT_EQ(answer.result, SendResult::conflict);
  EXPECT_EQ(answer.http_status, 409);
  EXPECT_EQ(answer.conflict, conflict);
  EXPECT_EQ(answer.status, "");
  EXPECT_EQ(answer.history_id, "");
}

TEST(OutboxDecision, IPC_10_without_a_row_one_is_inserted) {
  const SendAnswer answer = decide_send(std::nullopt, kOne);
  EXPECT_EQ(answer.result, SendResult::queued_new);
  EXPECT_EQ(answer.http_status, 202);
  EXPECT_EQ(answer.status, "queued");
}

TEST(OutboxDecision, IPC_11_pending_and_match_is_queued) {
  const SendAnswer answer = decide_send(row_in(OutboxState::pending), kOne);
  EXPECT_EQ(answer.result, SendResult::queued);
  EXPECT_EQ(answer.http_status, 202);
  EXPECT_EQ(answer.status, "queued");
  EXPECT_EQ(answer.broker_message_id, "");
}

TEST(OutboxDecision, IPC_12_pending_and_mismatch_is_a_conflict) {
  expect_conflict(OutboxState::pending, kTwo, "outbox_pending_fingerprint_mismatch");
}

TEST(OutboxDecision, IPC_13_inflight_and_match_is_inflight) {
  const SendAnswer answer = decide_send(row_in(OutboxState::inflight), kOne);
  EXPECT_EQ(answer.result, SendResult::inflight);
  EXPECT_EQ(answer.http_status, 202);
  EXPECT_EQ(answer.status, "inflight");
}

TEST(OutboxDecision, IPC_14_inflight_and_mismatch_is_a_conflict) {
  expect_conflict(OutboxState::inflight, kTwo, "outbox_inflight_fingerprint_mismatch");
}

TEST(OutboxDecision, IPC_15_done_and_match_is_a_duplicate_with_both_ids) {
  const SendAnswer answer = decide_send(row_in(OutboxState::done), kOne);
  EXPECT_EQ(answer.result, SendResult::duplicate);
  EXPECT_EQ(answer.http_status, 200);
  EXPECT_EQ(answer.broker_message_id, "BROKER");
  EXPECT_EQ(answer.history_id, "HISTORY");
  EXPECT_EQ(answer.conflict, "");
}

TEST(OutboxDecision, IPC_16_done_and_mismatch_is_a_conflict_with_the_id) {
  expect_conflict(OutboxState::done, kTwo, "outbox_done_fingerprint_mismatch");
  EXPECT_EQ(decide_send(row_in(OutboxState::done), kTwo).broker_message_id, "BROKER");
}

TEST(OutboxDecision, IPC_17_dead_and_match_is_a_conflict_with_the_reason) {
  expect_conflict(OutboxState::dead, kOne, "outbox_dead_fingerprint_match");
  EXPECT_EQ(decide_send(row_in(OutboxState::dead), kOne).reason, "413 too_large");
}

TEST(OutboxDecision, IPC_18_dead_and_mismatch_is_a_conflict) {
  expect_conflict(OutboxState::dead, kTwo, "outbox_dead_fingerprint_mismatch");
  EXPECT_EQ(decide_send(row_in(OutboxState::dead), kTwo).reason, "");
}

TEST(OutboxDecision, IPC_19_aborted_and_match_is_a_conflict) {
  expect_conflict(OutboxState::aborted, kOne, "outbox_aborted_fingerprint_match");
}

TEST(OutboxDecision, IPC_20_aborted_and_mismatch_is_a_conflict) {
  expect_conflict(OutboxState::aborted, kTwo, "outbox_aborted_fingerprint_mismatch");
}

TEST(OutboxDecision, IPC_21_H_08_every_conflict_has_both_prefixes_and_nothing_else_has) {
  for (int state = 0; state < 5; ++state) {
    for (const Digest& fingerprint : {kOne, kTwo}) {
      const SendAnswer answer = decide_send(row_in(static_cast<OutboxState>(state)), fingerprint);
      const bool conflict = answer.result == SendResult::conflict;
      EXPECT_EQ(answer.daemon_fingerprint_prefix, conflict ? fingerprint_prefix(fingerprint) : "");
      EXPECT_EQ(answer.stored_fingerprint_prefix, conflict ? fingerprint_prefix(kOne) : "");
    }
  }
}

TEST(BrokerAnswers, H_02_every_status_has_its_class) {
  for (int status = 100; status < 600; ++status) {
    for (const char* error : {"", "not_allowed", "member_revoked"}) {
      AnswerClass expected = AnswerClass::transient;
      RowOutcome row = RowOutcome::pending;
      PauseScope pause = PauseScope::lane;
      const bool row_level = std::string_view(error) == "not_allowed";
      if (status == 200 || status == 201) {
        expected = AnswerClass::success;
        row = RowOutcome::done;
        pause = PauseScope::none;
      } else if (status == 401 || status == 426 || (status == 403 && !row_level)) {
        expected = AnswerClass::connection;
        pause = PauseScope::workspace;
      } else if (status == 429) {
        pause = PauseScope::workspace;
      } else if (status >= 400 && status < 500 && status != 408 && status != 425) {
        expected = AnswerClass::permanent;
        row = RowOutcome::dead;
        pause = PauseScope::none;
      }
      EXPECT_EQ(classify_answer(status, error),
                (AnswerEffect{expected, row, pause, AttemptCount::counted}))
          << status << " " << error;
    }
  }
}

TEST(BrokerAnswers, H_03_bytes_without_an_answer_are_ambiguous_and_unsent_is_not_an_attempt) {
  EXPECT_EQ(classify_no_answer(), (AnswerEffect{AnswerClass::ambiguous, RowOutcome::pending,
                                                PauseScope::lane, AttemptCount::counted}));
  EXPECT_EQ(classify_unsent(), (AnswerEffect{AnswerClass::unsent, RowOutcome::pending,
                                             PauseScope::lane, AttemptCount::unchanged}));
}

TEST(BrokerAnswers, every_rejection_of_a_broker_has_the_class_of_its_status) {
  const auto outcome = [](Rejection rejection) {
    const RejectionInfo& info = rejection_info(rejection);
    return classify_answer(info.http_status, info.name).row;
  };
  for (const Rejection dead :
       {Rejection::invalid_request, Rejection::not_allowed, Rejection::unknown_destination,
        Rejection::idempotency_key_reused, Rejection::destination_closed, Rejection::stale_retry,
        Rejection::too_large, Rejection::canonical_form_drift}) {
    EXPECT_EQ(outcome(dead), RowOutcome::dead) << rejection_info(dead).name;
  }
  for (const Rejection pending :
       {Rejection::unauthenticated, Rejection::not_a_member, Rejection::member_revoked,
        Rejection::unsupported_version, Rejection::rate_limited, Rejection::limiter_unavailable,
        Rejection::broker_busy}) {
    EXPECT_EQ(outcome(pending), RowOutcome::pending) << rejection_info(pending).name;
  }
}

}  // namespace
}  // namespace holdfast::delivery::delivery_decisions_test

#include "delivery/contract/broker_answer.h"

#include "delivery/contract/rejection.h"

namespace holdfast::delivery {

namespace {

constexpr AnswerEffect kSuccess{AnswerClass::success, RowOutcome::done, PauseScope::none,
                                AttemptCount::counted};
constexpr AnswerEffect kPermanent{AnswerClass::permanent, RowOutcome::dead, PauseScope::none,
                                  AttemptCount::counted};
constexpr AnswerEffect kConnection{AnswerClass::connection, RowOutcome::pending,
                                   PauseScope::workspace, AttemptCount::counted};
constexpr AnswerEffect kRateLimited{AnswerClass::transient, RowOutcome::pending,
                                    PauseScope::workspace, AttemptCount::counted};
constexpr AnswerEffect kTransient{AnswerClass::transient, RowOutcome::pending, PauseScope::lane,
                                  AttemptCount::counted};

}  // namespace

AnswerEffect classify_answer(int http_status, std::string_view error) {
  switch (http_status) {
    case 200:
    case 201:
      return kSuccess;
    case 401:
    case 426:
      return kConnection;
    case 403:
      return error == rejection_info(Rejection::not_allowed).name ? kPermanent : kConnection;
    case 408:
    case 425:
      return kTransient;
    case 429:
      return kRateLimited;
    default:
      return http_status >= 400 && http_status <= 499 ? kPermanent : kTransient;
  }
}

AnswerEffect classify_no_answer() {
  return {AnswerClass::ambiguous, RowOutcome::pending, PauseScope::lane, AttemptCount::counted};
}

AnswerEffect classify_unsent() {
  return {AnswerClass::unsent, RowOutcome::pending, PauseScope::lane, AttemptCount::unchanged};
}

}  // namespace holdfast::delivery

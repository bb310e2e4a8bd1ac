// What a daemon does with a broker's answer, or with its absence.
//
//   answer                          row                      sending
//   201, 200                        done
//   409, 400, 404, 410, 413, 422    dead
//   403 with error not_allowed      dead
//   every other 4xx                 dead
//   401, other 403, 426             pending                  all of it pauses, with an alarm
//   429                             pending, Retry-After     all of it pauses
//   408, 425, 5xx and the rest      pending, backoff         its lane waits
//   bytes written, no answer        pending, ambiguous       its lane waits
//   nothing written                 pending, not an attempt  its lane waits
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::delivery {

enum class AnswerClass : std::uint8_t {
  success,
  permanent,
  connection,  // not about this message: every other one would get it too
  transient,
  ambiguous,  // the broker may have accepted it; only a retry with the same id finds out
  unsent,
};

enum class RowOutcome : std::uint8_t { done, dead, pending };
// What pauses: nothing, the lane of the row, or all sends to this broker and workspace.
enum class PauseScope : std::uint8_t { none, lane, workspace };
enum class AttemptCount : std::uint8_t { unchanged, counted };

struct AnswerEffect {
  AnswerClass answer_class = AnswerClass::transient;
  RowOutcome row = RowOutcome::pending;
  PauseScope pause = PauseScope::lane;
  AttemptCount attempt = AttemptCount::counted;
  friend bool operator==(const AnswerEffect&, const AnswerEffect&) = default;
};

// error: the member "error" of the answer; empty when it has none.
AnswerEffect classify_answer(int http_status, std::string_view error);
AnswerEffect classify_no_answer();
AnswerEffect classify_unsent();

}  // namespace holdfast::delivery

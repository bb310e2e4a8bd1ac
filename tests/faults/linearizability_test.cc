// The checker of histories against histories with a known verdict, and against a search through all
// orders.
#include "tests/support/linearizability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"

namespace holdfast::linearizability_test {
namespace {

using testing::HasSubstr;
using Kind = HistoryVerdict::Kind;

// A register that can be written, read, and compared and swapped.
struct Register {
  struct Op {
    enum class What : std::uint8_t { write, read, swap } what;
    int value = 0;
    int expected = 0;
  };
  struct Response {
    bool ok = true;
    int value = 0;
  };
  using State = int;
  static State initial() { return 0; }
  static std::vector<State> step(State state, const Op& op, const Response* answer) {
    switch (op.what) {
      case Op::What::write:
        return {op.value};
      case Op::What::read:
        return answer == nullptr || answer->value == state ? std::vector{state}
                                                           : std::vector<State>{};
      case Op::What::swap:
        break;
    }
    const bool fits = state == op.expected;
    if (answer != nullptr && answer->ok != fits) {
      return {};
    }
    return {fits ? op.value : state};
  }
  static std::string text(const Op& op) {
    switch (op.what) {
      case Op::What::write:
        return "write " + std::to_string(op.value);
      case Op::What::read:
        return "read";
      case Op::What::swap:
        break;
    }
    return "swap " + std::to_string(op.expected) + " for " + std::to_string(op.value);
  }
  static std::string text(const Response& answer) {
    return (answer.ok ? "ok " : "refused ") + std::to_string(answer.value);
  }
  static std::string text(State state) { return std::to_string(state); }
};

using Operation = Call<Register>;

Operation write(int value, std::int64_t from, std::int64_t to) {
  return {{Register::Op::What::write, value}, Register::Response{}, from, to, "w"};
}
Operation read(int value, std::int64_t from, std::int64_t to) {
  return {{Register::Op::What::read}, Register::Response{true, value}, from, to, "r"};
}
Operation swap(int expected, int value, bool ok, std::int64_t from, std::int64_t to) {
  return {{Register::Op::What::swap, value, expected}, Register::Response{ok, 0}, from, to, "s"};
}
Operation unknown(Operation call) {
  call.answer.reset();
  call.answered_at = std::numeric_limits<std::int64_t>::max();
  return call;
}
Operation unknown_until(Operation call, std::int64_t end) {
  call.answer.reset();
  call.answered_at = end;
  return call;
}

Kind kind_of(const Calls<Register>& calls) { return check_history(calls).kind; }

TEST(Linearizability, sequential_operations_must_match_the_model) {
  EXPECT_EQ(kind_of({}), Kind::linearizable);
  EXPECT_EQ(kind_of({write(1, 0, 1), read(1, 2, 3), write(2, 4, 5), read(2, 6, 7)}),
            Kind::linearizable);
  EXPECT_EQ(kind_of({read(1, 0, 1)}), Kind::broken);
}

TEST(Linearizability, concurrent_operations_may_be_in_any_order) {
  EXPECT_EQ(kind_of({write(1, 0, 10), read(0, 1, 2), read(1, 3, 4)}), Kind::linearizable);
  EXPECT_EQ(kind_of({write(1, 0, 10), write(2, 0, 10), read(2, 11, 12), read(2, 13, 14)}),
            Kind::linearizable);
  EXPECT_EQ(kind_of({write(1, 0, 10), write(2, 0, 10), read(2, 11, 12), read(1, 13, 14)}),
            Kind::broken);
}

TEST(Linearizability, a_stale_read_is_found) {
  EXPECT_EQ(kind_of({write(1, 0, 1), read(0, 2, 3)}), Kind::broken);
  // Two readers: what one has seen the other must see afterwards.
  EXPECT_EQ(kind_of({write(1, 0, 10), read(1, 1, 2), read(0, 3, 4)}), Kind::broken);
  // Operations of which one ends when the other starts may be in either order.
  EXPECT_EQ(kind_of({write(1, 0, 2), read(0, 2, 3)}), Kind::linearizable);
}

TEST(Linearizability, a_lost_update_is_found) {
  // Both have read 0, and both were acknowledged as the one that changed it.
  EXPECT_EQ(kind_of({swap(0, 1, true, 0, 10), swap(0, 2, true, 1, 9)}), Kind::broken);
  EXPECT_EQ(kind_of({swap(0, 1, true, 0, 10), swap(0, 2, false, 1, 9), read(1, 11, 12)}),
            Kind::linearizable);
}

TEST(Linearizability, an_unknown_outcome_may_take_effect_late_or_never_but_not_before_its_call) {
  EXPECT_EQ(kind_of({unknown(write(1, 0, 0)), read(0, 5, 6), read(0, 7, 8)}), Kind::linearizable);
  EXPECT_EQ(kind_of({unknown(write(1, 0, 0)), read(0, 5, 6), read(1, 7, 8)}), Kind::linearizable);
  EXPECT_EQ(kind_of({unknown(write(1, 0, 0)), read(1, 5, 6), read(0, 7, 8)}), Kind::broken);
  EXPECT_EQ(kind_of({read(1, 5, 6), unknown(write(1, 7, 7))}), Kind::broken);
}

TEST(Linearizability, an_unknown_outcome_cannot_take_effect_after_its_client_has_ended) {
  EXPECT_EQ(kind_of({unknown_until(write(1, 0, 0), 4), read(0, 3, 6), read(1, 7, 8)}),
            Kind::linearizable);
  EXPECT_EQ(kind_of({unknown_until(write(1, 0, 0), 4), read(0, 5, 6), read(1, 7, 8)}),
            Kind::broken);
}

// One owner at a time; a refused claim was refused because of another owner.
struct Lock {
  struct Op {
    int who = 0;
  };
  using Response = bool;
  using State = int;  // the owner
  static State initial() { return 0; }
  static std::vector<State> step(State state, const Op& op, const bool* granted) {
    if (granted == nullptr) {
      return state == 0 ? std::vector{op.who} : std::vector{state};
    }
    if (*granted) {
      return state == 0 ? std::vector{op.who} : std::vector<State>{};
    }
    return state == 0 ? std::vector<State>{} : std::vector{state};
  }
  static std::string text(const Op& op) { return "claim by " + std::to_string(op.who); }
  static std::string text(bool granted) { return granted ? "granted" : "refused"; }
};

TEST(Linearizability, a_double_claim_is_found) {
  using Claims = Calls<Lock>;
  EXPECT_TRUE(check_history(Claims{{{1}, true, 0, 10}, {{2}, false, 1, 9}}).ok());
  EXPECT_FALSE(check_history(Claims{{{1}, true, 0, 10}, {{2}, true, 1, 9}}).ok());
  EXPECT_FALSE(check_history(Claims{{{1}, false, 0, 10}}).ok());
  // A client that was killed may be the owner.
  EXPECT_TRUE(check_history(Claims{{{1}, std::nullopt, 0}, {{2}, false, 5, 9}}).ok());
}

TEST(Linearizability, the_shortest_broken_prefix_is_shown) {
  const Calls<Register> calls{write(1, 0, 1'000'000),         read(1, 2'000'000, 3'000'000),
                              read(0, 4'000'000, 5'000'000),  write(7, 4'500'000, 9'000'000),
                              read(7, 6'000'000, 10'000'000), read(0, 11'000'000, 12'000'000)};
  const HistoryVerdict verdict = check_history(calls);
  EXPECT_EQ(verdict.kind, Kind::broken);
  EXPECT_EQ(verdict.report,
            "no order explains\n  r  read -> ok 0\nbefore it the state may be: 1\n"
            "history until then:\n"
            "  0.000000 .. 1.000000  w  write 1 -> ok 0\n"
            "  2.000000 .. 3.000000  r  read -> ok 1\n"
            "  4.000000 .. 5.000000  r  read -> ok 0\n"
            "  4.500000 .. ?  w  write 7 -> ?\n");
}

TEST(Linearizability, each_object_is_checked_separately_and_named) {
  std::map<std::string, Calls<Register>> objects;
  objects["a"] = {write(1, 0, 1), read(1, 2, 3)};
  objects["b"] = {read(0, 2, 3)};
  EXPECT_TRUE(check_histories(objects).ok());
  objects["c"] = {read(2, 2, 3)};
  EXPECT_THAT(check_histories(objects).report, HasSubstr("c: no order explains"));
}

// Every order of every selection of the operations without an answer: simple enough to be correct.
bool explained(const Calls<Register>& calls, const std::vector<std::size_t>& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      if (calls[order[j]].answered_at < calls[order[i]].called_at) {
        return false;
      }
    }
  }
  int state = Register::initial();
  for (const std::size_t i : order) {
    const auto& answer = calls[i].answer;
    const auto next = Register::step(state, calls[i].op, answer.has_value() ? &*answer : nullptr);
    if (next.empty()) {
      return false;
    }
    state = next.front();
  }
  return true;
}

bool linearizable_by_brute_force(const Calls<Register>& calls) {
  for (std::uint64_t selection = 0; selection < std::uint64_t{1} << calls.size(); ++selection) {
    std::vector<std::size_t> order;
    bool all_answered = true;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if ((selection >> i & 1U) != 0) {
        order.push_back(i);
      } else {
        all_answered = all_answered && !calls[i].answer.has_value();
      }
    }
    if (!all_answered) {
      continue;
    }
    do {
      if (explained(calls, order)) {
        return true;
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
  return false;
}

Calls<Register> random_history(Random& random) {
  Calls<Register> calls;
  for (std::uint64_t i = 1 + random.below(6); i > 0; --i) {
    const auto from = static_cast<std::int64_t>(random.below(12));
    const auto to = from + static_cast<std::int64_t>(random.below(8));
    const auto value = static_cast<int>(random.below(3));
    Operation call = write(value, from, to);
    const std::uint64_t what = random.below(10);
    if (what < 5) {
      call = read(value, from, to);
    } else if (what < 8) {
      call = swap(static_cast<int>(random.below(3)), value, random.below(2) == 0, from, to);
    }
    if (random.below(5) == 0) {
      call.answer.reset();
      if (random.below(2) == 0) {
        call.answered_at = std::numeric_limits<std::int64_t>::max();
      }
    }
    calls.push_back(call);
  }
  return calls;
}

TEST(Linearizability, agrees_with_a_search_through_all_orders) {
  SeededRandom random(20);
  int good = 0;
  int bad = 0;
  for (int round = 0; round < 20'000; ++round) {
    const Calls<Register> calls = random_history(random);
    const bool expected = linearizable_by_brute_force(calls);
    (expected ? good : bad) += 1;
    ASSERT_EQ(check_history(calls).ok(), expected) << history_text(calls);
  }
  EXPECT_GT(good, 4'000);
  EXPECT_GT(bad, 4'000);
}

// Without Lowe's cache each of these orders would be examined.
TEST(Linearizability, many_concurrent_operations_are_checked_quickly) {
  Calls<Register> calls;
  for (int i = 1; i <= 13; ++i) {
    calls.push_back(write(i % 3, 0, 100));
  }
  calls.push_back(read(1, 101, 102));
  calls.push_back(read(0, 103, 104));
  const HistoryVerdict verdict = check_history(calls);
  EXPECT_EQ(verdict.kind, Kind::broken);
  EXPECT_LT(verdict.examined, 100'000U);
}

}  // namespace
}  // namespace holdfast::linearizability_test

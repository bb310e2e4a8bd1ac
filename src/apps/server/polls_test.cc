// Polls against a real loop: who waits is woken, is given no more than it asked for, and finds
// out later what it was given.
#include "apps/server/polls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/support/engine_support.h"

namespace holdfast {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Given = Result<std::vector<Assignment>>;

class PollTest : public testing::Test {
 protected:
  std::unique_ptr<Loop> open() {
    return must(Loop::open(open_memory_journal(disk_), clock_, random_, {}));
  }
  static void start(Loop& loop, int number, const std::shared_ptr<const Definition>& of) {
    const StartRun command = start_of(number, of);
    must(loop.execute<Started>(
        [command](Turn& turn) { return start_run(turn, command, IdOrigin::given); }));
  }
  // Several runs that begin in one commit.
  void start_together(Loop& loop, int first, int count) {
    must(loop.execute<Done>([=, this](Turn& turn) -> Result<Done> {
      for (int i = 0; i < count; ++i) {
        HOLDFAST_CHECK(start_run(turn, start_of(first + i, one_), IdOrigin::given));
      }
      return Done{};
    }));
  }

  PollWish wish(std::string request, std::size_t max = 1, std::string worker = "w1") {
    PollWish wish;
    wish.worker = WorkerIdentity{std::move(worker), std::string(32, 's'), "", ""};
    wish.request = std::move(request);
    wish.skills = polls_.skills({SharedText(kDefaultQueue)}, {SharedText("a")});
    wish.max = max;
    return wish;
  }
  struct Asked {
    PollPtr poll;
    std::shared_ptr<std::promise<Given>> promise;
    std::future<Given> answer;

    // Nothing has been answered so far.
    [[nodiscard]] bool waits() const {
      return answer.wait_for(std::chrono::milliseconds(0)) == std::future_status::timeout;
    }
    std::vector<Assignment> given() {
      if (answer.wait_for(std::chrono::seconds(20)) != std::future_status::ready) {
        throw std::runtime_error("the poll was never answered");
      }
      return must(answer.get());
    }
  };
  static Asked ask(Loop& loop, const PollWish& wish) {
    auto promise = std::make_shared<std::promise<Given>>();
    Asked asked{std::make_shared<Poll>(
                    loop, wish, [promise](Given given) { promise->set_value(std::move(given)); }),
                promise, promise->get_future()};
    loop.submit(asked.poll->request());
    return asked;
  }
  // Everything that was asked before has been looked at.
  static void settle(Loop& loop) {
    must(loop.execute<Done>([](Turn&) -> Result<Done> { return Done{}; }));
  }
  static std::vector<Assignment> found(Loop& loop, const PollWish& wish) {
    return must(loop.execute<std::vector<Assignment>>(
        [&wish](Turn& turn) { return find_given(turn, wish); }));
  }
  static std::set<std::string> claims(const std::vector<Assignment>& given) {
    std::set<std::string> all;
    for (const Assignment& one : given) {
      all.insert(one.runnable_key.str() + " " + one.claim_id.str() + " " + one.token.str());
    }
    return all;
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  SystemClock clock_;
  SystemRandom random_;
  Polls polls_;
  std::shared_ptr<const Definition> one_ = definition_of(kOneStep);
};

TEST_F(PollTest, is_woken_by_a_start) {
  const auto loop = open();
  Asked asked = ask(*loop, wish("r1"));
  settle(*loop);
  EXPECT_TRUE(asked.waits());
  start(*loop, 1, one_);
  const auto given = asked.given();
  ASSERT_THAT(given, SizeIs(1));
  EXPECT_EQ(given[0].run_id, run_no(1));
  EXPECT_EQ(given[0].step.view(), "a");
}

TEST_F(PollTest, is_given_what_waits_for_it_but_never_more_than_it_asked_for) {
  const auto loop = open();
  start_together(*loop, 1, 5);
  Asked first = ask(*loop, wish("r1", 3));
  EXPECT_THAT(first.given(), SizeIs(3));
  Asked second = ask(*loop, wish("r2", 3));
  EXPECT_THAT(second.given(), SizeIs(2)) << "answered when there is one, with all that came";
  EXPECT_THAT(found(*loop, wish("r1", 3)), SizeIs(3));
  EXPECT_THAT(found(*loop, wish("r2", 3)), SizeIs(2));
}

TEST_F(PollTest, that_was_answered_claims_nothing_afterwards) {
  const auto loop = open();
  Asked asked = ask(*loop, wish("r1", 4));
  start(*loop, 1, one_);
  EXPECT_THAT(asked.given(), SizeIs(1));
  // The wish for the others is withdrawn by then.
  settle(*loop);
  start(*loop, 2, one_);
  settle(*loop);
  EXPECT_THAT(found(*loop, wish("r1", 4)), SizeIs(1));
  Asked other = ask(*loop, wish("r2", 1, "w2"));
  const auto given = other.given();
  ASSERT_THAT(given, SizeIs(1));
  EXPECT_EQ(given[0].run_id, run_no(2));
}

TEST_F(PollTest, that_is_ended_is_answered_with_what_there_is) {
  const auto loop = open();
  Asked asked = ask(*loop, wish("r1", 2));
  settle(*loop);
  asked.poll->end();
  EXPECT_THAT(asked.given(), IsEmpty());
  asked.poll->end();
  start(*loop, 1, one_);
  settle(*loop);
  EXPECT_THAT(found(*loop, wish("r1", 2)), IsEmpty()) << "an ended poll claims nothing";
}

TEST_F(PollTest, that_ends_while_work_comes_loses_none_of_it) {
  const auto loop = open();
  constexpr int kRounds = 200;
  for (int i = 1; i <= kRounds; ++i) {
    const PollWish asks = wish("r" + std::to_string(i), 2);
    Asked asked = ask(*loop, asks);
    std::thread ender([&] { asked.poll->end(); });
    start(*loop, i, one_);
    ender.join();
    EXPECT_EQ(claims(asked.given()), claims(found(*loop, asks))) << "round " << i;
  }
}

TEST_F(PollTest, tells_when_it_is_over) {
  const auto loop = open();
  Asked asked = ask(*loop, wish("r1"));
  std::promise<void> before;
  asked.poll->when_over([&] { before.set_value(); });
  asked.poll->end();
  EXPECT_EQ(before.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  bool at_once = false;
  asked.poll->when_over([&] { at_once = true; });
  EXPECT_TRUE(at_once);
}

TEST_F(PollTest, is_answered_when_the_loop_is_closed) {
  const auto loop = open();
  Asked asked = ask(*loop, wish("r1", 3));
  settle(*loop);
  loop->close();
  ASSERT_EQ(asked.answer.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(code_of(asked.answer.get()), "engine_stopped");
  Asked late = ask(*loop, wish("r2", 3));
  ASSERT_EQ(late.answer.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(code_of(late.answer.get()), "engine_stopped");
}

TEST_F(PollTest, what_it_was_given_is_found_again_after_a_restart) {
  std::set<std::string> given;
  {
    const auto loop = open();
    start_together(*loop, 1, 4);
    Asked asked = ask(*loop, wish("r1", 3));
    given = claims(asked.given());
    EXPECT_EQ(claims(found(*loop, wish("r1", 3))), given);
  }
  const auto again = open();
  EXPECT_THAT(given, SizeIs(3));
  EXPECT_EQ(claims(found(*again, wish("r1", 3))), given) << "with the same claims and tokens";
  // The token is good for a report.
  const Assignment one = found(*again, wish("r1", 3)).front();
  must(again->execute<Done>([&](Turn& turn) -> Result<Done> {
    HOLDFAST_CHECK(complete_attempt(turn, proof_of(one), completion()));
    return Done{};
  }));
  EXPECT_THAT(found(*again, wish("r1", 3)), SizeIs(2)) << "what is reported is no longer held";
}

TEST_F(PollTest, only_who_asked_finds_what_was_given) {
  const auto loop = open();
  start(*loop, 1, one_);
  EXPECT_THAT(ask(*loop, wish("r1")).given(), SizeIs(1));
  EXPECT_THAT(found(*loop, wish("r1")), SizeIs(1));
  EXPECT_THAT(found(*loop, wish("r2")), IsEmpty()) << "another request";
  EXPECT_THAT(found(*loop, wish("r1", 1, "w2")), IsEmpty()) << "another worker";
  PollWish guessed = wish("r1");
  guessed.worker.secret = std::string(32, 't');
  EXPECT_THAT(found(*loop, guessed), IsEmpty()) << "another secret";
}

TEST_F(PollTest, claims_are_derived_from_all_that_names_them) {
  std::set<std::string> ids;
  std::set<std::string> tokens;
  int count = 0;
  const auto add = [&](const PollWish& of, std::size_t index) {
    const Applicant applicant = derived_applicant(of, index);
    ids.insert(applicant.claimant.claim_id.str());
    tokens.insert(applicant.token.str());
    ++count;
    EXPECT_EQ(applicant.claimant.token_hash, sha256(applicant.token.view()));
    EXPECT_EQ(applicant.claimant.owner_id.view(), of.worker.id);
    const Applicant again = derived_applicant(of, index);
    EXPECT_EQ(again.claimant.claim_id, applicant.claimant.claim_id);
    EXPECT_EQ(again.token, applicant.token);
  };
  for (const char* worker : {"w1", "w11", "w"}) {
    for (const char* request : {"r1", "1r1", "r", "r10"}) {
      for (const std::size_t index : {0U, 1U, 10U}) {
        add(wish(request, 1, worker), index);
        PollWish other = wish(request, 1, worker);
        other.worker.secret = std::string(32, 'x');
        add(other, index);
      }
    }
  }
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(tokens.size(), static_cast<std::size_t>(count));
}

TEST_F(PollTest, a_lost_claim_is_not_found) {
  ManualClock time{kStart};
  TestCore core(disk_, time);
  core.start(start_of(1, one_));
  core.settle();
  const PollWish asks = wish("r1");
  const auto worker = std::make_shared<ClaimRequest>();
  worker->skills = asks.skills;
  worker->applicants = {derived_applicant(asks, 0)};
  worker->assigned = [](const std::vector<Result<Assignment>>&) {};
  core.core.request_claim(worker);
  core.settle();
  const auto look = [&] {
    const auto answer =
        core.execute<std::vector<Assignment>>([&](Turn& turn) { return find_given(turn, asks); });
    core.settle();
    return must(*answer->result).size();
  };
  EXPECT_EQ(look(), 1U);
  time.advance_ms(600'000);
  EXPECT_EQ(look(), 0U) << "its lease is over";
}

TEST_F(PollTest, polls_are_known_by_worker_and_request) {
  const auto loop = open();
  const auto make = [&](const PollWish& of) {
    return std::make_shared<Poll>(*loop, of, [](const Given&) {});
  };
  const PollPtr first = make(wish("r1"));
  const PollPtr second = make(wish("r1"));
  EXPECT_TRUE(polls_.add(wish("r1"), first));
  EXPECT_EQ(polls_.find(wish("r1")), first);
  EXPECT_EQ(polls_.find(wish("r2")), nullptr);
  EXPECT_EQ(polls_.find(wish("r1", 1, "w2")), nullptr);
  EXPECT_TRUE(polls_.add(wish("r1"), second));
  polls_.remove(wish("r1"), first);
  EXPECT_EQ(polls_.find(wish("r1")), second) << "the later one has taken its place";
  EXPECT_EQ(polls_.waiting(), 1U);
  polls_.remove(wish("r1"), second);
  EXPECT_EQ(polls_.waiting(), 0U);
}

TEST_F(PollTest, all_are_ended_together_and_who_comes_later_is_told_not_to_wait) {
  const auto loop = open();
  Asked one = ask(*loop, wish("r1"));
  Asked two = ask(*loop, wish("r2", 3));
  EXPECT_TRUE(polls_.add(wish("r1"), one.poll));
  EXPECT_TRUE(polls_.add(wish("r2", 3), two.poll));
  polls_.end_all();
  EXPECT_THAT(one.given(), IsEmpty());
  EXPECT_THAT(two.given(), IsEmpty());
  Asked late = ask(*loop, wish("r3"));
  EXPECT_FALSE(polls_.add(wish("r3"), late.poll)) << "nobody is to wait any more";
  late.poll->end();
  EXPECT_THAT(late.given(), IsEmpty());
}

TEST_F(PollTest, who_can_do_the_same_shares_its_skills) {
  const auto one = polls_.skills({"q"}, {"a", "b"});
  EXPECT_EQ(polls_.skills({"q"}, {"b", "a"}), one) << "in whatever order handlers are named";
  EXPECT_NE(polls_.skills({"q"}, {"a"}), one);
  EXPECT_NE(polls_.skills({"q", "a"}, {"b"}), one) << "queues are not handlers";
  EXPECT_NE(polls_.skills({}, {"q", "a", "b"}), one);
}

}  // namespace
}  // namespace holdfast

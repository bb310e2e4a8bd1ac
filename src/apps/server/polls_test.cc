// Polls against a real loop: a waiting poll is woken, receives no more than it requested, and finds
// out later what it was given.
#include "apps/server/polls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/support/engine_support.h"

namespace holdfast::polls_test {
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

  PollRequest request(std::string id, std::size_t max = 1, std::string worker = "w1") {
    PollRequest request;
    request.worker = WorkerIdentity{std::move(worker), std::string(32, 's'), "", ""};
    request.id = std::move(id);
    request.skills = polls_.skills({SharedText(kDefaultQueue)}, {SharedText("a")});
    request.max = max;
    return request;
  }
  struct Submitted {
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
  static Submitted submit(Loop& loop, const PollRequest& request) {
    auto promise = std::make_shared<std::promise<Given>>();
    Submitted submitted{
        std::make_shared<Poll>(loop, request,
                               [promise](Given given) { promise->set_value(std::move(given)); }),
        promise, promise->get_future()};
    loop.submit(submitted.poll->request());
    return submitted;
  }
  // Waits until the loop has processed everything that was submitted before.
  static void settle(Loop& loop) {
    must(loop.execute<Done>([](Turn&) -> Result<Done> { return Done{}; }));
  }
  static std::vector<Assignment> found(Loop& loop, const PollRequest& request) {
    return must(loop.execute<std::vector<Assignment>>(
        [&request](Turn& turn) { return find_given(turn, request); }));
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

TEST_F(PollTest, a_start_wakes_a_poll) {
  const auto loop = open();
  Submitted submitted = submit(*loop, request("r1"));
  settle(*loop);
  EXPECT_TRUE(submitted.waits());
  start(*loop, 1, one_);
  const auto given = submitted.given();
  ASSERT_THAT(given, SizeIs(1));
  EXPECT_EQ(given[0].run_id, run_no(1));
  EXPECT_EQ(given[0].step.view(), "a");
}

TEST_F(PollTest, a_poll_receives_what_is_ready_up_to_its_maximum) {
  const auto loop = open();
  start_together(*loop, 1, 5);
  Submitted first = submit(*loop, request("r1", 3));
  EXPECT_THAT(first.given(), SizeIs(3));
  Submitted second = submit(*loop, request("r2", 3));
  EXPECT_THAT(second.given(), SizeIs(2)) << "answered when there is one, with all that came";
  EXPECT_THAT(found(*loop, request("r1", 3)), SizeIs(3));
  EXPECT_THAT(found(*loop, request("r2", 3)), SizeIs(2));
}

TEST_F(PollTest, a_poll_with_a_response_claims_nothing_afterwards) {
  const auto loop = open();
  Submitted submitted = submit(*loop, request("r1", 4));
  start(*loop, 1, one_);
  EXPECT_THAT(submitted.given(), SizeIs(1));
  // The other claim requests are withdrawn by then.
  settle(*loop);
  start(*loop, 2, one_);
  settle(*loop);
  EXPECT_THAT(found(*loop, request("r1", 4)), SizeIs(1));
  Submitted other = submit(*loop, request("r2", 1, "w2"));
  const auto given = other.given();
  ASSERT_THAT(given, SizeIs(1));
  EXPECT_EQ(given[0].run_id, run_no(2));
}

TEST_F(PollTest, an_ended_poll_returns_what_it_has) {
  const auto loop = open();
  Submitted submitted = submit(*loop, request("r1", 2));
  settle(*loop);
  submitted.poll->end();
  EXPECT_THAT(submitted.given(), IsEmpty());
  submitted.poll->end();
  start(*loop, 1, one_);
  settle(*loop);
  EXPECT_THAT(found(*loop, request("r1", 2)), IsEmpty()) << "an ended poll claims nothing";
}

TEST_F(PollTest, a_poll_that_ends_while_work_arrives_loses_none_of_it) {
  const auto loop = open();
  constexpr int kRounds = 200;
  for (int i = 1; i <= kRounds; ++i) {
    const PollRequest repeated = request("r" + std::to_string(i), 2);
    Submitted submitted = submit(*loop, repeated);
    std::thread ender([&] { submitted.poll->end(); });
    start(*loop, i, one_);
    ender.join();
    EXPECT_EQ(claims(submitted.given()), claims(found(*loop, repeated))) << "round " << i;
  }
}

TEST_F(PollTest, a_poll_notifies_when_it_has_ended) {
  const auto loop = open();
  Submitted submitted = submit(*loop, request("r1"));
  std::promise<void> before;
  submitted.poll->when_ended([&] { before.set_value(); });
  submitted.poll->end();
  EXPECT_EQ(before.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  bool at_once = false;
  submitted.poll->when_ended([&] { at_once = true; });
  EXPECT_TRUE(at_once);
}

TEST_F(PollTest, a_poll_gets_a_response_when_the_loop_is_closed) {
  const auto loop = open();
  Submitted submitted = submit(*loop, request("r1", 3));
  settle(*loop);
  loop->close();
  ASSERT_EQ(submitted.answer.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(code_of(submitted.answer.get()), "engine_stopped");
  Submitted late = submit(*loop, request("r2", 3));
  ASSERT_EQ(late.answer.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(code_of(late.answer.get()), "engine_stopped");
}

TEST_F(PollTest, claims_of_a_poll_are_found_again_after_a_restart) {
  std::set<std::string> given;
  {
    const auto loop = open();
    start_together(*loop, 1, 4);
    Submitted submitted = submit(*loop, request("r1", 3));
    given = claims(submitted.given());
    EXPECT_EQ(claims(found(*loop, request("r1", 3))), given);
  }
  const auto again = open();
  EXPECT_THAT(given, SizeIs(3));
  EXPECT_EQ(claims(found(*again, request("r1", 3))), given) << "with the same claims and tokens";
  // The token is good for a report.
  const Assignment one = found(*again, request("r1", 3)).front();
  must(again->execute<Done>([&](Turn& turn) -> Result<Done> {
    HOLDFAST_CHECK(complete_attempt(turn, proof_of(one), completion()));
    return Done{};
  }));
  EXPECT_THAT(found(*again, request("r1", 3)), SizeIs(2)) << "what is reported is no longer held";
}

TEST_F(PollTest, only_the_same_request_finds_its_claims) {
  const auto loop = open();
  start(*loop, 1, one_);
  EXPECT_THAT(submit(*loop, request("r1")).given(), SizeIs(1));
  EXPECT_THAT(found(*loop, request("r1")), SizeIs(1));
  EXPECT_THAT(found(*loop, request("r2")), IsEmpty()) << "another request";
  EXPECT_THAT(found(*loop, request("r1", 1, "w2")), IsEmpty()) << "another worker";
  PollRequest guessed = request("r1");
  guessed.worker.secret = std::string(32, 't');
  EXPECT_THAT(found(*loop, guessed), IsEmpty()) << "another secret";
}

TEST_F(PollTest, claim_ids_depend_on_every_part_of_the_request) {
  std::set<std::string> ids;
  std::set<std::string> tokens;
  int count = 0;
  const auto add = [&](const PollRequest& of, std::size_t index) {
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
    for (const char* id : {"r1", "1r1", "r", "r10"}) {
      for (const std::size_t index : {0U, 1U, 10U}) {
        add(request(id, 1, worker), index);
        PollRequest other = request(id, 1, worker);
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
  const PollRequest repeated = request("r1");
  const auto worker = std::make_shared<ClaimRequest>();
  worker->skills = repeated.skills;
  worker->applicants = {derived_applicant(repeated, 0)};
  worker->assigned = [](const std::vector<Result<Assignment>>&) {};
  core.core.request_claim(worker);
  core.settle();
  const auto count_held = [&] {
    const auto answer = core.execute<std::vector<Assignment>>(
        [&](Turn& turn) { return find_given(turn, repeated); });
    core.settle();
    return must(*answer->result).size();
  };
  EXPECT_EQ(count_held(), 1U);
  time.advance_ms(600'000);
  EXPECT_EQ(count_held(), 0U) << "its lease has expired";
}

TEST_F(PollTest, polls_are_known_by_worker_and_request) {
  const auto loop = open();
  const auto make = [&](const PollRequest& of) {
    return std::make_shared<Poll>(*loop, of, [](const Given&) {});
  };
  const PollPtr first = make(request("r1"));
  const PollPtr second = make(request("r1"));
  EXPECT_TRUE(polls_.add(request("r1"), first));
  EXPECT_EQ(polls_.find(request("r1")), first);
  EXPECT_EQ(polls_.find(request("r2")), nullptr);
  EXPECT_EQ(polls_.find(request("r1", 1, "w2")), nullptr);
  EXPECT_TRUE(polls_.add(request("r1"), second));
  polls_.remove(request("r1"), first);
  EXPECT_EQ(polls_.find(request("r1")), second) << "the later poll replaced it";
  EXPECT_EQ(polls_.waiting(), 1U);
  polls_.remove(request("r1"), second);
  EXPECT_EQ(polls_.waiting(), 0U);
}

TEST_F(PollTest, all_polls_end_together_and_later_ones_must_not_wait) {
  const auto loop = open();
  Submitted one = submit(*loop, request("r1"));
  Submitted two = submit(*loop, request("r2", 3));
  EXPECT_TRUE(polls_.add(request("r1"), one.poll));
  EXPECT_TRUE(polls_.add(request("r2", 3), two.poll));
  polls_.end_all();
  EXPECT_THAT(one.given(), IsEmpty());
  EXPECT_THAT(two.given(), IsEmpty());
  Submitted late = submit(*loop, request("r3"));
  EXPECT_FALSE(polls_.add(request("r3"), late.poll)) << "the server is draining";
  late.poll->end();
  EXPECT_THAT(late.given(), IsEmpty());
}

TEST_F(PollTest, workers_with_the_same_queues_and_handlers_share_their_skills) {
  const auto one = polls_.skills({"q"}, {"a", "b"});
  EXPECT_EQ(polls_.skills({"q"}, {"b", "a"}), one) << "in any order of the handlers";
  EXPECT_NE(polls_.skills({"q"}, {"a"}), one);
  EXPECT_NE(polls_.skills({"q", "a"}, {"b"}), one) << "queues are not handlers";
  EXPECT_NE(polls_.skills({}, {"q", "a", "b"}), one);
}

}  // namespace
}  // namespace holdfast::polls_test

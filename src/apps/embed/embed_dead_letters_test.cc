// Dead letters as an embedding program sees them: parked steps, and attempts that failed their run.
// them.
#include <optional>
#include <vector>

#include "tests/support/embed_fixture.h"
#include "tests/support/temp_dir.h"

namespace holdfast::embed_dead_letters_test {
namespace {

StepSettings parking() {
  StepSettings settings;
  settings.retry.max_attempts = 2;
  settings.retry.then = RetryThen::park;
  return settings;
}

// Fails while its input has no card, with the error code that the input names.
StepResult charge(StepContext& /*context*/, std::string_view input) {
  if (input.find("card") != std::string_view::npos) {
    return StepResult::ok(R"({"charged":true})");
  }
  return StepResult::fail(input.find("stolen") != std::string_view::npos ? "stolen" : "declined",
                          "no card");
}

class EmbedDeadLetters : public testing::Test {
 protected:
  EmbedDeadLetters() { open(); }

  void open() {
    engine_.reset();
    engine_.emplace(open_engine("sqlite:" + folder_.file("work.db")));
    register_job(*engine_, charge, parking());
  }
  std::string park(std::string_view input = "{}") {
    const std::string run = start_job(*engine_, input);
    must(engine_->drain());
    EXPECT_EQ(inspect(*engine_, run).status, "parked");
    return run;
  }
  std::vector<std::string> listed(const DeadLetterQuery& query = {}) {
    std::vector<std::string> runs;
    for (const DeadLetterView& letter : must(engine_->dead_letters(query)).dead_letters) {
      runs.push_back(letter.run_id);
    }
    return runs;
  }
  std::string status(const std::string& run) { return inspect(*engine_, run).status; }

  TempDir folder_;
  std::optional<Engine> engine_;
};

using Runs = std::vector<std::string>;

TEST_F(EmbedDeadLetters, a_parked_step_is_retried_with_another_input_or_discarded) {
  const std::string retried = park();
  must(engine_->retry(retried, {.input = R"({"card":"c-1"})"}));
  must(engine_->drain());
  EXPECT_EQ(status(retried), "completed");
  const std::string discarded = park();
  must(engine_->discard(discarded));
  EXPECT_EQ(status(discarded), "failed");
  EXPECT_EQ(code_of(engine_->retry(discarded)), "terminal_run");
  EXPECT_EQ(code_of(engine_->retry(discarded, {.input = "[]"})), "invalid_argument");
}

TEST_F(EmbedDeadLetters, a_list_shows_what_is_parked_and_why_also_after_a_restart) {
  EXPECT_EQ(listed(), Runs());
  const std::string run = park(R"({"order":7})");
  open();
  const DeadLetterPage page = must(engine_->dead_letters());
  ASSERT_EQ(page.dead_letters.size(), 1U);
  const DeadLetterView& letter = page.dead_letters.front();
  EXPECT_EQ(letter.run_id, run);
  EXPECT_EQ(letter.workflow, "job");
  EXPECT_EQ(letter.step, "work");
  EXPECT_EQ(letter.queue, "default");
  EXPECT_EQ(letter.runnable_key, run + ":work:1");
  EXPECT_EQ(letter.attempts, 1U) << "a permanent failure is not retried";
  EXPECT_GT(letter.since, 0);
  EXPECT_NE(letter.error.find("declined"), std::string::npos);
  EXPECT_EQ(letter.input, R"({"order":7})");
  EXPECT_EQ(page.next, "");
  must(engine_->discard(run));
  EXPECT_EQ(listed(), Runs());
}

TEST_F(EmbedDeadLetters, a_list_is_filtered_and_continues_where_a_page_ended) {
  const std::string first = park();
  const std::string second = park(R"({"stolen":true})");
  const std::string third = park();
  EXPECT_EQ(listed({.code = "declined"}), Runs({first, third}));
  EXPECT_EQ(listed({.workflow = "job", .step = "work", .code = "stolen"}), Runs({second}));
  EXPECT_EQ(listed({.queue = "other"}), Runs());
  EXPECT_EQ(listed({.workflow = "other"}), Runs());
  EXPECT_EQ(listed({.step = "other"}), Runs());
  Runs paged;
  DeadLetterQuery query{.limit = 1};
  do {
    const DeadLetterPage page = must(engine_->dead_letters(query));
    for (const DeadLetterView& letter : page.dead_letters) {
      paged.push_back(letter.run_id);
    }
    query.cursor = page.next;
  } while (!query.cursor.empty());
  EXPECT_EQ(paged, Runs({first, second, third}));
  EXPECT_EQ(code_of(engine_->dead_letters({.cursor = "nonsense"})), "invalid_argument");
  EXPECT_EQ(code_of(engine_->dead_letters({.limit = 0})), "invalid_argument");
}

TEST_F(EmbedDeadLetters, those_that_match_are_decided_together_and_a_preview_changes_nothing) {
  const std::string first = park();
  const std::string stolen = park(R"({"stolen":true})");
  const std::string third = park();
  EXPECT_EQ(code_of(engine_->redrive_dead_letters({})), "invalid_argument")
      << "everything must be requested";
  EXPECT_EQ(code_of(engine_->discard_dead_letters({.code = "stolen", .all = true})),
            "invalid_argument");
  const DeadLetterDecision preview =
      must(engine_->discard_dead_letters({.code = "stolen", .dry_run = true}));
  EXPECT_EQ(preview.matched.size(), 1U);
  EXPECT_EQ(preview.done, 0U);
  EXPECT_EQ(status(stolen), "parked");
  EXPECT_EQ(must(engine_->discard_dead_letters({.code = "stolen"})).done, 1U);
  EXPECT_EQ(status(stolen), "failed");
  const DeadLetterDecision some = must(engine_->redrive_dead_letters({.all = true, .limit = 1}));
  EXPECT_EQ(some.done, 1U);
  EXPECT_TRUE(some.more);
  EXPECT_EQ(status(first), "running") << "the oldest first";
  EXPECT_EQ(listed(), Runs({third}));
  must(engine_->drain());
  EXPECT_EQ(listed(), Runs({third, first})) << "parked again, and so the newest";
}

// Runs that failed. The workflow "order" reserves, then charges.
class EmbedExhausted : public testing::Test {
 protected:
  EmbedExhausted() { open(); }

  void open() {
    engine_.reset();
    engine_.emplace(open_engine("sqlite:" + folder_.file("work.db")));
    StepSettings twice;
    twice.retry.max_attempts = 2;
    twice.after = {"reserve"};
    StepSettings reserve;
    if (compensates_) {
      reserve.compensate = {.handler = "release"};
    }
    must(engine_->register_workflow(
        Workflow("order").step("reserve", reserve).step("charge", twice)));
    must(engine_->register_handler("reserve", [this](StepContext&, std::string_view) {
      ++reserved_;
      return StepResult::ok(R"({"reserved":true})");
    }));
    must(engine_->register_handler("release", nothing));
    must(engine_->register_handler("charge", [this](StepContext&, std::string_view input) {
      seen_ = input;
      return bank_is_up_ ? StepResult::ok() : StepResult::retry("bank_down", "no answer");
    }));
  }
  std::string fail() {
    const std::string run = must(engine_->start("order", R"({"total":7})")).run_id;
    must(engine_->drain());
    EXPECT_EQ(status(run), "failed");
    return run;
  }
  std::vector<DeadLetterView> letters(const DeadLetterQuery& query = {}) {
    return must(engine_->dead_letters(query)).dead_letters;
  }
  std::string redrive(const std::string& run) {
    const DeadLetterDecision decision = must(engine_->redrive_dead_letters({.run_id = run}));
    EXPECT_EQ(decision.done, 1U);
    EXPECT_EQ(decision.matched.size(), 1U);
    return decision.matched.empty() ? "" : decision.matched.front().replay_run_id;
  }
  std::string status(const std::string& run) { return inspect(*engine_, run).status; }
  std::size_t runs() { return must(engine_->list({})).runs.size(); }

  TempDir folder_;
  bool compensates_ = false;
  bool bank_is_up_ = false;
  int reserved_ = 0;
  std::string seen_;
  std::optional<Engine> engine_;
};

TEST_F(EmbedExhausted, the_last_attempt_of_a_failed_run_is_a_dead_letter_also_after_a_restart) {
  const std::string run = fail();
  for (const char* when : {"before", "after a restart"}) {
    SCOPED_TRACE(when);
    const auto found = letters({.queue = "default", .reason = "exhausted"});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].reason, "exhausted");
    EXPECT_EQ(found[0].run_id, run);
    EXPECT_EQ(found[0].workflow, "order");
    EXPECT_EQ(found[0].step, "charge");
    EXPECT_EQ(found[0].runnable_key, run + ":charge:2");
    EXPECT_EQ(found[0].attempts, 2U);
    EXPECT_GE(found[0].age_ms, 0);
    EXPECT_EQ(found[0].since, inspect(*engine_, run).ended_at_ms);
    EXPECT_NE(found[0].error.find("bank_down"), std::string::npos);
    EXPECT_EQ(found[0].input, R"({"total":7,"reserved":true})");
    open();
  }
  EXPECT_EQ(letters({.reason = "parked"}).size(), 0U);
  EXPECT_EQ(letters({.run_id = run}).size(), 1U);
  EXPECT_EQ(code_of(engine_->dead_letters({.reason = "other"})), "invalid_argument");
  EXPECT_EQ(code_of(engine_->dead_letters({.run_id = "other"})), "invalid_argument");
}

TEST_F(EmbedExhausted, a_redrive_repeats_the_run_once_from_the_step_that_failed) {
  const std::string run = fail();
  bank_is_up_ = true;
  EXPECT_EQ(must(engine_->redrive_dead_letters({.run_id = run, .dry_run = true})).done, 0U);
  EXPECT_EQ(runs(), 1U) << "a preview starts nothing";
  const std::string replay = redrive(run);
  EXPECT_EQ(redrive(run), replay) << "a repeated redrive";
  must(engine_->drain());
  open();
  EXPECT_EQ(redrive(run), replay) << "of another process";
  EXPECT_EQ(runs(), 2U);
  EXPECT_EQ(status(run), "failed") << "it stays as it ended";
  EXPECT_EQ(status(replay), "completed");
  EXPECT_EQ(reserved_, 1) << "the step before it is not repeated";
  EXPECT_EQ(seen_, R"({"total":7,"reserved":true})");
  EXPECT_TRUE(letters().empty());
  EXPECT_EQ(code_of(engine_->discard(run)), "invalid_transition");
}

TEST_F(EmbedExhausted, a_redrive_that_fails_again_is_a_dead_letter_of_the_new_run) {
  const std::string run = fail();
  const std::string replay = redrive(run);
  must(engine_->drain());
  EXPECT_EQ(status(replay), "failed");
  ASSERT_EQ(letters().size(), 1U);
  EXPECT_EQ(letters()[0].run_id, replay);
}

TEST_F(EmbedExhausted, a_run_that_compensated_is_repeated_from_the_start) {
  compensates_ = true;
  open();
  const std::string run = fail();
  ASSERT_EQ(letters().size(), 1U);
  EXPECT_EQ(letters()[0].step, "charge") << "not the compensation";
  bank_is_up_ = true;
  const std::string replay = redrive(run);
  must(engine_->drain());
  EXPECT_EQ(status(replay), "completed");
  EXPECT_EQ(reserved_, 2);
}

TEST_F(EmbedExhausted, a_discard_hides_the_attempt_for_good) {
  const std::string first = fail();
  const std::string second = fail();
  must(engine_->discard(first, {.actor = "ann", .comment = "paid in cash"}));
  must(engine_->discard(first));
  EXPECT_EQ(must(engine_->discard_dead_letters({.run_id = first})).done, 1U) << "repeated";
  open();
  ASSERT_EQ(letters().size(), 1U);
  EXPECT_EQ(letters()[0].run_id, second);
  EXPECT_EQ(must(engine_->redrive_dead_letters({.run_id = first})).done, 0U);
  EXPECT_EQ(must(engine_->discard_dead_letters({.code = "bank_down"})).done, 1U);
  EXPECT_TRUE(letters().empty());
  EXPECT_EQ(runs(), 2U);
  EXPECT_EQ(status(first), "failed");
}

}  // namespace
}  // namespace holdfast::embed_dead_letters_test

// Parked steps and dead letters, as an embedding program sees them.
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

}  // namespace
}  // namespace holdfast::embed_dead_letters_test

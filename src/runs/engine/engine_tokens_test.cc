// Access tokens as a loop knows them, and what it reports to its observer, also when other
// processes write to the same store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <mutex>

#include "runs/engine/engine_loop.h"
#include "tests/support/core_fixture.h"
#include "tests/support/temp_dir.h"

namespace holdfast::engine_tokens_test {
namespace {

using ::testing::ElementsAre;

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    poll(nullptr, 0, 2);
  }
  return true;
}

Result<Done> create(Turn& turn, const std::string& id) {
  CreateToken command;
  command.name = "name of " + id;
  command.role = Role::client;
  HOLDFAST_TRY(const TokenCreated fact, decide_create(turn.state().registry().tokens(), command, id,
                                                      id + "-secret", turn.now()));
  HOLDFAST_CHECK(turn.emit(fact));
  return Done{};
}
Result<Done> revoke(Turn& turn, const std::string& id) {
  HOLDFAST_TRY(const auto fact, decide_revoke(turn.state().registry().tokens(), id, "ann"));
  if (fact.has_value()) {
    HOLDFAST_CHECK(turn.emit(*fact));
  }
  return Done{};
}

// The id of each token, and whether it is revoked.
std::vector<std::string> names(const Tokens& tokens) {
  std::vector<std::string> all;
  for (const auto& [id, token] : tokens.all()) {
    all.push_back(id.str() + (token.revoked_at.has_value() ? " revoked" : ""));
  }
  return all;
}

// Records the notifications and checks their order.
class Observer final : public CommitObserver {
 public:
  void committed(const CommitReport& report) override {
    const std::scoped_lock lock(mutex_);
    EXPECT_LT(own_, report.position) << "commits come in order";
    own_ = report.position;
  }
  void reached(Position position) override {
    const std::scoped_lock lock(mutex_);
    EXPECT_LT(reached_, position) << "positions only grow";
    EXPECT_LE(own_, position) << "a commit is reported before it is reached";
    reached_ = position;
  }
  Position reached() {
    const std::scoped_lock lock(mutex_);
    return reached_;
  }

 private:
  std::mutex mutex_;
  Position own_;
  Position reached_;
};

class TokensOfAStore : public testing::Test {
 protected:
  std::unique_ptr<Loop> open(CommitObserver* observer = nullptr) {
    LoopOptions options;
    options.observer = observer;
    return must(Loop::open(journal(), clock_, random_, options));
  }
  std::unique_ptr<Journal> journal() {
    return must(open_journal("sqlite:" + dir_.file("store.db"), OpenMode::create, clock_, random_));
  }
  static void change(Loop& loop, Result<Done> (*how)(Turn&, const std::string&),
                     const std::string& id) {
    must(loop.execute<Done>([how, id](Turn& turn) { return how(turn, id); }));
  }

  TempDir dir_;
  SystemClock clock_;
  SystemRandom random_;
};

TEST_F(TokensOfAStore, created_by_this_process_are_known_when_the_command_returns) {
  const auto loop = open();
  EXPECT_TRUE(loop->tokens()->empty());
  const auto before = loop->tokens();
  change(*loop, create, "t1");
  EXPECT_THAT(names(*loop->tokens()), ElementsAre("t1"));
  EXPECT_TRUE(before->empty()) << "a snapshot does not change";
  change(*loop, revoke, "t1");
  EXPECT_THAT(names(*loop->tokens()), ElementsAre("t1 revoked"));
}

TEST_F(TokensOfAStore, created_or_revoked_by_another_process_are_seen_by_the_observer) {
  const auto watching = open();
  watching->keep_watching();
  const auto other = open();
  change(*other, create, "t1");
  EXPECT_TRUE(eventually([&] { return !watching->tokens()->empty(); }));
  EXPECT_THAT(names(*watching->tokens()), ElementsAre("t1"));
  change(*other, create, "t2");
  change(*other, revoke, "t1");
  EXPECT_TRUE(eventually([&] { return names(*watching->tokens()) == names(*other->tokens()); }));
  EXPECT_THAT(names(*watching->tokens()), ElementsAre("t1 revoked", "t2"));
  EXPECT_TRUE(fits(*watching->tokens()->find("t2"), "t2-secret"));
}

TEST_F(TokensOfAStore, are_known_after_a_restart_with_and_without_a_checkpoint) {
  {
    const auto loop = open();
    change(*loop, create, "t1");
    change(*loop, create, "t2");
    change(*loop, revoke, "t2");
    loop->close();
  }
  // An orderly shutdown leaves a checkpoint.
  EXPECT_TRUE(
      must(journal()->find_checkpoint(thread("engine:live"), kLiveCheckpointVersion)).has_value());
  EXPECT_THAT(names(*open()->tokens()), ElementsAre("t1", "t2 revoked"));
  must(journal()->delete_checkpoint(thread("engine:live")));
  const auto loop = open();
  EXPECT_THAT(names(*loop->tokens()), ElementsAre("t1", "t2 revoked"));
  EXPECT_TRUE(fits(*loop->tokens()->find("t1"), "t1-secret"));
  EXPECT_EQ(loop->tokens()->find("t1")->created.name.view(), "name of t1");
}

TEST_F(TokensOfAStore, an_observer_is_notified_of_the_position_for_writes_of_every_process) {
  Observer observer;
  const auto loop = open(&observer);
  loop->keep_watching();
  const auto other = open();
  change(*other, create, "t1");
  EXPECT_TRUE(eventually([&] { return observer.reached() == Position{1}; }));
  change(*loop, create, "t2");
  EXPECT_TRUE(eventually([&] { return observer.reached() == Position{2}; }));
  for (int i = 3; i < 20; ++i) {
    change(i % 3 == 0 ? *loop : *other, create, "t" + std::to_string(i));
  }
  EXPECT_TRUE(eventually([&] { return observer.reached() == Position{19}; }));
  loop->close();
}

TEST_F(TokensOfAStore, an_observer_is_not_notified_of_earlier_commits) {
  {
    const auto loop = open();
    change(*loop, create, "t1");
  }
  Observer observer;
  const auto loop = open(&observer);
  change(*loop, create, "t2");
  EXPECT_TRUE(eventually([&] { return observer.reached() == Position{2}; }));
}

class TokensOfACore : public CoreTest {
 protected:
  static std::shared_ptr<Answer<Done>> change(TestCore& core,
                                              Result<Done> (*how)(Turn&, const std::string&),
                                              const std::string& id) {
    return core.execute<Done>([how, id](Turn& turn) { return how(turn, id); });
  }
  std::size_t count(std::string_view kind) {
    const auto kinds = kinds_from(*open_memory_journal(disk_), Position{1});
    return static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), kind));
  }
};

TEST_F(TokensOfACore, lost_to_a_conflict_are_rolled_back_and_written_again_once) {
  TestCore& core = open();
  TestCore& other = open();
  const auto made = change(core, create, "t1");
  core.hooks->before_append = [&]() -> Result<void> {
    const auto first = change(other, create, "t2");
    other.settle();
    EXPECT_EQ(first->code(), "ok");
    return {};
  };
  core.settle();
  EXPECT_EQ(core.core.stats().conflicts, 1U);
  EXPECT_EQ(made->code(), "ok");
  EXPECT_EQ(made->decided, 2);
  EXPECT_EQ(made->settled, 1);
  EXPECT_EQ(count("token_created"), 2U);
  EXPECT_THAT(names(core.core.state().registry().tokens()), ElementsAre("t1", "t2"));
  other.core.check_for_changes();
  other.settle();
  EXPECT_THAT(names(other.core.state().registry().tokens()), ElementsAre("t1", "t2"));
}

TEST_F(TokensOfACore, created_by_two_processes_under_one_name_are_created_once) {
  TestCore& core = open();
  TestCore& other = open();
  const auto lost = change(core, create, "t1");
  core.hooks->before_append = [&]() -> Result<void> {
    change(other, create, "t1");
    other.settle();
    return {};
  };
  core.settle();
  EXPECT_NE(lost->code(), "ok") << "the second decision is a refusal";
  EXPECT_EQ(count("token_created"), 1U);
}

TEST_F(TokensOfACore, of_a_refused_command_change_only_the_change_number) {
  TestCore& core = open();
  change(core, create, "t1");
  core.settle();
  const std::uint64_t before = core.core.state().registry().tokens().changes();
  std::uint64_t inside = 0;
  const auto refused = core.execute<Done>([&inside](Turn& turn) -> Result<Done> {
    HOLDFAST_CHECK(create(turn, "t2"));
    HOLDFAST_CHECK(revoke(turn, "t1"));
    inside = turn.state().registry().tokens().changes();
    return Error{ErrorCode::invalid_argument, "no"};
  });
  core.settle();
  EXPECT_EQ(refused->code(), "invalid_argument");
  EXPECT_THAT(names(core.core.state().registry().tokens()), ElementsAre("t1"));
  const std::uint64_t now = core.core.state().registry().tokens().changes();
  EXPECT_NE(inside, before);
  EXPECT_NE(now, inside) << "a snapshot taken in between is out of date";
  // After as many other changes the number must not repeat, because it stood for the rolled-back
  // ones.
  for (const char* id : {"t3", "t4"}) {
    change(core, create, id);
    core.settle();
    EXPECT_NE(core.core.state().registry().tokens().changes(), inside) << id;
  }
  EXPECT_EQ(count("token_created"), 3U);
  EXPECT_EQ(count("token_revoked"), 0U);
}

TEST_F(TokensOfACore, revoked_twice_are_revoked_once) {
  TestCore& core = open();
  change(core, create, "t1");
  core.settle();
  change(core, revoke, "t1");
  change(core, revoke, "t1");
  core.settle();
  change(core, revoke, "t1");
  core.settle();
  EXPECT_EQ(count("token_revoked"), 1U);
}

}  // namespace
}  // namespace holdfast::engine_tokens_test

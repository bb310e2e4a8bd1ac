#include "apps/server/event_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "base/json_value.h"
#include "runs/run/run_fact.h"
#include "tests/support/test_log.h"

namespace holdfast {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr TimeMs kNow{1'700'000'000'000};

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    poll(nullptr, 0, 1);
  }
  return true;
}

// A listener at the other end of a connection; a slow one takes a piece when it is told to.
class Ear final : public net::Stream {
 public:
  enum class Pace : std::uint8_t { quick, slow };
  explicit Ear(Pace pace = Pace::quick) : pace_(pace) {}

  void write(std::string piece, std::function<void(bool alive)> sent) override {
    {
      const std::scoped_lock lock(mutex_);
      EXPECT_EQ(sent_, nullptr) << "one piece at a time";
      EXPECT_FALSE(finished_);
      heard_ += piece;
      ++pieces_;
      largest_ = std::max(largest_, piece.size());
      if (pace_ == Pace::slow) {
        sent_ = std::move(sent);
        return;
      }
    }
    sent(true);
  }
  void finish() override {
    const std::scoped_lock lock(mutex_);
    finished_ = true;
  }

  // The piece under way has been sent, or the connection is over.
  void take(bool alive = true) {
    std::function<void(bool)> sent;
    {
      const std::scoped_lock lock(mutex_);
      sent = std::exchange(sent_, nullptr);
    }
    ASSERT_NE(sent, nullptr);
    sent(alive);
  }
  bool has_piece() {
    const std::scoped_lock lock(mutex_);
    return sent_ != nullptr;
  }
  std::string heard() {
    const std::scoped_lock lock(mutex_);
    return heard_;
  }
  bool finished() {
    const std::scoped_lock lock(mutex_);
    return finished_;
  }
  std::size_t pieces() {
    const std::scoped_lock lock(mutex_);
    return pieces_;
  }
  std::size_t largest() {
    const std::scoped_lock lock(mutex_);
    return largest_;
  }
  // The values of a field of all events, in order.
  std::vector<std::string> all(const std::string& field) {
    const std::string text = heard();
    std::vector<std::string> values;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      if (text.compare(at, field.size() + 2, field + ": ") == 0) {
        values.push_back(text.substr(at + field.size() + 2, end - at - field.size() - 2));
      }
      at = end + 1;
    }
    return values;
  }
  std::vector<std::string> ids() { return all("id"); }

 private:
  const Pace pace_;
  std::mutex mutex_;
  std::string heard_;
  std::function<void(bool)> sent_;
  std::size_t pieces_ = 0;
  std::size_t largest_ = 0;
  bool finished_ = false;
};
using EarPtr = std::shared_ptr<Ear>;

RunId run_no(int number) {
  RunId run;
  run.uuid.bytes.back() = static_cast<std::byte>(number);
  return run;
}

class Feed : public testing::Test {
 protected:
  // One batch with an entry in each of the threads.
  Position write(const std::vector<std::pair<std::string, NewEntry>>& entries) {
    Commit commit;
    for (const auto& [name, fact] : entries) {
      commit.push_back({thread(name), std::nullopt, {fact}});
    }
    const Position at = must(journal_->commit(commit)).position;
    feed_->reached(at);
    return at;
  }
  Position write_one(const std::string& kind = "noted", const std::string& name = "notes:a") {
    return write({{name, entry(kind)}});
  }
  // A run of a workflow.
  Position start(int number, std::string_view workflow) {
    RunStarted fact;
    fact.run_id = run_no(number);
    fact.workflow = workflow;
    return write({{run_name(number), must(to_entry(RunFact(fact), kNow))}});
  }
  static std::string run_name(int number) { return "run:" + to_string(run_no(number)); }
  static NewEntry of_run(int number, std::string kind) {
    return entry(std::move(kind), R"({"run_id":")" + to_string(run_no(number)) + R"("})");
  }

  EarPtr listen(const EventCursor& after = {Position{0}}, EventFilter filter = {},
                Ear::Pace pace = Ear::Pace::quick) {
    auto ear = std::make_shared<Ear>(pace);
    feed_->listen(ear, std::move(filter), after, [this] { ++over_; });
    return ear;
  }
  // It hears these and, as far as can be seen, nothing else.
  static void expect_ids(const EarPtr& ear, const std::vector<std::string>& ids) {
    EXPECT_TRUE(eventually([&] { return ear->ids().size() >= ids.size(); }));
    EXPECT_EQ(ear->ids(), ids);
  }
  // Everything written so far was looked at for the listener: what is written now comes last.
  std::vector<std::string> all_ids(const EarPtr& ear, const std::string& last_thread = "notes:z",
                                   const std::string& last_kind = "last") {
    const std::string last = std::to_string(write_one(last_kind, last_thread).value) + ".0";
    EXPECT_TRUE(eventually([&] { return !ear->ids().empty() && ear->ids().back() == last; }));
    auto ids = ear->ids();
    ids.pop_back();
    return ids;
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<Journal> journal_ = open_memory_journal(disk_);
  ManualClock clock_{kNow};
  std::vector<std::string> logged_;
  ServerLog log_{clock_, LogLevel::debug, LogForm::text,
                 [this](std::string_view line) { logged_.emplace_back(line); }};
  std::atomic<int> over_ = 0;
  std::unique_ptr<EventFeed> feed_ = std::make_unique<EventFeed>(*journal_, log_);
};

TEST(EventCursor, is_a_batch_or_an_entry_of_one) {
  EXPECT_EQ(EventCursor::parse("128"), (EventCursor{Position{128}}));
  EXPECT_EQ(EventCursor::parse("128.3"), (EventCursor{Position{128}, 3}));
  EXPECT_EQ(EventCursor::parse("0"), (EventCursor{Position{0}}));
  EXPECT_EQ(EventCursor::parse("1.0"), (EventCursor{Position{1}, 0}));
  for (const char* bad : {"", ".", "1.", ".1", "x", "1.x", "1.2.3", "-1", "1.-1", " 1", "1 ", "01",
                          "1.4294967296", "99999999999999999999"}) {
    EXPECT_FALSE(EventCursor::parse(bad).has_value()) << bad;
  }
  EXPECT_LT(*EventCursor::parse("1.7"), *EventCursor::parse("1")) << "a batch is all of it";
  EXPECT_LT(*EventCursor::parse("1"), *EventCursor::parse("2.0"));
}

TEST_F(Feed, tells_what_was_there_and_what_comes_once_and_in_order) {
  write({{"notes:a", entry("noted")}, {"notes:b", entry("noted")}});
  write_one();
  const EarPtr ear = listen();
  expect_ids(ear, {"1.0", "1.1", "2.0"});
  write({{"notes:a", entry("noted")}, {"notes:b", entry("noted")}});
  write_one();
  expect_ids(ear, {"1.0", "1.1", "2.0", "3.0", "3.1", "4.0"});
}

TEST_F(Feed, an_event_says_where_what_and_when) {
  write({{"notes:a", entry("noted", R"({"n":7,"password":"hush"})")},
         {run_name(1), entry("thought", R"({"x":"a\nb"})")}});
  const EarPtr ear = listen();
  expect_ids(ear, {"1.0", "1.1"});
  EXPECT_THAT(ear->all("event"), ElementsAre("noted", "thought"));
  const auto data = ear->all("data");
  ASSERT_EQ(data.size(), 2U);
  const Json first = must(Json::parse(data[0]));
  EXPECT_EQ(first.find("position")->integer(), 1);
  EXPECT_EQ(first.find("index")->integer(), 0);
  EXPECT_EQ(first.find("thread")->string(), "notes:a");
  EXPECT_EQ(first.find("seq")->integer(), 0);
  EXPECT_EQ(first.find("kind")->string(), "noted");
  EXPECT_EQ(first.find("at")->integer(), kNow.value);
  EXPECT_FALSE(first.find("run_id").has_value());
  EXPECT_EQ(first.find("data")->find("n")->integer(), 7);
  EXPECT_THAT(ear->heard(), Not(HasSubstr("hush"))) << "secrets are not told";
  const Json second = must(Json::parse(data[1]));
  EXPECT_EQ(second.find("run_id")->string(), to_string(run_no(1)));
  EXPECT_EQ(second.find("data")->find("x")->string(), "a\nb");
}

TEST_F(Feed, goes_on_from_any_place) {
  write({{"notes:a", entry("noted")}, {"notes:b", entry("noted")}, {"notes:c", entry("noted")}});
  write_one();
  write({{"notes:a", entry("noted")}, {"notes:b", entry("noted")}});
  const std::vector<std::string> all{"1.0", "1.1", "1.2", "2.0", "3.0", "3.1"};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const EarPtr ear = listen(*EventCursor::parse(all[i]));
    expect_ids(ear, {all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end()});
  }
  expect_ids(listen(*EventCursor::parse("1")), {"2.0", "3.0", "3.1"});
  const EarPtr newest = listen({feed_->head()});
  EXPECT_THAT(all_ids(newest), IsEmpty());
}

TEST_F(Feed, tells_the_rest_of_the_newest_batch_before_anything_new_comes) {
  write({{"notes:a", entry("noted")}, {"notes:b", entry("noted")}});
  expect_ids(listen(*EventCursor::parse("1.0")), {"1.1"});
}

TEST_F(Feed, a_place_that_is_still_to_come_is_waited_for) {
  write_one();
  const EarPtr ear = listen(*EventCursor::parse("3.0"));
  for (int i = 0; i < 2; ++i) {
    write({{"notes:a", entry("noted")}, {"notes:b", entry("noted")}});
  }
  write_one();
  expect_ids(ear, {"3.1", "4.0"});
}

TEST_F(Feed, tells_nothing_that_is_not_known_to_be_durable) {
  must(journal_->append(thread("notes:a"), {entry("noted")}));
  const EarPtr ear = listen();
  feed_->reached(Position{0});
  EXPECT_TRUE(eventually([&] { return ear->pieces() > 0; })) << "a sign of life";
  EXPECT_THAT(ear->ids(), IsEmpty());
  feed_->reached(Position{1});
  expect_ids(ear, {"1.0"});
  feed_->reached(Position{0});
  EXPECT_EQ(feed_->head(), Position{1}) << "it never goes back";
}

TEST_F(Feed, a_slow_listener_is_given_one_piece_at_a_time_and_loses_nothing) {
  const std::string blob(2000, 'x');
  constexpr std::size_t kBatches = 300;
  std::vector<std::string> ids;
  for (std::size_t i = 1; i <= kBatches; ++i) {
    write({{"notes:a", entry("noted", R"({"blob":")" + blob + R"("})")}});
    ids.push_back(std::to_string(i) + ".0");
  }
  const EarPtr slow = listen({Position{0}}, {}, Ear::Pace::slow);
  const EarPtr quick = listen();
  EXPECT_TRUE(eventually([&] { return quick->ids().size() == kBatches; }))
      << "nobody waits for the slow one";
  EXPECT_TRUE(eventually([&] { return slow->has_piece(); }));
  EXPECT_LT(slow->ids().size(), 100U) << "nothing is kept for it but the piece under way";
  while (slow->ids().size() < kBatches) {
    ASSERT_TRUE(eventually([&] { return slow->has_piece(); }));
    slow->take();
  }
  EXPECT_EQ(slow->ids(), ids);
  EXPECT_EQ(quick->ids(), ids);
  EXPECT_LT(slow->largest(), 80'000U);
}

TEST_F(Feed, whoever_goes_away_is_forgotten) {
  write_one();
  const EarPtr leaving = listen({Position{0}}, {}, Ear::Pace::slow);
  const EarPtr staying = listen();
  ASSERT_TRUE(eventually([&] { return leaving->has_piece(); }));
  EXPECT_EQ(feed_->listeners(), 2U);
  leaving->take(false);
  EXPECT_TRUE(eventually([&] { return feed_->listeners() == 1U; }));
  EXPECT_TRUE(eventually([&] { return over_ == 1; }));
  EXPECT_TRUE(leaving->finished());
  write_one();
  expect_ids(staying, {"1.0", "2.0"});
  EXPECT_THAT(leaving->ids(), ElementsAre("1.0"));
}

TEST_F(Feed, kinds_can_be_chosen) {
  write({{"notes:a", entry("noted")}, {"notes:b", entry("struck")}});
  write_one("noticed");
  write_one("struck");
  EventFilter filter;
  filter.kinds = {"struck", "last"};
  EXPECT_THAT(all_ids(listen({Position{0}}, filter)), ElementsAre("1.1", "3.0"));
}

TEST_F(Feed, runs_can_be_chosen_with_what_queues_say_about_them) {
  start(1, "order");
  start(2, "order");
  write({{"dispatch:default", of_run(1, "attempt_scheduled")}});
  write({{"dispatch:default", of_run(2, "attempt_scheduled")}});
  write_one();
  EventFilter filter;
  filter.runs = {to_string(run_no(1))};
  const EarPtr ear = listen({Position{0}}, filter);
  EXPECT_THAT(all_ids(ear, run_name(1)), ElementsAre("1.0", "3.0"));
}

TEST_F(Feed, workflows_can_be_chosen_and_facts_of_no_run_belong_to_none) {
  start(1, "order");
  start(2, "refund");
  write({{"dispatch:default", of_run(1, "attempt_scheduled")},
         {"dispatch:other", of_run(2, "attempt_scheduled")}});
  write_one();
  write({{"workflow:order", entry("workflow_registered")}});
  EventFilter filter;
  filter.workflows = {"order"};
  const EarPtr ear = listen({Position{0}}, filter);
  EXPECT_THAT(all_ids(ear, run_name(1)), ElementsAre("1.0", "3.0"));
}

TEST_F(Feed, threads_can_be_chosen_by_their_beginning) {
  write({{"notes:a", entry("noted")}, {"notes:ab", entry("noted")}, {"other:a", entry("noted")}});
  EventFilter filter;
  filter.thread = "notes:a";
  EXPECT_THAT(all_ids(listen({Position{0}}, filter), "notes:az"), ElementsAre("1.0", "1.1"));
}

TEST_F(Feed, filters_add_up) {
  write({{run_name(1), entry("noted")}, {run_name(2), entry("noted")}});
  write({{run_name(1), entry("struck")}});
  EventFilter filter;
  filter.runs = {to_string(run_no(1))};
  filter.kinds = {"noted"};
  EXPECT_THAT(all_ids(listen({Position{0}}, filter), run_name(1), "noted"), ElementsAre("1.0"));
}

TEST_F(Feed, who_may_come_in_is_told_to_nobody) {
  write({{"notes:a", entry("noted")},
         {"access:tokens", entry("token_created")},
         {"notes:b", entry("noted")}});
  write({{"access:tokens", entry("token_revoked")}});
  EventFilter filter;
  filter.thread = "access:";
  const EarPtr curious = listen({Position{0}}, filter);
  const EarPtr ear = listen();
  EXPECT_THAT(all_ids(ear), ElementsAre("1.0", "1.2"));
  EXPECT_THAT(ear->heard(), Not(HasSubstr("token_")));
  EXPECT_THAT(curious->ids(), IsEmpty());
}

TEST_F(Feed, listeners_at_different_places_all_hear_everything) {
  constexpr std::uint64_t kBatches = 1500;  // more than are kept
  for (std::uint64_t i = 0; i < kBatches; ++i) {
    write_one();
  }
  std::vector<std::pair<std::uint64_t, EarPtr>> ears;
  for (const std::uint64_t from : {0U, 1U, 500U, 511U, 512U, 513U, 1000U, 1499U}) {
    ears.emplace_back(from, listen({Position{from}}));
  }
  write_one();
  for (const auto& [from, ear] : ears) {
    std::vector<std::string> ids;
    for (std::uint64_t at = from + 1; at <= kBatches + 1; ++at) {
      ids.push_back(std::to_string(at) + ".0");
    }
    expect_ids(ear, ids);
  }
}

TEST_F(Feed, what_was_sealed_is_told_too) {
  for (int i = 0; i < 50; ++i) {
    write_one();
  }
  must(journal_->seal());
  const EarPtr ear = listen({Position{20}});
  write_one();
  EXPECT_TRUE(eventually([&] { return ear->ids().size() == 31; }));
  EXPECT_EQ(ear->ids().front(), "21.0");
  EXPECT_EQ(ear->ids().back(), "51.0");
}

TEST_F(Feed, that_is_stopped_finishes_all_and_takes_nobody_more) {
  write_one();
  const EarPtr quick = listen();
  const EarPtr slow = listen({Position{0}}, {}, Ear::Pace::slow);
  expect_ids(quick, {"1.0"});
  ASSERT_TRUE(eventually([&] { return slow->has_piece(); }));
  feed_->stop();
  EXPECT_TRUE(quick->finished());
  EXPECT_TRUE(slow->finished());
  EXPECT_EQ(over_, 2);
  EXPECT_EQ(feed_->listeners(), 0U);
  slow->take();
  const EarPtr late = listen();
  EXPECT_TRUE(late->finished());
  EXPECT_EQ(over_, 3);
  EXPECT_THAT(late->ids(), IsEmpty());
}

TEST_F(Feed, that_is_stopped_keeps_no_listener_whose_piece_is_still_under_way) {
  write_one();
  EarPtr slow = listen({Position{0}}, {}, Ear::Pace::slow);
  ASSERT_TRUE(eventually([&] { return slow->has_piece(); }));
  feed_->stop();
  const std::weak_ptr<Ear> kept = std::exchange(slow, nullptr);
  EXPECT_TRUE(kept.expired());
}

TEST_F(Feed, what_cannot_be_read_ends_the_listener_and_is_logged) {
  write_one();
  feed_->reached(Position{5});
  const EarPtr ear = listen();
  EXPECT_TRUE(eventually([&] { return ear->finished(); }));
  feed_->stop();
  ASSERT_EQ(logged_.size(), 1U);
  EXPECT_THAT(logged_[0], HasSubstr("cannot read events"));
}

}  // namespace
}  // namespace holdfast

#include "apps/server/event_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "base/json_value.h"
#include "runs/run/run_fact.h"
#include "tests/support/test_log.h"

namespace holdfast::event_feed_test {
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

// The stream of a listener; a slow one receives a chunk only when take() is called.
class FakeListener final : public net::Stream {
 public:
  enum class Pace : std::uint8_t { quick, slow };
  explicit FakeListener(Pace pace = Pace::quick) : pace_(pace) {}

  void write(std::string chunk, std::function<void(bool alive)> sent) override {
    {
      const std::scoped_lock lock(mutex_);
      EXPECT_EQ(sent_, nullptr) << "one chunk at a time";
      EXPECT_FALSE(finished_);
      received_ += chunk;
      ++chunks_;
      largest_ = std::max(largest_, chunk.size());
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

  // The chunk being sent has left, or the connection is closed.
  void take(bool alive = true) {
    std::function<void(bool)> sent;
    {
      const std::scoped_lock lock(mutex_);
      sent = std::exchange(sent_, nullptr);
    }
    ASSERT_NE(sent, nullptr);
    sent(alive);
  }
  bool has_chunk() {
    const std::scoped_lock lock(mutex_);
    return sent_ != nullptr;
  }
  std::string received() {
    const std::scoped_lock lock(mutex_);
    return received_;
  }
  bool finished() {
    const std::scoped_lock lock(mutex_);
    return finished_;
  }
  std::size_t chunks() {
    const std::scoped_lock lock(mutex_);
    return chunks_;
  }
  std::size_t largest() {
    const std::scoped_lock lock(mutex_);
    return largest_;
  }
  // The values of a field of all events, in order.
  std::vector<std::string> all(const std::string& field) {
    const std::string text = received();
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
  std::string received_;
  std::function<void(bool)> sent_;
  std::size_t chunks_ = 0;
  std::size_t largest_ = 0;
  bool finished_ = false;
};
using ListenerPtr = std::shared_ptr<FakeListener>;

RunId run_no(int number) {
  RunId run;
  run.uuid.bytes.back() = static_cast<std::byte>(number);
  return run;
}

class EventFeedTest : public testing::Test {
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

  ListenerPtr listen(const EventCursor& after = {Position{0}}, EventFilter filter = {},
                     FakeListener::Pace pace = FakeListener::Pace::quick) {
    auto listener = std::make_shared<FakeListener>(pace);
    feed_->listen(listener, std::move(filter), after, [this] { ++ended_; });
    return listener;
  }
  // The listener receives these events and, so far, no others.
  static void expect_ids(const ListenerPtr& listener, const std::vector<std::string>& ids) {
    EXPECT_TRUE(eventually([&] { return listener->ids().size() >= ids.size(); }));
    EXPECT_EQ(listener->ids(), ids);
  }
  // Writes one more event, which the listener receives after everything written so far.
  std::vector<std::string> all_ids(const ListenerPtr& listener,
                                   const std::string& last_thread = "notes:z",
                                   const std::string& last_kind = "last") {
    const std::string last = std::to_string(write_one(last_kind, last_thread).value) + ".0";
    EXPECT_TRUE(
        eventually([&] { return !listener->ids().empty() && listener->ids().back() == last; }));
    auto ids = listener->ids();
    ids.pop_back();
    return ids;
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<Journal> journal_ = open_memory_journal(disk_);
  ManualClock clock_{kNow};
  std::vector<std::string> logged_;
  ServerLog log_{clock_, LogLevel::debug, LogForm::text,
                 [this](std::string_view line) { logged_.emplace_back(line); }};
  std::atomic<int> ended_ = 0;
  std::unique_ptr<EventFeed> feed_ = std::make_unique<EventFeed>(*journal_, log_);
};

TEST(EventCursor, is_a_batch_or_an_entry_of_a_batch) {
  EXPECT_EQ(EventCursor::parse("128"), (EventCursor{Position{128}}));
  EXPECT_EQ(EventCursor::parse("128.3"), (EventCursor{Position{128}, 3}));
  EXPECT_EQ(EventCursor::parse("0"), (EventCursor{Position{0}}));
  EXPECT_EQ(EventCursor::parse("1.0"), (EventCursor{Position{1}, 0}));
  for (const char* bad : {"", ".", "1.", ".1", "x", "1.x", "1.2.3", "-1", "1.-1", " 1", "1 ", "01",
                          "1.4294967296", "99999999999999999999"}) {
    EXPECT_FALSE(EventCursor::parse(bad).has_value()) << bad;
  }
  EXPECT_LT(*EventCursor::parse("1.7"), *EventCursor::parse("1"))
      << "a cursor without an index is after the whole batch";
  EXPECT_LT(*EventCursor::parse("1"), *EventCursor::parse("2.0"));
}

TEST_F(EventFeedTest, sends_stored_and_new_events_once_and_in_order) {
  write({{"notes:a", entry("noted")}, {"notes:b", entry("noted")}});
  write_one();
  const ListenerPtr listener = listen();
  expect_ids(listener, {"1.0", "1.1", "2.0"});
  write({{"notes:a", entry("noted")}, {"notes:b", entry("noted")}});
  write_one();
  expect_ids(listener, {"1.0", "1.1", "2.0", "3.0", "3.1", "4.0"});
}

TEST_F(EventFeedTest, an_event_has_position_thread_kind_time_and_data) {
  write({{"notes:a", entry("noted", R"({"n":7,"password":"hush"})")},
         {run_name(1), entry("thought", R"({"x":"a\nb"})")}});
  const ListenerPtr listener = listen();
  expect_ids(listener, {"1.0", "1.1"});
  EXPECT_THAT(listener->all("event"), ElementsAre("noted", "thought"));
  const auto data = listener->all("data");
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
  EXPECT_THAT(listener->received(), Not(HasSubstr("hush"))) << "secrets are redacted";
  const Json second = must(Json::parse(data[1]));
  EXPECT_EQ(second.find("run_id")->string(), to_string(run_no(1)));
  EXPECT_EQ(second.find("data")->find("x")->string(), "a\nb");
}

TEST_F(EventFeedTest, continues_from_any_cursor) {
  write({{"notes:a", entry("noted")}, {"notes:b", entry("noted")}, {"notes:c", entry("noted")}});
  write_one();
  write({{"notes:a", entry("noted")}, {"notes:b", entry("noted")}});
  const std::vector<std::string> all{"1.0", "1.1", "1.2", "2.0", "3.0", "3.1"};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ListenerPtr listener = listen(*EventCursor::parse(all[i]));
    expect_ids(listener, {all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end()});
  }
  expect_ids(listen(*EventCursor::parse("1")), {"2.0", "3.0", "3.1"});
  const ListenerPtr newest = listen({feed_->head()});
  EXPECT_THAT(all_ids(newest), IsEmpty());
}

TEST_F(EventFeedTest, sends_the_rest_of_the_newest_batch_without_waiting_for_another) {
  write({{"notes:a", entry("noted")}, {"notes:b", entry("noted")}});
  expect_ids(listen(*EventCursor::parse("1.0")), {"1.1"});
}

TEST_F(EventFeedTest, a_cursor_in_the_future_is_waited_for) {
  write_one();
  const ListenerPtr listener = listen(*EventCursor::parse("3.0"));
  for (int i = 0; i < 2; ++i) {
    write({{"notes:a", entry("noted")}, {"notes:b", entry("noted")}});
  }
  write_one();
  expect_ids(listener, {"3.1", "4.0"});
}

TEST_F(EventFeedTest, sends_nothing_that_is_not_known_to_be_durable) {
  must(journal_->append(thread("notes:a"), {entry("noted")}));
  const ListenerPtr listener = listen();
  feed_->reached(Position{0});
  EXPECT_TRUE(eventually([&] { return listener->chunks() > 0; })) << "the stream has begun";
  EXPECT_THAT(listener->ids(), IsEmpty());
  feed_->reached(Position{1});
  expect_ids(listener, {"1.0"});
  feed_->reached(Position{0});
  EXPECT_EQ(feed_->head(), Position{1}) << "the head never decreases";
}

TEST_F(EventFeedTest, a_slow_listener_gets_one_chunk_at_a_time_and_misses_nothing) {
  const std::string blob(2000, 'x');
  constexpr std::size_t kBatches = 300;
  std::vector<std::string> ids;
  for (std::size_t i = 1; i <= kBatches; ++i) {
    write({{"notes:a", entry("noted", R"({"blob":")" + blob + R"("})")}});
    ids.push_back(std::to_string(i) + ".0");
  }
  const ListenerPtr slow = listen({Position{0}}, {}, FakeListener::Pace::slow);
  const ListenerPtr quick = listen();
  EXPECT_TRUE(eventually([&] { return quick->ids().size() == kBatches; }))
      << "no listener waits for the slow one";
  EXPECT_TRUE(eventually([&] { return slow->has_chunk(); }));
  EXPECT_LT(slow->ids().size(), 100U) << "only the chunk being sent is buffered for it";
  while (slow->ids().size() < kBatches) {
    ASSERT_TRUE(eventually([&] { return slow->has_chunk(); }));
    slow->take();
  }
  EXPECT_EQ(slow->ids(), ids);
  EXPECT_EQ(quick->ids(), ids);
  EXPECT_LT(slow->largest(), 80'000U);
}

TEST_F(EventFeedTest, a_listener_that_disconnects_is_removed) {
  write_one();
  const ListenerPtr leaving = listen({Position{0}}, {}, FakeListener::Pace::slow);
  const ListenerPtr staying = listen();
  ASSERT_TRUE(eventually([&] { return leaving->has_chunk(); }));
  EXPECT_EQ(feed_->listeners(), 2U);
  leaving->take(false);
  EXPECT_TRUE(eventually([&] { return feed_->listeners() == 1U; }));
  EXPECT_TRUE(eventually([&] { return ended_ == 1; }));
  EXPECT_TRUE(leaving->finished());
  write_one();
  expect_ids(staying, {"1.0", "2.0"});
  EXPECT_THAT(leaving->ids(), ElementsAre("1.0"));
}

TEST_F(EventFeedTest, events_can_be_filtered_by_kind) {
  write({{"notes:a", entry("noted")}, {"notes:b", entry("struck")}});
  write_one("noticed");
  write_one("struck");
  EventFilter filter;
  filter.kinds = {"struck", "last"};
  EXPECT_THAT(all_ids(listen({Position{0}}, filter)), ElementsAre("1.1", "3.0"));
}

TEST_F(EventFeedTest, a_filter_by_run_includes_the_facts_of_its_queues) {
  start(1, "order");
  start(2, "order");
  write({{"dispatch:default", of_run(1, "attempt_scheduled")}});
  write({{"dispatch:default", of_run(2, "attempt_scheduled")}});
  write_one();
  EventFilter filter;
  filter.runs = {to_string(run_no(1))};
  const ListenerPtr listener = listen({Position{0}}, filter);
  EXPECT_THAT(all_ids(listener, run_name(1)), ElementsAre("1.0", "3.0"));
}

TEST_F(EventFeedTest, a_filter_by_workflow_excludes_facts_without_a_run) {
  start(1, "order");
  start(2, "refund");
  write({{"dispatch:default", of_run(1, "attempt_scheduled")},
         {"dispatch:other", of_run(2, "attempt_scheduled")}});
  write_one();
  write({{"workflow:order", entry("workflow_registered")}});
  EventFilter filter;
  filter.workflows = {"order"};
  const ListenerPtr listener = listen({Position{0}}, filter);
  EXPECT_THAT(all_ids(listener, run_name(1)), ElementsAre("1.0", "3.0"));
}

TEST_F(EventFeedTest, events_can_be_filtered_by_thread_prefix) {
  write({{"notes:a", entry("noted")}, {"notes:ab", entry("noted")}, {"other:a", entry("noted")}});
  EventFilter filter;
  filter.thread = "notes:a";
  EXPECT_THAT(all_ids(listen({Position{0}}, filter), "notes:az"), ElementsAre("1.0", "1.1"));
}

TEST_F(EventFeedTest, an_event_must_match_every_filter) {
  write({{run_name(1), entry("noted")}, {run_name(2), entry("noted")}});
  write({{run_name(1), entry("struck")}});
  EventFilter filter;
  filter.runs = {to_string(run_no(1))};
  filter.kinds = {"noted"};
  EXPECT_THAT(all_ids(listen({Position{0}}, filter), run_name(1), "noted"), ElementsAre("1.0"));
}

TEST_F(EventFeedTest, facts_about_tokens_are_never_sent) {
  write({{"notes:a", entry("noted")},
         {"access:tokens", entry("token_created")},
         {"notes:b", entry("noted")}});
  write({{"access:tokens", entry("token_revoked")}});
  EventFilter filter;
  filter.thread = "access:";
  const ListenerPtr curious = listen({Position{0}}, filter);
  const ListenerPtr listener = listen();
  EXPECT_THAT(all_ids(listener), ElementsAre("1.0", "1.2"));
  EXPECT_THAT(listener->received(), Not(HasSubstr("token_")));
  EXPECT_THAT(curious->ids(), IsEmpty());
}

TEST_F(EventFeedTest, listeners_at_different_cursors_all_receive_everything) {
  constexpr std::uint64_t kBatches = 1500;  // more than are cached
  for (std::uint64_t i = 0; i < kBatches; ++i) {
    write_one();
  }
  std::vector<std::pair<std::uint64_t, ListenerPtr>> listeners;
  for (const std::uint64_t from : {0U, 1U, 500U, 511U, 512U, 513U, 1000U, 1499U}) {
    listeners.emplace_back(from, listen({Position{from}}));
  }
  write_one();
  for (const auto& [from, listener] : listeners) {
    std::vector<std::string> ids;
    for (std::uint64_t at = from + 1; at <= kBatches + 1; ++at) {
      ids.push_back(std::to_string(at) + ".0");
    }
    expect_ids(listener, ids);
  }
}

TEST_F(EventFeedTest, sealed_events_are_sent) {
  for (int i = 0; i < 50; ++i) {
    write_one();
  }
  must(journal_->seal());
  const ListenerPtr listener = listen({Position{20}});
  write_one();
  EXPECT_TRUE(eventually([&] { return listener->ids().size() == 31; }));
  EXPECT_EQ(listener->ids().front(), "21.0");
  EXPECT_EQ(listener->ids().back(), "51.0");
}

TEST_F(EventFeedTest, stop_finishes_every_stream_and_refuses_new_listeners) {
  write_one();
  const ListenerPtr quick = listen();
  const ListenerPtr slow = listen({Position{0}}, {}, FakeListener::Pace::slow);
  expect_ids(quick, {"1.0"});
  ASSERT_TRUE(eventually([&] { return slow->has_chunk(); }));
  feed_->stop();
  EXPECT_TRUE(quick->finished());
  EXPECT_TRUE(slow->finished());
  EXPECT_EQ(ended_, 2);
  EXPECT_EQ(feed_->listeners(), 0U);
  slow->take();
  const ListenerPtr late = listen();
  EXPECT_TRUE(late->finished());
  EXPECT_EQ(ended_, 3);
  EXPECT_THAT(late->ids(), IsEmpty());
}

TEST_F(EventFeedTest, stop_releases_a_listener_whose_chunk_is_still_being_sent) {
  write_one();
  ListenerPtr slow = listen({Position{0}}, {}, FakeListener::Pace::slow);
  ASSERT_TRUE(eventually([&] { return slow->has_chunk(); }));
  feed_->stop();
  const std::weak_ptr<FakeListener> kept = std::exchange(slow, nullptr);
  EXPECT_TRUE(kept.expired());
}

TEST_F(EventFeedTest, a_read_error_ends_the_stream_and_is_logged) {
  write_one();
  feed_->reached(Position{5});
  const ListenerPtr listener = listen();
  EXPECT_TRUE(eventually([&] { return listener->finished(); }));
  feed_->stop();
  ASSERT_EQ(logged_.size(), 1U);
  EXPECT_THAT(logged_[0], HasSubstr("cannot read events"));
}

}  // namespace
}  // namespace holdfast::event_feed_test

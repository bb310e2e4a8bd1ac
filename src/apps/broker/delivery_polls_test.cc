#include "apps/broker/delivery_polls.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <utility>

#include "delivery/broker/broker_store.h"
#include "tests/support/must.h"
#include "tests/support/temp_dir.h"

namespace holdfast::delivery::delivery_polls_test {
namespace {

using std::chrono::steady_clock;

class FakeExchange final : public net::Exchange {
 public:
  [[nodiscard]] const net::Request& request() const override { return request_; }
  void reply(net::Response /*response*/) override {}
  std::shared_ptr<net::Stream> stream(net::Response /*head*/) override { return nullptr; }
  std::shared_ptr<net::WebSocket> upgrade(
      std::shared_ptr<net::WebSocketHandler> /*handler*/) override {
    return nullptr;
  }
  void when_gone(std::function<void()> gone) override { gone_ = std::move(gone); }
  void identify(std::string_view /*name*/, std::string_view /*value*/) override {}

  std::function<void()> gone_;

 private:
  net::Request request_;
};

class Polls : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = must(open_sqlite_broker_store(folder_.file("broker.db"), {}));
    must(store_->write([](SqlSession& s) {
      return s.run(
          "INSERT INTO @.mesh VALUES ('w', 'team', 'plain', 'permanent', 0, 0, 0, 60, "
          "65536, 1)");
    }));
    polls_ = std::make_unique<DeliveryPolls>(*store_, clock_, find_member_news, 16,
                                             [this](const DeliveryPollPtr& poll) {
                                               if (when_serving_) {
                                                 std::exchange(when_serving_, nullptr)();
                                               }
                                               const std::lock_guard lock(mutex_);
                                               served_.push_back(poll->key);
                                               changed_.notify_all();
                                             });
    must(polls_->start());
  }

  static DeliveryPollPtr poll(const std::string& member) {
    auto poll = std::make_shared<DeliveryPoll>();
    poll->exchange = std::make_shared<FakeExchange>();
    poll->key = member;
    poll->deadline = steady_clock::now() + std::chrono::hours(1);
    return poll;
  }
  bool hold(const DeliveryPollPtr& poll) { return polls_->hold(poll, polls_->changes()); }

  void deliver_to(const std::string& member) {
    must(store_->write([&](SqlSession& s) -> Result<void> {
      HOLDFAST_CHECK(
          s.execute("INSERT INTO @.delivery_queue(mesh_id, recipient_member_id, "
                    "broker_message_id, channel, endpoint_id, history_seq, priority, "
                    "state, attempts, next_attempt_at, created_at) VALUES ('w', $1t, "
                    "$1t, 'ws', '', 1, 'next', 'queued', 0, 1, 1)",
                    {member}));
      return {};
    }));
  }

  // The member of the next poll that is served; empty when none is for a long time.
  std::string next_served() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::minutes(2), [this] { return !served_.empty(); })) {
      return "";
    }
    std::string member = served_.front();
    served_.erase(served_.begin());
    return member;
  }

  TempDir folder_;
  ManualClock clock_{TimeMs{1000}};
  std::unique_ptr<BrokerStore> store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> served_;     // guarded by mutex_
  std::function<void()> when_serving_;  // once; set before anything is held
  std::unique_ptr<DeliveryPolls> polls_;
};

TEST_F(Polls, only_the_polls_of_members_with_deliveries_are_served) {
  for (const char* member : {"ann", "ben", "cat"}) {
    EXPECT_TRUE(hold(poll(member)));
  }
  deliver_to("ben");
  polls_->changed();
  EXPECT_EQ(next_served(), "ben");
  deliver_to("ann");
  polls_->changed();
  EXPECT_EQ(next_served(), "ann");
  EXPECT_EQ(polls_->waiting(), 1U);
}

TEST_F(Polls, what_was_committed_before_a_poll_was_held_is_not_missed) {
  const std::uint64_t seen = polls_->changes();  // the poll looks, and finds nothing
  deliver_to("ben");
  polls_->changed();
  EXPECT_TRUE(polls_->hold(poll("ben"), seen));
  EXPECT_EQ(next_served(), "ben");
}

TEST_F(Polls, a_poll_is_served_a_last_time_when_its_wait_ends) {
  const auto short_wait = poll("ben");
  short_wait->deadline = steady_clock::now() + std::chrono::milliseconds(1);
  if (hold(short_wait)) {
    EXPECT_EQ(next_served(), "ben");
  }
  EXPECT_FALSE(hold(short_wait)) << "it has ended";
}

TEST_F(Polls, what_is_committed_while_another_poll_is_served_is_not_missed) {
  deliver_to("ann");
  when_serving_ = [this] { polls_->changed(); };
  EXPECT_TRUE(hold(poll("ann")));
  const auto ends_soon = poll("ben");
  auto wait = std::chrono::milliseconds(1);  // longer until it has not ended already
  do {
    wait *= 2;
    ends_soon->deadline = steady_clock::now() + wait;
  } while (!hold(ends_soon));
  EXPECT_EQ(next_served(), "ben");
  EXPECT_EQ(next_served(), "ann");
}

TEST_F(Polls, a_peer_that_is_gone_is_not_served) {
  const auto gone = poll("ben");
  EXPECT_TRUE(hold(gone));
  static_cast<FakeExchange&>(*gone->exchange).gone_();
  EXPECT_EQ(polls_->waiting(), 0U);
  EXPECT_FALSE(hold(gone));
}

TEST_F(Polls, a_member_has_a_bounded_number_of_them) {
  for (int i = 0; i < 16; ++i) {
    EXPECT_TRUE(hold(poll("ben")));
  }
  EXPECT_FALSE(hold(poll("ben")));
  EXPECT_TRUE(hold(poll("ann")));
}

TEST_F(Polls, a_broker_that_stops_releases_them_and_holds_no_more) {
  EXPECT_TRUE(hold(poll("ben")));
  polls_->release();
  EXPECT_EQ(next_served(), "ben");
  EXPECT_FALSE(hold(poll("ann")));
}

}  // namespace
}  // namespace holdfast::delivery::delivery_polls_test

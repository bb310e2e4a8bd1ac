// Messages that wait together are one group, and each gets its own response.
#include "apps/broker/message_loop.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/encoding.h"
#include "base/random.h"
#include "delivery/broker/broker_directory.h"
#include "delivery/broker/mapped_limiter.h"
#include "delivery/contract/envelope.h"
#include "tests/support/must.h"
#include "tests/support/temp_dir.h"

namespace holdfast::delivery::message_loop_test {
namespace {

class Sent final : public net::Exchange {
 public:
  explicit Sent(std::string body, const std::string& token = "token-ann") {
    request_.method = "POST";
    request_.path = "/v1/messages";
    request_.headers.push_back({"Authorization", "Bearer " + token});
    request_.body = std::move(body);
  }

  [[nodiscard]] const net::Request& request() const override { return request_; }
  void reply(net::Response response) override { response_.set_value(std::move(response)); }
  std::shared_ptr<net::Stream> stream(net::Response /*head*/) override { return nullptr; }
  std::shared_ptr<net::WebSocket> upgrade(
      std::shared_ptr<net::WebSocketHandler> /*handler*/) override {
    return nullptr;
  }
  void when_gone(std::function<void()> /*gone*/) override {}
  void identify(std::string_view /*name*/, std::string_view /*value*/) override {}

  // 0 after a long time.
  int status() {
    auto response = response_.get_future();
    const bool given = response.wait_for(std::chrono::minutes(2)) == std::future_status::ready;
    return given ? response.get().status : 0;
  }

 private:
  net::Request request_;
  std::promise<net::Response> response_;
};
using SentPtr = std::shared_ptr<Sent>;

std::string body_of(const std::string& id, const std::string& text = "hello") {
  const Envelope envelope{
      .destination = {DestinationKind::topic, "alerts"}, .reply_to = {}, .meta = {}, .body = text};
  return R"({"mesh":"team","client_message_id":")" + id + R"(","request_fingerprint":")" +
         to_hex(fingerprint_of(envelope)) +
         R"(","envelope_version":1,"destination":{"kind":"topic","ref":"alerts"},"body":")" + text +
         "\"}";
}

class Loop : public ::testing::Test {
 protected:
  void SetUp() override {
    BrokerStoreOptions options;
    options.fault = [this](FaultPoint point) -> Result<void> {
      if (point == FaultPoint::before_commit) {
        std::unique_lock lock(mutex_);
        ++commits_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return !held_; });
      }
      return {};
    };
    store_ = must(open_sqlite_broker_store(folder_.file("broker.db"), options));
    must(store_->write([](SqlSession& s) -> Result<void> {
      Workspace team;
      team.mesh_id = "w";
      team.slug = "team";
      HOLDFAST_CHECK(create_workspace(s, team, TimeMs{1}));
      HOLDFAST_CHECK(create_member(s, {"a", "w", std::string(64, 'a'), "ann", sha256("token-ann")},
                                   TimeMs{1}));
      return create_topic(s, {"w", "alerts", {}, {}}, TimeMs{1});
    }));
    limiter_ = must(MappedLimiter::open(folder_.file("limits")));
    broker_ = std::make_unique<Broker>(*store_, *limiter_, clock_, random_);
    service_ = std::unique_ptr<BrokerService>(new BrokerService{.store = *store_,
                                                                .clock = clock_,
                                                                .random = random_,
                                                                .metrics = metrics_,
                                                                .broker = broker_.get()});
    loop_ = std::make_unique<MessageLoop>(*service_, [](std::vector<ServedRequest> served) {
      for (ServedRequest& one : served) {
        one.exchange->reply(std::move(one.served.response));
      }
    });
    must(loop_->start());
  }

  SentPtr send(const std::string& body, const std::string& token = "token-ann") {
    auto sent = std::make_shared<Sent>(body, token);
    loop_->add(sent);
    return sent;
  }
  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  void wait_for_commits(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::minutes(2), [&] { return commits_ >= count; });
  }

  TempDir folder_;
  ManualClock clock_{TimeMs{1000}};
  SeededRandom random_{1};
  BrokerMetrics metrics_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;  // guarded by mutex_
  int commits_ = 0;    // likewise
  std::unique_ptr<BrokerStore> store_;
  std::unique_ptr<MappedLimiter> limiter_;
  std::unique_ptr<Broker> broker_;
  std::unique_ptr<BrokerService> service_;
  std::unique_ptr<MessageLoop> loop_;
};

TEST_F(Loop, messages_that_wait_for_a_commit_share_the_next) {
  hold(true);
  std::vector<SentPtr> sent{send(body_of("m-0"))};
  wait_for_commits(1);
  for (int i = 1; i <= 50; ++i) {
    sent.push_back(send(body_of("m-" + std::to_string(i))));
  }
  const SentPtr again = send(body_of("m-0"));
  const SentPtr other = send(body_of("m-0", "other"));
  hold(false);
  for (const SentPtr& one : sent) {
    EXPECT_EQ(one->status(), 201);
  }
  EXPECT_EQ(again->status(), 200);
  EXPECT_EQ(other->status(), 409);
  EXPECT_EQ(commits_, 2);
}

TEST_F(Loop, what_is_not_a_message_is_refused_without_a_commit) {
  EXPECT_EQ(send("{")->status(), 400);
  EXPECT_EQ(send(body_of("m-1"), "nonsense")->status(), 401);
  EXPECT_EQ(commits_, 0);
  EXPECT_EQ(send(body_of("m-1"))->status(), 201);
}

TEST_F(Loop, a_loop_that_stops_answers_what_it_has_taken_and_takes_no_more) {
  hold(true);
  const SentPtr first = send(body_of("m-1"));
  wait_for_commits(1);
  const SentPtr second = send(body_of("m-2"));
  std::thread stopping([this] { loop_->stop(); });
  hold(false);
  stopping.join();
  EXPECT_EQ(first->status(), 201);
  EXPECT_EQ(second->status(), 201);
  EXPECT_EQ(send(body_of("m-3"))->status(), 503);
}

}  // namespace
}  // namespace holdfast::delivery::message_loop_test

// DeliveryPolls: requests for deliveries, or for messages of queues, that wait because there was
// nothing. A poll is served again when there is something under its key, and a last time when its
// wait ends. Waiting polls hold no thread.
//
// Any thread may call every function, except stop().
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/threads.h"
#include "delivery/broker/broker_store.h"
#include "delivery/broker/queue_rows.h"
#include "net/http_server.h"

namespace holdfast::delivery {

// A request that may wait, from its first attempt to its response.
struct DeliveryPoll {
  using Time = std::chrono::steady_clock::time_point;

  net::ExchangePtr exchange;
  std::string key = {};  // a member, or a queue
  Time deadline = {};
  bool held = false;  // it has waited before
  bool gone = false;  // the peer; guarded by the mutex of DeliveryPolls
};
using DeliveryPollPtr = std::shared_ptr<DeliveryPoll>;

class DeliveryPolls {
 public:
  // Serves a poll again; must not block.
  using Serve = std::function<void(DeliveryPollPtr poll)>;
  // What there is under a key: for how many of its polls, and when there may be more.
  struct News {
    std::size_t polls = 0;
    std::optional<TimeMs> next_at = {};
  };
  // The news of each key. `waiting`: how many polls it has.
  struct Key {
    std::string key;
    std::size_t waiting = 0;
  };
  using Find =
      std::function<Result<std::vector<News>>(SqlSession&, const std::vector<Key>&, TimeMs)>;

  // find_member_news or find_queue_news. most: polls of a key. store and clock must outlive it.
  DeliveryPolls(BrokerStore& store, Clock& clock, Find find, std::size_t most, Serve serve);
  ~DeliveryPolls() { stop(); }
  DeliveryPolls(const DeliveryPolls&) = delete;
  DeliveryPolls& operator=(const DeliveryPolls&) = delete;

  Result<void> start();
  // Serves all of them a last time; later ones are not held.
  void release();
  void stop();

  // There may be more deliveries than before: messages were accepted, or leases have ended. After
  // the commit. Never blocks.
  void changed();
  // How often that was. To hold a poll: take it, look for deliveries, and hold() with it.
  [[nodiscard]] std::uint64_t changes() const;

  // False: the poll does not wait, and the caller answers it: its time has ended, its member has
  // too many, or the broker stops.
  bool hold(const DeliveryPollPtr& poll, std::uint64_t seen);
  // Looks again then: a lease ends, or a message is due.
  void check_at(TimeMs time);

  [[nodiscard]] std::size_t waiting() const;

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Time = DeliveryPoll::Time;

  void run();
  [[nodiscard]] Time next_deadline() const;
  std::vector<DeliveryPollPtr> take_ended(Time now);
  std::vector<Key> keys() const;
  std::vector<DeliveryPollPtr> take_of(const std::vector<Key>& keys);
  [[nodiscard]] Time steady_time(TimeMs time) const;
  void check_keys(Lock& lock);
  void serve_all(Lock& lock, std::vector<DeliveryPollPtr> polls);
  void leave(const DeliveryPollPtr& poll);

  BrokerStore& store_;
  Clock& clock_;
  const Find find_;
  const std::size_t most_;
  const Serve serve_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::multimap<std::string, DeliveryPollPtr> waiting_;  // by key
  std::uint64_t changes_ = 0;
  std::uint64_t checked_ = 0;  // the changes that every waiting poll has seen
  Time next_check_ = Time::max();
  bool released_ = false;
  bool stopping_ = false;
  ThreadGroup thread_;
};

// A member whose lane may be free: for all of its polls.
Result<std::vector<DeliveryPolls::News>> find_member_news(
    SqlSession& session, const std::vector<DeliveryPolls::Key>& keys, TimeMs now);

// The key of polls for a queue, or for an ordering key in it.
std::string queue_wait_key(const QueueKey& queue, std::string_view ordering_key);
// One poll for each message that is ready.
Result<std::vector<DeliveryPolls::News>> find_queue_news(
    SqlSession& session, const std::vector<DeliveryPolls::Key>& keys, TimeMs now);

}  // namespace holdfast::delivery

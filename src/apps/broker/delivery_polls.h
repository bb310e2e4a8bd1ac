// DeliveryPolls: requests for deliveries that wait because there was nothing. A poll is served
// again when its member has something, and a last time when its wait ends. Waiting polls hold no
// thread.
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
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/threads.h"
#include "delivery/broker/broker_store.h"
#include "net/http_server.h"

namespace holdfast::delivery {

// A request that may wait, from its first attempt to its response.
struct DeliveryPoll {
  using Time = std::chrono::steady_clock::time_point;

  net::ExchangePtr exchange;
  std::string member_id = {};
  Time deadline = {};
  bool held = false;  // it has waited before
  bool gone = false;  // the peer; guarded by the mutex of DeliveryPolls
};
using DeliveryPollPtr = std::shared_ptr<DeliveryPoll>;

class DeliveryPolls {
 public:
  // Serves a poll again; must not block.
  using Serve = std::function<void(DeliveryPollPtr poll)>;

  // store and clock must outlive it.
  DeliveryPolls(BrokerStore& store, Clock& clock, Serve serve);
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

  [[nodiscard]] std::size_t waiting() const;

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Time = DeliveryPoll::Time;

  void run();
  [[nodiscard]] Time next_deadline() const;
  std::vector<DeliveryPollPtr> take_ended(Time now);
  std::vector<std::string> members() const;
  std::vector<DeliveryPollPtr> take_of(const std::vector<std::string>& members);
  void check_members(Lock& lock);
  void serve_all(Lock& lock, std::vector<DeliveryPollPtr> polls);
  void leave(const DeliveryPollPtr& poll);

  BrokerStore& store_;
  Clock& clock_;
  const Serve serve_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::multimap<std::string, DeliveryPollPtr> waiting_;  // by member
  std::uint64_t changes_ = 0;
  std::uint64_t checked_ = 0;  // the changes that every waiting poll has seen
  bool released_ = false;
  bool stopping_ = false;
  ThreadGroup thread_;
};

}  // namespace holdfast::delivery

// MessageLoop: accepts the messages of all connections. One thread takes the requests that wait, as
// one group, and gives each its response once the group is durable. What a request holds is read
// before, in the thread of its connection, while the group before is written.
//
// A group waits for as many requests as the one before had, but at most a tenth of the time that it
// took: clients that send again as soon as they are answered would otherwise form two groups, each
// of which waits for the sync of the other. A client that is alone never waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "apps/broker/broker_service.h"
#include "apps/broker/sent_message.h"
#include "base/threads.h"
#include "net/http_server.h"

namespace holdfast::delivery {

struct ServedRequest {
  net::ExchangePtr exchange;
  Served served;
};

class MessageLoop {
 public:
  // Gives requests their responses.
  using Respond = std::function<void(std::vector<ServedRequest>)>;

  // Of the service, the broker and the metrics are used; it must outlive the loop.
  MessageLoop(BrokerService& service, Respond respond);
  ~MessageLoop() { stop(); }
  MessageLoop(const MessageLoop&) = delete;
  MessageLoop& operator=(const MessageLoop&) = delete;

  Result<void> start();
  // Any thread; never waits. Requests that are refused by themselves have their response at once.
  void add(const net::ExchangePtr& exchange);
  // Requests that were taken still get their responses; later ones are refused as busy.
  void stop();

 private:
  struct Waiting {
    net::ExchangePtr exchange;
    SentMessage message;
  };
  using Group = std::vector<Waiting>;

  void run();
  bool take_group(Group& group);
  void serve(const Group& group);

  BrokerService& service_;
  const Respond respond_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Group waiting_;           // guarded by mutex_, and so is what follows
  std::size_t wanted_ = 1;  // the loop is woken when so many wait
  bool stopping_ = false;
  // Of the loop: what the group before was like.
  std::size_t last_size_ = 0;
  std::chrono::steady_clock::duration last_time_{0};
  ThreadGroup thread_;
};

}  // namespace holdfast::delivery

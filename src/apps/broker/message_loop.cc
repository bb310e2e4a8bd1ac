#include "apps/broker/message_loop.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "apps/broker/broker_call.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kMostWaiting = 1000;
constexpr std::size_t kMostInGroup = 256;
constexpr int kGatherPart = 10;  // of the time of the group before

}  // namespace

MessageLoop::MessageLoop(BrokerService& service, Respond respond)
    : service_(service), respond_(std::move(respond)) {
  HOLDFAST_ASSERT(service_.broker != nullptr);
}

Result<void> MessageLoop::start() {
  return thread_.start([this] { run(); });
}

void MessageLoop::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void MessageLoop::add(const net::ExchangePtr& exchange) {
  auto message = read_sent_message(exchange->request());
  if (!message.ok()) {
    respond_({{exchange, message_refusal(service_.metrics, message.error())}});
    return;
  }
  bool taken = false;
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    taken = !stopping_ && waiting_.size() < kMostWaiting;
    if (taken) {
      waiting_.push_back({exchange, std::move(message).value()});
      wakes = waiting_.size() == wanted_;
    }
  }
  if (!taken) {
    respond_({{exchange, {busy_response()}}});
  } else if (wakes) {
    changed_.notify_one();
  }
}

// False: the loop was stopped, and nothing waits.
bool MessageLoop::take_group(Group& group) {
  std::unique_lock lock(mutex_);
  wanted_ = 1;
  changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
  wanted_ = std::min(last_size_, kMostInGroup);
  changed_.wait_for(lock, last_time_ / kGatherPart,
                    [&] { return stopping_ || waiting_.size() >= wanted_; });
  wanted_ = 0;  // the loop does not wait
  const auto count = static_cast<std::ptrdiff_t>(std::min(waiting_.size(), kMostInGroup));
  group.clear();
  std::move(waiting_.begin(), waiting_.begin() + count, std::back_inserter(group));
  waiting_.erase(waiting_.begin(), waiting_.begin() + count);
  return !group.empty();
}

void MessageLoop::serve(const Group& group) {
  const auto begin = SteadyClock::now();
  std::vector<AcceptCall> calls;
  calls.reserve(group.size());
  for (const Waiting& waiting : group) {
    calls.push_back(waiting.message.call());
  }
  const std::vector<Result<AcceptReply>> replies = service_.broker->accept_group(calls);
  std::vector<ServedRequest> responses;
  responses.reserve(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    responses.push_back(
        {group[i].exchange, message_response(service_.metrics, group[i].message, replies[i])});
  }
  respond_(std::move(responses));
  last_size_ = group.size();
  last_time_ = SteadyClock::now() - begin;
}

void MessageLoop::run() {
  Group group;
  while (take_group(group)) {
    serve(group);
  }
}

}  // namespace holdfast::delivery

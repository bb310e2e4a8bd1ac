#include "runs/lease_adapter/lease_adapter.h"

#include "base/retry_pause.h"

namespace holdfast {

using std::chrono::milliseconds;

LeaseAdapter::LeaseAdapter(Loop& loop, SharedText queue, OpenLeaseBackend open)
    : loop_(loop), open_(std::move(open)), exchange_(*this, std::move(queue), [this] {
        const Lock lock(mutex_);
        work_added_ = true;
        wakes_.notify_all();
      }) {}

Result<void> LeaseAdapter::start() {
  return threads_.start(
      std::vector<std::function<void()>>{[this] { send_all(); }, [this] { receive_all(); }});
}

void LeaseAdapter::stop() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    wakes_.notify_all();
  }
  threads_.join();
}

bool LeaseAdapter::stopping() {
  const Lock lock(mutex_);
  return stopping_;
}

Result<void> LeaseAdapter::execute(std::function<Result<void>(Turn&)> decide) {
  HOLDFAST_CHECK(loop_.execute<Done>(
      [&decide](Turn& turn) -> Result<Done> {
        HOLDFAST_CHECK(decide(turn));
        return Done{};
      },
      Patience::unbounded));
  return {};
}

milliseconds LeaseAdapter::elapsed() {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

void LeaseAdapter::repeat(const std::function<Result<void>(LeaseBackend&)>& round) {
  RetryPause pause(loop_.random());
  std::unique_ptr<LeaseBackend> backend;
  while (!stopping()) {
    Result<void> done;
    if (backend == nullptr) {
      auto opened = open_();
      if (opened.ok()) {
        backend = std::move(opened).value();
      } else {
        done = opened.error();
      }
    }
    if (done.ok()) {
      done = round(*backend);
    }
    if (done.ok()) {
      pause.reset();
      continue;
    }
    // Another handle: this one may hold on to a broken connection. Signals that were not
    // acknowledged are received again.
    backend.reset();
    const milliseconds next = pause.next();
    exchange_.failed(done.error(), next);
    Lock lock(mutex_);
    wakes_.wait_for(lock, next, [this] { return stopping_; });
  }
}

void LeaseAdapter::send_all() {
  repeat([this](LeaseBackend& backend) -> Result<void> {
    {
      const Lock lock(mutex_);
      work_added_ = false;
    }
    HOLDFAST_CHECK(exchange_.send_round(backend));
    wait(exchange_.until_next_send());
    return {};
  });
}

void LeaseAdapter::receive_all() {
  repeat([this](LeaseBackend& backend) { return exchange_.receive_round(backend); });
}

void LeaseAdapter::wait(milliseconds most) {
  Lock lock(mutex_);
  wakes_.wait_for(lock, most, [this] { return stopping_ || work_added_; });
}

}  // namespace holdfast

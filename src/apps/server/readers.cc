#include "apps/server/readers.h"

namespace holdfast {

Readers::Readers(std::size_t threads, std::size_t max_waiting)
    : max_waiting_(max_waiting), started_(threads_.start(threads, [this] { serve(); })) {}

Readers::~Readers() { stop(); }

Result<void> Readers::run(std::function<void()> work) {
  const std::scoped_lock lock(mutex_);
  if (stopping_ || waiting_.size() >= max_waiting_) {
    const std::string_view why =
        stopping_ ? "the server is stopping; try again" : "too many reads are waiting; try again";
    return Error{ErrorCode::busy, std::string(why)}.with("detail", why);
  }
  waiting_.push_back(std::move(work));
  changed_.notify_one();
  return {};
}

void Readers::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  threads_.join();
}

void Readers::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      return;
    }
    const auto work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace holdfast

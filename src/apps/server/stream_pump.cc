#include "apps/server/stream_pump.h"

#include <chrono>
#include <optional>
#include <utility>

namespace holdfast {

namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::seconds kKeepAlive{15};

}  // namespace

StreamPump::StreamPump(ServerLog& log) : log_(log), started_(thread_.start([this] { run(); })) {}

void StreamPump::changed() {
  const std::scoped_lock lock(mutex_);
  ++change_;
  if (!listeners_.empty()) {
    changed_.notify_one();
  }
}

std::size_t StreamPump::listeners() {
  const std::scoped_lock lock(mutex_);
  return listeners_.size();
}

void StreamPump::add(std::shared_ptr<net::Stream> stream, Next next, std::function<void()> ended) {
  const auto listener = std::make_shared<Listener>();
  listener->stream = std::move(stream);
  listener->next = std::move(next);
  listener->ended = std::move(ended);
  {
    const std::scoped_lock lock(mutex_);
    if (!stopping_) {
      listeners_.push_back(listener);
      changed_.notify_one();
      return;
    }
  }
  listener->stream->finish();
  listener->ended();
}

void StreamPump::stop() {
  std::list<ListenerPtr> left;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
  {
    const std::scoped_lock lock(mutex_);
    left = std::exchange(listeners_, {});
  }
  for (const ListenerPtr& listener : left) {
    listener->stream->finish();
    listener->ended();
  }
}

// Waits for a listener that can be sent something: new events or a keep-alive.
StreamPump::ListenerPtr StreamPump::next_to_serve(Lock& lock) {
  for (;;) {
    if (stopping_) {
      return nullptr;
    }
    std::optional<Steady::time_point> next_sign;
    const Steady::time_point now = Steady::now();
    for (const ListenerPtr& listener : listeners_) {
      if (listener->gone) {
        return listener;
      }
      if (listener->busy) {
        continue;
      }
      const Steady::time_point sign = listener->sent_at + kKeepAlive;
      if (listener->served != change_ || sign <= now) {
        return listener;
      }
      next_sign = std::min(next_sign.value_or(sign), sign);
    }
    if (next_sign.has_value()) {
      changed_.wait_until(lock, *next_sign);
    } else {
      changed_.wait(lock);
    }
  }
}

void StreamPump::run() {
  Lock lock(mutex_);
  while (const ListenerPtr listener = next_to_serve(lock)) {
    const std::uint64_t change = change_;
    if (listener->gone) {
      listeners_.remove(listener);
      lock.unlock();
      listener->stream->finish();
      listener->ended();
    } else {
      // A listener that was served moves to the end, so that no listener waits for one far behind.
      listener->busy = true;
      listeners_.remove(listener);
      listeners_.push_back(listener);
      lock.unlock();
      serve(listener, change);
    }
    lock.lock();
  }
}

void StreamPump::serve(const ListenerPtr& listener, std::uint64_t change) {
  auto piece = listener->next();
  if (!piece.ok()) {
    log_.write(LogLevel::error, "cannot read events", {{"why", piece.error().text()}});
    drop(listener);
    return;
  }
  const bool silent = Steady::now() - listener->sent_at >= kKeepAlive;
  if (!piece.value().text.empty() || silent) {
    send(listener, piece.value().text.empty() ? ": keep-alive\n\n" : std::move(piece).value().text);
    return;
  }
  const std::scoped_lock lock(mutex_);
  listener->busy = false;
  if (!piece.value().more) {
    listener->served = change;
  }
}

// The stream holds the callback until the piece is sent, which may be never, and the listener holds
// the stream, so the callback must not hold the listener. After stop() the callback does nothing.
void StreamPump::send(const ListenerPtr& listener, std::string text) {
  listener->sent_at = Steady::now();
  listener->stream->write(std::move(text), [this, weak = std::weak_ptr(listener)](bool alive) {
    const ListenerPtr served = weak.lock();
    if (served == nullptr) {
      return;
    }
    if (!alive) {
      drop(served);
      return;
    }
    const std::scoped_lock lock(mutex_);
    served->busy = false;
    changed_.notify_one();
  });
}

void StreamPump::drop(const ListenerPtr& listener) {
  const std::scoped_lock lock(mutex_);
  listener->gone = true;
  changed_.notify_one();
}

}  // namespace holdfast

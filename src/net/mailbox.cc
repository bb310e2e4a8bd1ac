#include "net/mailbox.h"

#include <algorithm>
#include <iterator>

#include "holdfast/assert.h"

namespace holdfast::net {

template <typename Add>
void Mailbox::add(const Add& add) {
  // The reactor reads its mailbox before it waits; only other threads must wake it.
  const bool own = owner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      return;
    }
    add();
    if (own || woken_) {
      return;
    }
    woken_ = true;
  }
  const std::uint64_t one = 1;
  HOLDFAST_ASSERT(::write(event_.get(), &one, sizeof one) == sizeof one);
}

void Mailbox::post(Mail mail) {
  add([&] { mails_.push_back(std::move(mail)); });
}

void Mailbox::post_all(std::vector<Mail> mails) {
  add([&] { std::move(mails.begin(), mails.end(), std::back_inserter(mails_)); });
}

void Mailbox::clear_event() const {
  std::uint64_t count = 0;
  // Having nothing to read is fine: the messages were taken before the event was handled.
  [[maybe_unused]] const auto read = ::read(event_.get(), &count, sizeof count);
}

bool Mailbox::empty() {
  const std::lock_guard lock(mutex_);
  return mails_.empty();
}

void Mailbox::take(std::vector<Mail>& into) {
  const std::lock_guard lock(mutex_);
  mails_.swap(into);
  woken_ = false;
}

void Mailbox::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

}  // namespace holdfast::net

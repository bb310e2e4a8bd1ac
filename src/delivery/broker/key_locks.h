// KeyLocks: one caller at a time per key. Requests with the same message id wait for each other,
// so that the second finds the row of the first before it costs anything.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace holdfast::delivery {

class KeyLocks {
 public:
  class Held {
   public:
    Held(KeyLocks& locks, std::string key) : locks_(locks), key_(std::move(key)) {}
    ~Held() { locks_.release(key_); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    KeyLocks& locks_;
    std::string key_;
  };

  // Waits until no other caller holds the key.
  [[nodiscard]] Held hold(std::string key) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !held_.contains(key); });
    held_.insert(key);
    return {*this, std::move(key)};
  }

 private:
  void release(const std::string& key) {
    {
      const std::lock_guard lock(mutex_);
      held_.erase(key);
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> held_;  // guarded by mutex_
};

}  // namespace holdfast::delivery

// The work calls of a server, for tests: attempts in memory, everything that was said recorded. It
// outlives the sockets it is reached by, so that a server can be restarted.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "net/scripted_server.h"

namespace holdfast::client {

class FakeWork {
 public:
  // Attempts of the handler "work", as many as asked for, with {"n":0} and so on as input.
  void add(std::size_t count, std::uint64_t lease_ms = 30'000, const std::string& more = "");
  // The script of a server that answers with this.
  net::ScriptedServer::Script script();
  // Waits in claims end; they are told that the server is draining.
  void drain();
  void undrain();

  // Called with each request before it is dealt with: false cuts the connection instead of an
  // answer, after it was dealt with.
  std::function<bool(const net::SeenRequest&)> answers = nullptr;

  // True when it became so in time.
  bool wait_until(const std::function<bool()>& is_so);
  template <typename T>
  T with_lock(const std::function<T()>& look) {
    const std::scoped_lock lock(mutex_);
    return look();
  }

  // What was said; look at it in wait_until or with_lock.
  std::map<std::string, std::vector<std::string>> reports;  // by claim id
  std::size_t report_calls = 0;
  std::size_t claim_calls = 0;
  std::size_t again_calls = 0;
  std::map<std::string, std::vector<std::string>> beats;  // claim id to progress, or ""
  std::set<std::string> lost;                             // claims that are to be lost
  std::set<std::string> to_stop;
  std::size_t largest_wish = 0;
  std::size_t given = 0;  // claims that were made
  std::size_t waiting = 0;
  std::vector<std::string> children;

 private:
  std::string deal_with(net::ScriptedPeer& peer, const net::SeenRequest& request,
                        std::string& status);
  std::string claim(net::ScriptedPeer& peer, const std::string& body);
  std::string report(const std::string& body);
  std::string heartbeat(const std::string& body);
  std::string give(const std::string& request, bool again, std::size_t max);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> attempts_;         // the members behind the proof
  std::map<std::string, std::string> gave_;  // by request
  std::size_t made_ = 0;
  bool draining_ = false;
};

}  // namespace holdfast::client

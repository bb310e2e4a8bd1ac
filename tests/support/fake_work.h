// The worker calls of a server, for tests: attempts in memory, all calls recorded. It outlives its
// sockets, so that a test can restart the server.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/scripted_server.h"

namespace holdfast::client {

class FakeWork {
 public:
  // Of the n-th attempt that was added.
  static std::string run_id(std::size_t n);
  // Adds attempts of the handler "work" with the inputs {"n":0}, {"n":1} and so on.
  void add(std::size_t count, std::uint64_t lease_ms = 30'000, const std::string& more = "");
  // The script of a server with this work.
  net::ScriptedServer::Script script();
  // Ends waiting claim requests; their responses report that the server is draining.
  void drain();
  void undrain();

  // Called with each request: false closes the connection instead of sending the response, after
  // the request was processed.
  std::function<bool(const net::SeenRequest&)> answers = nullptr;

  // True if the condition became true in time.
  bool wait_until(const std::function<bool()>& condition);
  template <typename T>
  T with_lock(const std::function<T()>& read) {
    const std::scoped_lock lock(mutex_);
    return read();
  }

  // Recorded calls; read them in wait_until or with_lock.
  std::map<std::string, std::vector<std::string>> reports;  // by claim id
  std::size_t report_calls = 0;
  std::size_t claim_calls = 0;
  std::size_t again_calls = 0;
  std::map<std::string, std::vector<std::string>> heartbeats;  // claim id to progress, or ""
  std::set<std::string> lost;                                  // claims to report as lost
  std::set<std::string> to_stop;
  std::size_t largest_claim = 0;
  std::size_t given = 0;  // attempts handed out
  std::size_t waiting = 0;
  std::vector<std::string> children;

 private:
  std::string process(net::ScriptedPeer& peer, const net::SeenRequest& request,
                      std::string& status);
  std::string claim(net::ScriptedPeer& peer, const std::string& body);
  std::string report(const std::string& body);
  std::string heartbeat(const std::string& body);
  std::string give(const std::string& request, bool again, std::size_t max);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> attempts_;         // the members after the proof
  std::map<std::string, std::string> gave_;  // by request
  std::size_t made_ = 0;
  bool draining_ = false;
};

}  // namespace holdfast::client

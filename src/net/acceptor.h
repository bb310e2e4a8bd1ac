// Acceptor: accepts connections and hands them to the reactors in turn. It runs in the thread of
// one of them. When the process has no descriptor left it pauses for a moment, because an immediate
// retry would only use CPU time.
#pragma once

#include <memory>
#include <vector>

#include "net/listener.h"
#include "net/mailbox.h"
#include "net/net_timers.h"

namespace holdfast::net {

class Reactor;

class Acceptor final : public Timed {
 public:
  // `tls` is for TCP connections; nullptr if they are plain. It must outlive the connections.
  Acceptor(Reactor& home, std::vector<Listener> listeners,
           std::vector<std::shared_ptr<Mailbox>> reactors, TlsContext* tls);

  // A listener has a connection to accept.
  void accept_from(std::size_t number);
  void resume();
  void close();
  void on_time() override { resume(); }

 private:
  void ignore_all();
  void pause();
  void take_in(Listener::Accepted accepted, TlsContext* tls);

  Reactor& home_;
  std::vector<Listener> listeners_;
  std::vector<std::shared_ptr<Mailbox>> reactors_;
  TlsContext* tls_;
  std::size_t turn_ = 0;
  bool watching_ = false;
};

}  // namespace holdfast::net

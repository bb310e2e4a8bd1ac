// The two objects a handler holds: an exchange and, when it asks for one, its stream. Both only
// know the mailbox of the reactor and the number of the connection, so that they outlive both.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "net/http_server.h"
#include "net/mailbox.h"

namespace holdfast::net {

// Whether the peer is still there, shared between an exchange, its stream and the connection.
class Presence {
 public:
  // From any thread, once. True when it is gone already: then the caller calls.
  [[nodiscard]] bool listen(std::function<void()>& gone);
  // The answer is complete: nobody is to be told any more.
  void settle();
  // The peer went away: what is to be called, at most once; empty when nobody listens.
  [[nodiscard]] std::function<void()> leave();

  // See Exchange::identify.
  void add_late_member(Header member);
  [[nodiscard]] std::vector<Header> late_members();

 private:
  enum class State : std::uint8_t { there, gone, settled };
  std::mutex mutex_;
  State state_ = State::there;
  std::function<void()> gone_;
  std::vector<Header> late_members_;
};

// Where an answer goes to.
struct ReturnAddress {
  std::shared_ptr<Mailbox> mailbox;
  ConnectionId id = 0;
  std::shared_ptr<Presence> presence;
};

class ServerExchange final : public Exchange {
 public:
  ServerExchange(Request request, ReturnAddress address)
      : request_(std::move(request)), address_(std::move(address)) {}
  ~ServerExchange() override;

  [[nodiscard]] const Request& request() const override { return request_; }
  void reply(Response response) override;
  std::shared_ptr<Stream> stream(Response head) override;
  void when_gone(std::function<void()> gone) override;
  void identify(std::string_view name, std::string_view value) override;

 private:
  Request request_;
  ReturnAddress address_;
  std::atomic<bool> answered_ = false;
};

}  // namespace holdfast::net

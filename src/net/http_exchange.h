// The two objects a handler holds: an exchange and, if it requests one, its stream. Both hold only
// the mailbox of the reactor and the number of the connection, so that they may outlive both.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "net/http_server.h"
#include "net/mailbox.h"

namespace holdfast::net {

// Whether the peer is still connected, shared by an exchange, its stream and the connection.
class Presence {
 public:
  // Any thread, once. True if the peer is gone already: then the caller calls `gone` itself.
  [[nodiscard]] bool listen(std::function<void()>& gone);
  // The response is complete: no notification follows.
  void settle();
  // The peer is gone: the function to call, at most once; empty if none was set.
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

// The connection that a response belongs to.
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
  // As reply(), but what would be posted is returned.
  [[nodiscard]] GiveReply take_reply(Response response);
  [[nodiscard]] const std::shared_ptr<Mailbox>& mailbox() const { return address_.mailbox; }
  std::shared_ptr<Stream> stream(Response head) override;
  std::shared_ptr<WebSocket> upgrade(std::shared_ptr<WebSocketHandler> handler) override;
  void when_gone(std::function<void()> gone) override;
  void identify(std::string_view name, std::string_view value) override;

 private:
  Request request_;
  ReturnAddress address_;
  std::atomic<bool> answered_ = false;
};

}  // namespace holdfast::net

#include "net/http_exchange.h"

#include <map>
#include <utility>

#include "holdfast/assert.h"
#include "net/http_writer.h"
#include "net/ws_session.h"

namespace holdfast::net {

bool Presence::listen(std::function<void()>& gone) {
  const std::lock_guard lock(mutex_);
  if (state_ == State::there) {
    gone_ = std::move(gone);
  }
  return state_ == State::gone;
}

void Presence::settle() {
  std::function<void()> unused;  // destroyed without the lock: its captures are unknown
  const std::lock_guard lock(mutex_);
  if (state_ == State::there) {
    state_ = State::settled;
    unused.swap(gone_);
  }
}

std::function<void()> Presence::leave() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::there) {
    return {};
  }
  state_ = State::gone;
  return std::exchange(gone_, nullptr);
}

void Presence::add_late_member(Header member) {
  const std::lock_guard lock(mutex_);
  late_members_.push_back(std::move(member));
}

std::vector<Header> Presence::late_members() {
  const std::lock_guard lock(mutex_);
  return late_members_;
}

namespace {

class ServerStream final : public Stream {
 public:
  explicit ServerStream(ReturnAddress address) : address_(std::move(address)) {}
  ~ServerStream() override { end(); }

  void write(std::string piece, std::function<void(bool alive)> sent) override {
    HOLDFAST_ASSERT(!finished_.load());
    address_.mailbox->post(WritePiece{address_.id, std::move(piece), std::move(sent)});
  }
  void finish() override { end(); }

 private:
  void end() {
    if (!finished_.exchange(true)) {
      address_.presence->settle();
      address_.mailbox->post(FinishStream{address_.id});
    }
  }

  ReturnAddress address_;
  std::atomic<bool> finished_ = false;
};

}  // namespace

ServerExchange::~ServerExchange() {
  if (!answered_.load()) {
    reply(problem(
        {500, "internal_error", "the request was dropped without a response", WhatNext::in_doubt},
        address_.presence->late_members()));
  }
}

GiveReply ServerExchange::take_reply(Response response) {
  HOLDFAST_ASSERT(!answered_.exchange(true));
  address_.presence->settle();
  return {address_.id, std::move(response)};
}

void ServerExchange::reply(Response response) {
  address_.mailbox->post(take_reply(std::move(response)));
}

void reply_all(std::vector<Reply> replies) {
  std::map<std::shared_ptr<Mailbox>, std::vector<Mail>> mails;
  for (Reply& one : replies) {
    if (auto* const exchange = dynamic_cast<ServerExchange*>(one.exchange.get())) {
      mails[exchange->mailbox()].emplace_back(exchange->take_reply(std::move(one.response)));
    } else {
      one.exchange->reply(std::move(one.response));
    }
  }
  for (auto& [mailbox, all] : mails) {
    mailbox->post_all(std::move(all));
  }
}

std::shared_ptr<Stream> ServerExchange::stream(Response head) {
  HOLDFAST_ASSERT(!answered_.exchange(true));
  address_.mailbox->post(OpenStream{address_.id, std::move(head)});
  return std::make_shared<ServerStream>(address_);
}

std::shared_ptr<WebSocket> ServerExchange::upgrade(std::shared_ptr<WebSocketHandler> handler) {
  HOLDFAST_ASSERT(!answered_.exchange(true));
  address_.presence->settle();
  auto buffered = std::make_shared<WsBuffered>();
  address_.mailbox->post(Upgrade{address_.id, std::string(request_.header("Sec-WebSocket-Key")),
                                 std::move(handler), buffered});
  return std::make_shared<ServerWebSocket>(address_.mailbox, address_.id, std::move(buffered));
}

void ServerExchange::when_gone(std::function<void()> gone) {
  if (address_.presence->listen(gone)) {
    address_.mailbox->post(Call{std::move(gone)});
  }
}

void ServerExchange::identify(std::string_view name, std::string_view value) {
  address_.presence->add_late_member({std::string(name), std::string(value)});
}

}  // namespace holdfast::net

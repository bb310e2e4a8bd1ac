#include "tests/support/fake_work.h"

#include <algorithm>

#include "base/json_slice.h"
#include "base/json_value.h"

namespace holdfast::client {

namespace {

std::string text_of(const Json& object, std::string_view name) {
  const auto member = object.find(name);
  return std::string(member.has_value() ? member->string().value_or("") : "");
}

bool is_set(const Json& object, std::string_view name) {
  const auto member = object.find(name);
  return member.has_value() && member->boolean().value();
}

// The items of a list member of the object, as JSON text.
std::vector<std::string> items_of(const std::string& object, std::string_view name) {
  std::vector<std::string> items;
  JsonSlicer members(object);
  while (const auto member = members.next()) {
    JsonSlicer list(member->name == name ? member->value : "[]");
    while (const auto item = list.next()) {
      items.emplace_back(item->value);
    }
  }
  return items;
}

}  // namespace

std::string FakeWork::run_id(std::size_t n) {
  const std::string digits = std::to_string(n);
  return "00000000-0000-7000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

void FakeWork::add(std::size_t count, std::uint64_t lease_ms, const std::string& more) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string n = std::to_string(made_++);
    attempts_.push_back(R"("run_id":")" + run_id(made_ - 1) +
                        R"(","workflow":"order","step":"charge","handler":"work",)" +
                        R"("queue":"default","runnable_key":"k)" + n + R"(","idempotency_key":"i)" +
                        n + R"(","attempt":2,"visit":3,"item":4,)" + R"("input":{"n":)" + n +
                        R"(},"lease_until":1,"lease_ms":)" + std::to_string(lease_ms) + more);
  }
  changed_.notify_all();
}

void FakeWork::drain() {
  const std::scoped_lock lock(mutex_);
  draining_ = true;
  changed_.notify_all();
}

void FakeWork::undrain() {
  const std::scoped_lock lock(mutex_);
  draining_ = false;
}

bool FakeWork::wait_until(const std::function<bool()>& condition) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(30), condition);
}

net::ScriptedServer::Script FakeWork::script() {
  return [this](net::ScriptedPeer& peer) {
    while (const auto seen = peer.read()) {
      std::string status = "200 OK";
      const std::string body = process(peer, *seen, status);
      if (answers != nullptr && !answers(*seen)) {
        return;
      }
      if (!peer.answer(body, status)) {
        return;
      }
    }
  };
}

std::string FakeWork::process(net::ScriptedPeer& peer, const net::SeenRequest& request,
                              std::string& status) {
  const std::string target = request.target;
  if (target == "/v1/work/claim") {
    return claim(peer, request.body);
  }
  if (target == "/v1/work/report") {
    return report(request.body);
  }
  if (target == "/v1/work/heartbeat") {
    return heartbeat(request.body);
  }
  if (target == "/v1/work/child") {
    const std::scoped_lock lock(mutex_);
    children.push_back(request.body);
    return R"({"run_id":"child-1","existed":false})";
  }
  if (target == "/v1/server") {
    return R"({"version":"0","you":{"name":"test","role":"admin"}})";
  }
  status = "404 Not Found";
  return R"({"code":"not_found","detail":"not found","status":404})";
}

std::string FakeWork::give(const std::string& request, bool again, std::size_t max) {
  largest_claim = std::max(largest_claim, max);
  const auto known = gave_.find(request);
  if (again && known != gave_.end()) {
    ++again_calls;
    return known->second;
  }
  std::string out = "[";
  for (std::size_t i = 0; i < max && !attempts_.empty(); ++i) {
    const std::string id = std::to_string(given++);
    out += out.size() > 1 ? "," : "";
    out += "{" + attempts_.front() + R"(,"claim_id":"c)" + id + R"(","token":"t)" + id + "\"}";
    attempts_.pop_front();
  }
  out += "]";
  gave_[request] = out;
  changed_.notify_all();
  return out;
}

std::string FakeWork::claim(net::ScriptedPeer& peer, const std::string& body) {
  const Json call = Json::parse(body).value();
  const auto wait_ms = call.find("wait_ms");
  const std::chrono::milliseconds wait(wait_ms.has_value() ? wait_ms->integer().value() : 0);
  const auto until = std::chrono::steady_clock::now() + wait;
  std::unique_lock lock(mutex_);
  ++claim_calls;
  ++waiting;
  changed_.notify_all();
  // Nothing is claimed for a client that has disconnected.
  constexpr std::chrono::milliseconds kLook{10};
  bool gone = false;
  const std::string request = text_of(call, "request");
  const bool again = is_set(call, "again") && gave_.contains(request);
  while (attempts_.empty() && !again && !draining_ && !gone &&
         std::chrono::steady_clock::now() < until) {
    changed_.wait_for(lock, kLook);
    gone = peer.is_gone();
  }
  --waiting;
  if (gone) {
    return "{}";
  }
  const std::string given_now =
      draining_ ? "[]" : give(request, again, call.find("max")->unsigned_integer().value());
  return "{\"attempts\":" + given_now + ",\"draining\":" + (draining_ ? "true" : "false") + "}";
}

std::string FakeWork::report(const std::string& body) {
  const std::scoped_lock lock(mutex_);
  ++report_calls;
  std::string results;
  for (const std::string& item : items_of(body, "reports")) {
    const std::string id = text_of(Json::parse(item).value(), "claim_id");
    reports[id].push_back(item);
    results += results.empty() ? "" : ",";
    results += R"({"claim_id":")" + id + R"(","counted":true})";
  }
  const auto claim = Json::parse(body).value().find("claim");
  const std::string given_now = claim.has_value() && !draining_
                                    ? give(text_of(*claim, "request"), is_set(*claim, "again"),
                                           claim->find("max")->unsigned_integer().value())
                                    : "[]";
  changed_.notify_all();
  return "{\"results\":[" + results + "],\"attempts\":" + given_now + ",\"draining\":false}";
}

std::string FakeWork::heartbeat(const std::string& body) {
  const std::scoped_lock lock(mutex_);
  std::string results;
  for (const std::string& item : items_of(body, "claims")) {
    const std::string id = text_of(Json::parse(item).value(), "claim_id");
    std::string progress;
    JsonSlicer members(item);
    while (const auto member = members.next()) {
      progress = member->name == "progress" ? std::string(member->value) : progress;
    }
    heartbeats[id].push_back(progress);
    results += results.empty() ? "" : ",";
    results += R"({"claim_id":")" + id + "\"";
    results +=
        lost.contains(id) ? R"(,"lost":true,"cancelled":true)" : R"(,"lost":false,"lease_until":1)";
    results += to_stop.contains(id) ? R"(,"stop":true})" : "}";
  }
  changed_.notify_all();
  return "{\"results\":[" + results + "],\"draining\":false}";
}

}  // namespace holdfast::client

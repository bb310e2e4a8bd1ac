#include "lab/broker_sim/broker_actors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/json_value.h"
#include "base/json_writer.h"
#include "holdfast/assert.h"

namespace holdfast::broker_sim {

namespace {

using delivery::FaultPoint;
using sim::Dice;
using sim::kSecond;

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::array<const char*, 3> kTopics{"alerts", "inner", "quiet"};

template <typename Write>
std::string object_of(const Write& write) {
  JsonWriter json;
  json.begin_object();
  write(json);
  json.end_object();
  return std::move(json).take();
}

std::string member_text(const std::string& body, std::string_view name) {
  const auto json = Json::parse(body);
  HOLDFAST_ASSERT(json.ok());
  return std::string(json.value().text(name));
}

}  // namespace

std::size_t BrokerActors::any_process() const {
  std::size_t process = 0;
  while (process < machine_.processes() && !machine_.is_up(process)) {
    ++process;
  }
  return process;
}

std::string BrokerActors::change(const std::string& method, const std::string& path,
                                 const std::string& body, int status) {
  const net::Response response = machine_.call(any_process(), kAdminToken, method, path, body);
  if (response.status != status) {
    world_.oracle.fail(fmt::format("{} {} is answered with {} and not {}: {}", method, path,
                                   response.status, status, response.body));
  }
  return response.body;
}

void BrokerActors::add_workspace(const std::string& name, const Dice& dice) {
  OracleWorkspace workspace;
  workspace.limit = dice.chance(30, "unlimited") ? 0 : 2 + dice.below(8, "limit");
  workspace.window_ms = static_cast<std::int64_t>(2 + dice.below(6, "window")) * 1000;
  workspace.dedupe_days =
      dice.chance(15, "permanent") ? 0 : static_cast<std::int64_t>(7 + dice.below(3, "days"));
  workspace.message_days = static_cast<std::int64_t>(1 + dice.below(7, "message days"));
  workspace.inline_bytes = 1024;
  const std::string body = object_of([&](JsonWriter& json) {
    json.member("name", name)
        .member("dedupe_mode", workspace.dedupe_days == 0 ? "permanent" : "retention_scoped")
        .member("dedupe_retention_days",
                workspace.dedupe_days == 0 ? std::int64_t{365} : workspace.dedupe_days)
        .member("message_retention_days", workspace.message_days)
        .member("rate_limit_per_window", workspace.limit)
        .member("window_seconds", workspace.window_ms / 1000)
        .member("max_inline_bytes", workspace.inline_bytes);
  });
  workspace.mesh_id = member_text(change("POST", "/v1/workspaces", body, 201), "mesh_id");
  meshes_[name] = workspace.mesh_id;
  world_.oracle.add_workspace(name, workspace);
}

void BrokerActors::add_member(const std::string& workspace, const std::string& name) {
  const std::string pubkey = to_hex(sha256("the key of " + name));
  const std::string made = change(
      "POST", "/v1/workspaces/" + workspace + "/members",
      object_of([&](JsonWriter& json) { json.member("name", name).member("pubkey", pubkey); }),
      201);
  const ActorMember member{name, workspace, member_text(made, "token"),
                           member_text(made, "member_id"), pubkey};
  members_.push_back(member);
  world_.oracle.add_member(member.token,
                           {member.member_id, mesh_of(workspace), pubkey, name, false});
}

void BrokerActors::add_topic(const std::string& workspace, const std::string& name,
                             const OracleTopic& topic) {
  change("POST", "/v1/workspaces/" + workspace + "/topics", object_of([&](JsonWriter& json) {
           json.member("name", name)
               .member("access", topic.closed ? "closed" : "open")
               .member("sender_copy", topic.sender_excluded ? "exclude" : "include");
         }),
         201);
  world_.oracle.add_topic(mesh_of(workspace), name, topic);
}

void BrokerActors::subscribe(const ActorMember& member, const std::string& topic,
                             const std::string& role) {
  const bool can =
      world_.oracle.subscribe(mesh_of(member.workspace), topic, member.member_id, role);
  change(
      "POST", "/v1/workspaces/" + member.workspace + "/topics/" + topic + "/subscriptions",
      object_of([&](JsonWriter& json) { json.member("member", member.name).member("role", role); }),
      can ? 200 : 404);
}

void BrokerActors::set_up() {
  for (const std::string workspace : {"team", "other"}) {
    add_workspace(workspace, world_.dice.about(workspace));
    for (const std::string name : {"Ann", "ben", "Cat"}) {
      add_member(workspace, workspace == "team" ? name : name + "2");
    }
    add_topic(workspace, "alerts", {});
    add_topic(workspace, "inner", {.closed = true});
    add_topic(workspace, "quiet", {.sender_excluded = true});
    change("POST", "/v1/workspaces/" + workspace + "/queues",
           R"({"name":"jobs","max_deliveries":3,"lease_ms":2000})", 201);
    world_.oracle.add_queue(mesh_of(workspace), "jobs",
                            {.lanes = false, .max_deliveries = 3, .lease_ms = 2000});
    change("POST", "/v1/workspaces/" + workspace + "/queues",
           R"({"name":"rows","order":"lanes","max_deliveries":2,"lease_ms":3000})", 201);
    world_.oracle.add_queue(mesh_of(workspace), "rows",
                            {.lanes = true, .max_deliveries = 2, .lease_ms = 3000});
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    for (const char* topic : kTopics) {
      const Dice dice = world_.dice.about(topic, i);
      if (dice.chance(60, "subscribed")) {
        subscribe(members_[i], topic, dice.chance(80, "writer") ? "writer" : "reader");
      }
    }
  }
}

void BrokerActors::act(const BrokerItem& item) {
  const Dice dice = world_.dice.about("act", item.number);
  const std::size_t process = dice.below(machine_.processes(), "process");
  const bool fault = item.act == BrokerAct::clock_jump || item.act == BrokerAct::limiter_down;
  if (!machine_.is_up(process) && !fault) {
    return;
  }
  world_.log(fmt::format("item {}: {}", item.number, to_text(item.act)));
  world_.coverage.add(fmt::format("act:{}", to_text(item.act)));
  const auto batch = static_cast<std::uint32_t>(1 + dice.below(8, "batch"));
  switch (item.act) {
    case BrokerAct::send:
      return;
    case BrokerAct::administer:
      return administer(dice, process);
    case BrokerAct::sweep:
      return machine_.sweep(process, batch);
    case BrokerAct::prune:
      return machine_.prune(process, batch);
    case BrokerAct::deliver:
      for (std::size_t i = 0; i < members_.size(); ++i) {
        if (dice.chance(60, "taken", i)) {
          machine_.run_sql(
              "UPDATE @.delivery_queue SET state = 'delivered' WHERE recipient_member_id = '" +
              members_[i].member_id + "'");
          world_.oracle.deliver(members_[i].member_id);
        }
      }
      return;
    case BrokerAct::consume:
      return consume(dice, process);
    case BrokerAct::read: {
      const ActorMember& member = members_[dice.below(members_.size(), "member")];
      return read(member, "topic", "alerts");
    }
    case BrokerAct::crash:
      return machine_.crash(process);
    case BrokerAct::crash_at_point:
      return arm(dice, process, true);
    case BrokerAct::error_at_point:
      return arm(dice, process, false);
    case BrokerAct::clock_jump:
      return jump(dice);
    case BrokerAct::limiter_down:
      machine_.set_limiter_down(true);
      world_.schedule.after(static_cast<std::int64_t>(1 + dice.below(4, "down")) * kSecond,
                            [this] { machine_.set_limiter_down(false); });
      return;
  }
}

void BrokerActors::arm(const Dice& dice, std::size_t process, bool crash) {
  constexpr std::array<FaultPoint, 15> kPoints{
      FaultPoint::dedupe_read,      FaultPoint::budget_consumed,
      FaultPoint::claimed,          FaultPoint::destination_checked,
      FaultPoint::message_inserted, FaultPoint::deliveries_inserted,
      FaultPoint::history_inserted, FaultPoint::mentions_inserted,
      FaultPoint::before_commit,    FaultPoint::after_commit,
      FaultPoint::rows_swept,       FaultPoint::message_pruned,
      FaultPoint::queue_read,       FaultPoint::queue_written,
      FaultPoint::queue_committed};
  machine_.arm({process, kPoints.at(dice.below(kPoints.size(), "point")), crash});
}

// Forward by days, so that retention has something to do, or back.
void BrokerActors::jump(const Dice& dice) {
  if (dice.chance(70, "forward")) {
    machine_.jump_clock(static_cast<std::int64_t>(1 + dice.below(200, "hours")) * kHourMs);
    world_.coverage.add("clock:forward");
  } else {
    machine_.jump_clock(-static_cast<std::int64_t>(1 + dice.below(30, "hours back")) * kHourMs /
                        10);
    world_.coverage.add("clock:back");
  }
}

void BrokerActors::administer(const Dice& dice, std::size_t /*process*/) {
  const ActorMember member = members_[dice.below(members_.size(), "member")];
  switch (dice.below(6, "what")) {
    case 0:
      change("DELETE", "/v1/workspaces/" + member.workspace + "/members/" + member.name, "", 200);
      return world_.oracle.revoke(member.member_id);
    case 1:
      return add_member(member.workspace, fmt::format("dora{}", ++joined_));
    case 2:
      // Lowered or raised; there is no operation for it.
      world_.oracle.set_inline_bytes(member.workspace, 1024 + dice.below(1024, "bytes") - 512);
      return machine_.run_sql(
          fmt::format("UPDATE @.mesh SET max_inline_bytes = {} WHERE slug = '{}'",
                      1024 + dice.below(1024, "bytes") - 512, member.workspace));
    default:
      return change_topic(dice, member);
  }
}

// A consumer claims, or ends what it holds, perhaps too late or what another one holds; or the job
// comes.
void BrokerActors::consume(const Dice& dice, std::size_t process) {
  const std::uint64_t what = dice.below(10, "consume");
  if (what == 0) {
    return machine_.advance_queues(process);
  }
  if (what < 5 && !held_.empty()) {
    return settle(dice, process);
  }
  claim(dice, process, members_[dice.below(members_.size(), "consumer")],
        dice.chance(50, "shared") ? "jobs" : "rows");
}

void BrokerActors::claim(const Dice& dice, std::size_t process, const ActorMember& member,
                         const std::string& queue) {
  const std::size_t limit = 1 + dice.below(4, "most");
  const std::int64_t now = machine_.now(process);
  machine_.consume(
      process, member.token, "/v1/queues/" + queue + "/claim",
      fmt::format(R"({{"limit":{}}})", limit), [&](bool committed, const net::Response* response) {
        const bool refused = response != nullptr && response->status == 403;
        if (!committed || refused) {
          if (response != nullptr && response->status < 400) {
            world_.oracle.fail("a claim that was not committed was answered");
          }
          return;
        }
        const auto json = response == nullptr || response->status >= 500
                              ? Result<Json>(Error{ErrorCode::io_error, "lost"})
                              : Json::parse(response->body);
        Held held{member.token, {mesh_of(member.workspace), queue, member.member_id, "", {}}};
        held.held.lease = json.ok() ? std::string(json.value().text("lease"))
                                    : fmt::format("lost {}", ++lost_leases_);
        const auto wanted = world_.oracle.claim(held.held, limit, now);
        world_.coverage.add(wanted.empty() ? "queue:nothing" : "queue:claimed");
        if (!json.ok()) {
          return;
        }
        const auto messages = json.value().find("messages");
        for (std::size_t i = 0; messages.has_value() && i < messages->size(); ++i) {
          held.held.ids.emplace_back(messages->item(i).text("broker_message_id"));
        }
        if (held.held.ids != wanted) {
          world_.oracle.fail(fmt::format("a claim from {} got {} messages and must get {}", queue,
                                         held.held.ids.size(), wanted.size()));
        }
        if (!wanted.empty()) {
          held_.push_back(held);
        }
      });
}

void BrokerActors::settle(const Dice& dice, std::size_t process) {
  Held held = held_[dice.below(held_.size(), "held")];
  if (dice.chance(8, "other queue")) {
    held.held.queue = held.held.queue == "jobs" ? "rows" : "jobs";
  }
  if (dice.chance(8, "other lease")) {
    held.held.lease = "another";
  }
  const std::uint64_t kind = dice.below(10, "kind");
  const auto how = kind < 6   ? OracleSettlement::ack
                   : kind < 9 ? OracleSettlement::nack
                              : OracleSettlement::extend;
  constexpr std::array<const char*, 3> kActions{"ack", "nack", "extend"};
  const std::int64_t delay_ms = how == OracleSettlement::nack && dice.chance(50, "later")
                                    ? static_cast<std::int64_t>(1 + dice.below(3000, "delay"))
                                    : 0;
  const std::string body = object_of([&](JsonWriter& json) {
    json.member("lease", held.held.lease).key("broker_message_ids").begin_array();
    for (const std::string& id : held.held.ids) {
      json.string(id);
    }
    json.end_array();
    if (delay_ms > 0) {
      json.member("delay_ms", delay_ms);
    }
  });
  const std::int64_t now = machine_.now(process);
  const char* const action = kActions.at(static_cast<std::size_t>(how));
  machine_.consume(
      process, held.token, fmt::format("/v1/queues/{}/{}", held.held.queue, action), body,
      [&](bool committed, const net::Response* response) {
        if (!committed) {
          return;
        }
        const auto wanted = world_.oracle.settle(held.held, how, delay_ms, now);
        world_.coverage.add(fmt::format("queue:{}", wanted.fenced.empty() ? action : "fenced"));
        if (!wanted.dead.empty()) {
          world_.coverage.add("queue:dead");
        }
        if (response == nullptr || response->status != 200) {
          return;
        }
        const auto json = Json::parse(response->body);
        std::vector<std::string> fenced;
        const auto list = json.ok() ? json.value().find("fenced") : std::nullopt;
        for (std::size_t i = 0; list.has_value() && i < list->size(); ++i) {
          fenced.push_back(fmt::format("{} {}", list->item(i).text("broker_message_id"),
                                       list->item(i).text("reason")));
        }
        if (fenced != wanted.fenced) {
          world_.oracle.fail(
              fmt::format("a consumer that wants to {} is fenced from {} messages "
                          "and must be from {}",
                          action, fenced.size(), wanted.fenced.size()));
        }
      });
}

void BrokerActors::change_topic(const Dice& dice, const ActorMember& member) {
  const std::string topic = kTopics.at(dice.below(kTopics.size(), "topic"));
  const std::string path = "/v1/workspaces/" + member.workspace + "/topics/" + topic;
  const std::uint64_t what = dice.below(10, "change");
  if (what == 0) {
    change("DELETE", path, "", 200);
    return world_.oracle.archive(mesh_of(member.workspace), topic);
  }
  if (what < 4) {
    change("DELETE", path + "/subscriptions/" + member.name, "", 200);
    return world_.oracle.unsubscribe(mesh_of(member.workspace), topic, member.member_id);
  }
  subscribe(member, topic, what < 7 ? "writer" : "reader");
}

// Page by page.
void BrokerActors::read(const ActorMember& member, const std::string& kind,
                        const std::string& ref) {
  const std::vector<std::string> wanted =
      world_.oracle.history_of(mesh_of(member.workspace), kind, ref);
  std::vector<std::string> found;
  for (std::uint64_t after = 0;;) {
    const net::Response page =
        machine_.call(any_process(), member.token, "GET",
                      fmt::format("/v1/history?kind={}&ref={}&after={}&limit=3", kind, ref, after));
    if (page.status == 403) {
      return;  // revoked, or not subscribed to a closed topic
    }
    const auto json = Json::parse(page.body);
    const auto messages = json.ok() ? json.value().find("messages") : std::nullopt;
    if (page.status != 200 || !messages.has_value()) {
      return world_.oracle.fail("a history cannot be read: " + page.body);
    }
    for (std::size_t i = 0; i < messages->size(); ++i) {
      const Json one = messages->item(i);
      const auto pruned = one.find("pruned");
      after = static_cast<std::uint64_t>(one.integer("history_seq").value_or(0));
      found.push_back(fmt::format("{} {} {} {}", after, one.text("broker_message_id"),
                                  one.text("history_id"),
                                  pruned->boolean().value_or(false) ? "pruned" : "there"));
    }
    if (messages->size() == 0) {
      break;
    }
  }
  if (found != wanted) {
    world_.oracle.fail(fmt::format("the history of {} {} has {} entries and must have {}: {}", kind,
                                   ref, found.size(), wanted.size(),
                                   found.empty() ? "" : found.back()));
  }
}

void BrokerActors::read_all() {
  for (const ActorMember& member : members_) {
    for (const char* topic : kTopics) {
      read(member, "topic", topic);
    }
    read(member, "queue", "jobs");
    read(member, "queue", "rows");
    read(member, "dm", member.pubkey);
    const net::Response page =
        machine_.call(any_process(), member.token, "GET", "/v1/mentions?limit=1000");
    const auto json = Json::parse(page.body);
    const auto mentions = json.ok() ? json.value().find("mentions") : std::nullopt;
    std::vector<std::string> found;
    for (std::size_t i = 0; mentions.has_value() && i < mentions->size(); ++i) {
      const Json one = mentions->item(i);
      found.push_back(fmt::format("{} {}", one.text("broker_message_id"),
                                  one.integer("history_seq").value_or(0)));
    }
    if (page.status == 200 && found != world_.oracle.mentions_of(member.pubkey)) {
      world_.oracle.fail("the mentions of " + member.name + " are not those of the messages");
    }
  }
}

}  // namespace holdfast::broker_sim

#include "lab/broker_sim/broker_clients.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/text.h"

namespace holdfast::broker_sim {

namespace {

using sim::Dice;
using sim::kMs;
using sim::kSecond;

constexpr std::int64_t kTimeout = 2 * kSecond;
constexpr std::int64_t kDayMs = 86'400'000;

struct Meta {
  const char* sent;
  const char* canonical;
};
constexpr std::array<Meta, 4> kMetas{
    {{"", ""},
     {"{}", ""},
     {R"({"z": 1, "a": [true, null]})", R"({"a":[true,null],"z":1})"},
     {R"({"n": 1.50, "s": "\u20ac"})", R"({"n":1.5,"s":"€"})"}}};

std::int64_t between(const Dice& dice, std::int64_t least_us, std::int64_t most_us,
                     const char* label, std::uint64_t which) {
  return least_us + static_cast<std::int64_t>(
                        dice.below(static_cast<std::uint64_t>(most_us - least_us), label, which));
}

}  // namespace

// Few ids, so that clients meet each other and themselves.
SimMessage BrokerClients::draw(const Dice& dice) {
  const auto& members = actors_.members();
  const ActorMember& sender = members[dice.below(members.size(), "sender")];
  SimMessage message;
  message.token = sender.token;
  message.workspace = dice.chance(2, "elsewhere") ? "nowhere" : sender.workspace;
  if (dice.chance(2, "foreign")) {
    message.workspace = sender.workspace == "team" ? "other" : "team";
  }
  if (dice.chance(3, "stranger")) {
    message.token = dice.chance(50, "none") ? "" : "no such token";
  }
  const std::uint64_t id = dice.below(30, "id");
  message.id = fmt::format("m-{}", id);
  // Most of what depends on the id alone repeats with it.
  const Dice content = dice.chance(85, "usual") ? world_.dice.about("content", id) : dice;
  const std::uint64_t kind = content.below(10, "kind");
  message.kind = kind < 6 ? "topic" : kind < 8 ? "dm" : "queue";
  if (message.kind == "topic") {
    constexpr std::array<const char*, 5> kRefs{"alerts", "alerts", "inner", "quiet", "missing"};
    message.ref = kRefs.at(content.below(kRefs.size(), "topic"));
  } else if (message.kind == "queue") {
    const bool shared = content.chance(55, "shared");
    message.ref = content.chance(90, "queue") ? (shared ? "jobs" : "rows") : "missing";
    message.ordering_key = content.chance(30, "keyed") ? "k" : "";
    const std::int64_t now = machine_.now(0);
    message.not_before = dice.chance(15, "delayed")
                             ? now + static_cast<std::int64_t>(dice.below(20'000, "delay"))
                             : 0;
    message.expires_at = dice.chance(15, "expiring")
                             ? std::max(now, message.not_before) + 1 +
                                   static_cast<std::int64_t>(dice.below(20'000, "expiry"))
                             : 0;
  } else {
    message.ref = members[content.below(6, "recipient")].pubkey;
  }
  constexpr std::array<const char*, 4> kPriorities{"", "now", "next", "low"};
  message.priority = kPriorities.at(content.below(kPriorities.size(), "priority"));
  const Meta& meta = kMetas.at(content.below(kMetas.size(), "meta"));
  message.meta = meta.sent;
  message.canonical_meta = meta.canonical;
  message.body = fmt::format("text {}", content.below(3, "text"));
  if (content.chance(10, "long")) {
    message.body.resize(600 + content.below(800, "bytes"), 'x');
  }
  for (std::uint64_t i = dice.below(4, "mentions"); i > 0; --i) {
    const ActorMember& mentioned = members[dice.below(members.size(), "mention", i)];
    message.mentions.push_back(dice.chance(30, "by key", i)    ? mentioned.pubkey
                               : dice.chance(20, "unknown", i) ? "stranger"
                                                               : mentioned.name);
  }
  if (dice.chance(6, "defect")) {
    message.defect = static_cast<Defect>(1 + dice.below(kDefects - 1, "which defect"));
    message.id = message.defect == Defect::bad_id ? "no spaces" : message.id;
    message.ref = message.defect == Defect::bad_ref ? "not/a name" : message.ref;
    if (message.defect == Defect::many_mentions) {
      message.mentions.assign(17, "ben");
    }
  }
  return message;
}

void BrokerClients::send(const BrokerItem& item) {
  const Dice dice = world_.dice.about("send", item.number);
  clients_.push_back(std::make_unique<Client>());
  Client& client = *clients_.back();
  client.item = item.number;
  client.message = draw(dice);
  client.repeats = dice.chance(8, "stubborn") ? 14 : 0;
  if (dice.chance(40, "dated")) {
    const bool old = dice.chance(15, "old");
    client.message.first_sent_at =
        machine_.now(0) -
        (old ? static_cast<std::int64_t>(dice.below(12, "days")) * kDayMs : std::int64_t{0});
  }
  attempt(client);
}

// Twice if the network repeats it.
void BrokerClients::attempt(Client& client) {
  const std::uint32_t number = ++client.attempts;
  SimMessage message = client.message;
  message.attempt = number;
  const Dice dice = world_.dice.about("network", client.item);
  const bool lost = !world_.quiet() && dice.chance(15, "lost", number);
  const std::uint32_t copies = !world_.quiet() && dice.chance(15, "repeated", number) ? 2 : 1;
  for (std::uint32_t copy = 0; copy < copies; ++copy) {
    const std::uint64_t which = std::uint64_t{number} * 2 + copy;
    if (lost && copy == 0) {
      world_.coverage.add("network:lost_request");
      continue;
    }
    if (copy > 0) {
      world_.coverage.add("network:repeated_request");
    }
    const bool slow = !world_.quiet() && dice.chance(15, "slow", which);
    const std::int64_t delay = slow ? between(dice, kSecond, 9 * kSecond, "late", which)
                                    : between(dice, 1, 40 * kMs, "delay", which);
    const std::size_t process = dice.below(machine_.processes(), "process", which);
    world_.schedule.after(delay, [this, &client, message, process, which] {
      arrive(client, message, process, which);
    });
  }
  world_.schedule.after(kTimeout, [this, &client, number] {
    if (!client.done && client.attempts == number) {
      attempt(client);
    }
  });
}

void BrokerClients::arrive(Client& client, SimMessage message, std::size_t process,
                           std::uint64_t which) {
  if (!machine_.is_up(process)) {
    world_.coverage.add("network:refused");
    return;
  }
  world_.log(fmt::format("process {} gets {} of item {}, attempt {}", process, message.id,
                         client.item, message.attempt));
  machine_.send(process, message, [this, &client, which](const net::Response& response) {
    const Dice dice = world_.dice.about("answer", client.item);
    if (!world_.quiet() && dice.chance(15, "lost", which)) {
      world_.coverage.add("network:lost_answer");
      return;
    }
    const bool slow = !world_.quiet() && dice.chance(10, "slow", which);
    world_.schedule.after(slow ? between(dice, kSecond, 6 * kSecond, "late", which)
                               : between(dice, 1, 40 * kMs, "delay", which),
                          [this, &client, response] { receive(client, response); });
  });
}

void BrokerClients::receive(Client& client, const net::Response& response) {
  if (client.done) {
    return;
  }
  if (response.status == 429) {
    std::uint64_t seconds = 1;
    for (const net::Header& header : response.headers) {
      if (header.name == "Retry-After") {
        seconds = parse_decimal(header.value).value_or(1);
      }
    }
    return again_after(client, static_cast<std::int64_t>(seconds) * kSecond);
  }
  if (response.status >= 500) {
    return again_after(client, kSecond / 2);
  }
  if (response.status >= 400 && client.repeats > 0) {
    --client.repeats;
    return again_after(client, kSecond / 20);
  }
  client.done = true;
}

void BrokerClients::again_after(Client& client, std::int64_t delay_us) {
  const std::uint32_t number = ++client.attempts;  // ends the timeout of the last attempt
  world_.schedule.after(delay_us, [this, &client, number] {
    if (!client.done && client.attempts == number) {
      attempt(client);
    }
  });
}

void BrokerClients::check_all_answered() {
  for (const auto& client : clients_) {
    if (!client->done) {
      world_.oracle.fail(fmt::format("the message {} of item {} is never answered",
                                     client->message.id, client->item));
    }
  }
}

}  // namespace holdfast::broker_sim

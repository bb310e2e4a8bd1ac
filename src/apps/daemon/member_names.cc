#include "apps/daemon/member_names.h"

#include "base/json_value.h"
#include "delivery/api/own_requests.h"
#include "delivery/contract/envelope.h"
#include "net/http.h"

namespace holdfast::delivery {

namespace {

constexpr std::string_view kNamesFile = "names.json";
constexpr std::int64_t kFreshMs = 60'000;

}  // namespace

MemberNames::MemberNames(const DaemonFolder& folder, Drain& drain, Clock& clock)
    : folder_(folder), drain_(drain), clock_(clock) {
  const auto text = folder_.read(kNamesFile);
  const auto list = text.ok() ? read_answer<KnownMemberList>(text.value()) : text.error();
  if (list.ok()) {
    for (const KnownMemberView& member : list.value().members) {
      known_[member.name] = {member.pubkey};
    }
  }
}

std::optional<std::string> MemberNames::find(const std::string& name) {
  std::optional<std::string> last;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(name); found != known_.end()) {
      last = found->second.pubkey;
      const std::int64_t looked_up_at = found->second.looked_up_at;
      if (looked_up_at != INT64_MIN && clock_.now().value - looked_up_at < kFreshMs) {
        return last;
      }
    }
  }
  const auto answer = drain_.call({"GET", "/v1/members?name=" + net::url_encoded(name), {}});
  const auto list = answer.ok() ? read_answer<KnownMemberList>(answer.value()) : answer.error();
  if (!list.ok()) {
    return last;
  }
  if (list.value().members.empty() || !is_public_key(list.value().members.front().pubkey)) {
    forget(name);
    return std::nullopt;
  }
  remember(name, list.value().members.front().pubkey);
  return list.value().members.front().pubkey;
}

void MemberNames::remember(const std::string& name, const std::string& pubkey) {
  const std::lock_guard lock(mutex_);
  Known& known = known_[name];
  const bool news = known.pubkey != pubkey;
  known = {pubkey, clock_.now().value};
  if (news) {
    save();
  }
}

void MemberNames::forget(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (known_.erase(name) > 0) {
    save();
  }
}

// Without the file the names are looked up again.
void MemberNames::save() {
  KnownMemberList list;
  for (const auto& [name, known] : known_) {
    list.members.push_back({name, known.pubkey});
  }
  if (const auto json = to_json(list); json.ok()) {
    static_cast<void>(folder_.write(kNamesFile, std::string(json.value().view()) + "\n"));
  }
}

}  // namespace holdfast::delivery

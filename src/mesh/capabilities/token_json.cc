#include "mesh/capabilities/token_json.h"

#include <algorithm>

#include "base/encoding.h"
#include "base/json_keys.h"
#include "base/json_value.h"
#include "base/json_writer.h"
#include "base/quote.h"

namespace holdfast::mesh {

namespace {

Result<PublicKey> read_did(const Json& object, std::string_view name) {
  const auto member = object.find(name);
  const auto text = member.has_value() ? member->string() : std::nullopt;
  const auto key = text.has_value() ? parse_did(*text) : std::nullopt;
  if (!key.has_value()) {
    return malformed_token(std::string(name) + " is not the did:key of an acceptable Ed25519 key");
  }
  return *key;
}

Result<std::optional<std::uint64_t>> read_seconds(const Json& object, std::string_view name) {
  const auto member = object.find(name);
  if (!member.has_value() || (name == "exp" && member->kind() == Json::Kind::null)) {
    return std::optional<std::uint64_t>();
  }
  const auto seconds = member->unsigned_integer();
  if (member->kind() != Json::Kind::integer || !seconds.has_value()) {
    return malformed_token(std::string(name) + " is not a whole number of seconds");
  }
  return seconds;
}

Result<std::vector<std::string>> read_texts(const Json& list) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Json item = list.item(i);
    if (!item.string().has_value()) {
      return malformed_token("a caveat is not a list of texts");
    }
    texts.emplace_back(*item.string());
  }
  return texts;
}

Result<TimeRange> read_range(const Json& list) {
  if (list.size() != 2 || list.item(0).kind() != Json::Kind::integer ||
      list.item(1).kind() != Json::Kind::integer) {
    return malformed_token("time_range is not a pair of milliseconds");
  }
  const auto start = list.item(0).unsigned_integer();
  const auto end = list.item(1).unsigned_integer();
  if (!start.has_value() || !end.has_value()) {
    return malformed_token("time_range is not a pair of milliseconds");
  }
  return TimeRange{*start, *end};
}

// "StripGeo" or {"TruncateContent":n}
Result<SanitiseRule> read_rule(const Json& value) {
  using Kind = SanitiseRule::Kind;
  if (const auto text = value.string()) {
    const auto kind = enum_from<Kind>(*text);
    if (kind.has_value() && *kind != Kind::truncate_content) {
      return SanitiseRule{*kind, 0};
    }
  } else if (value.kind() == Json::Kind::object && value.size() == 1) {
    const auto [name, count] = value.member(0);
    const auto bytes = count.unsigned_integer();
    if (name == to_text(Kind::truncate_content) && count.kind() == Json::Kind::integer &&
        bytes.has_value()) {
      return SanitiseRule{Kind::truncate_content, *bytes};
    }
  }
  return malformed_token("sanitize has an unknown rule");
}

Result<void> read_caveat(std::string_view name, const Json& value, Caveats& caveats) {
  const auto caveat = enum_from<Caveat>(name);
  if (!caveat.has_value()) {
    return malformed_token("unknown caveat " + quote(name));
  }
  if (*caveat == Caveat::audit_inference) {
    if (!value.boolean().has_value()) {
      return malformed_token("audit_inference is not a boolean");
    }
    caveats.audit_inference = *value.boolean();
    return {};
  }
  if (value.kind() != Json::Kind::array) {
    return malformed_token("the caveat " + quote(name) + " is not a list");
  }
  switch (*caveat) {
    case Caveat::source_types: {
      HOLDFAST_TRY(caveats.source_types, read_texts(value));
      return {};
    }
    case Caveat::predicates: {
      HOLDFAST_TRY(caveats.predicates, read_texts(value));
      return {};
    }
    case Caveat::kind_prefix: {
      HOLDFAST_TRY(caveats.kind_prefix, read_texts(value));
      return {};
    }
    case Caveat::time_range: {
      HOLDFAST_TRY(caveats.time_range, read_range(value));
      return {};
    }
    case Caveat::sanitize:
      caveats.sanitize.emplace();
      for (std::size_t i = 0; i < value.size(); ++i) {
        HOLDFAST_TRY(const SanitiseRule rule, read_rule(value.item(i)));
        caveats.sanitize->push_back(rule);
      }
      return {};
    case Caveat::audit_inference:
      return {};
  }
  return {};
}

Result<Capability> read_capability(const Json& object) {
  Capability capability;
  std::optional<std::string_view> resource;
  std::optional<std::string_view> action;
  if (object.kind() != Json::Kind::object) {
    return malformed_token("att has an item that is not an object");
  }
  for (std::size_t i = 0; i < object.size(); ++i) {
    const auto [name, value] = object.member(i);
    if (name == "resource") {
      resource = value.string();
    } else if (name == "action") {
      action = value.string();
    } else if (name != "caveats" || value.kind() != Json::Kind::object) {
      return malformed_token("a capability has a wrong member " + quote(name));
    } else {
      for (std::size_t c = 0; c < value.size(); ++c) {
        const auto [caveat, content] = value.member(c);
        HOLDFAST_CHECK(read_caveat(caveat, content, capability.caveats));
      }
    }
  }
  if (!resource.has_value() || !action.has_value()) {
    return malformed_token("a capability lacks its resource or action");
  }
  const auto pairs = expand(*resource, *action);
  if (!pairs.has_value()) {
    return malformed_token("unknown resource " + quote(*resource));
  }
  capability.pairs = *pairs;
  return capability;
}

Result<std::vector<Digest>> read_proofs(const Json& object) {
  std::vector<Digest> proofs;
  const auto list = object.find("prf");
  if (list.has_value() && list->kind() != Json::Kind::array) {
    return malformed_token("prf is not a list");
  }
  for (std::size_t i = 0; list.has_value() && i < list->size(); ++i) {
    const Json item = list->item(i);
    const auto bytes = from_hex(item.string().value_or("?"));
    Digest proof;
    if (!bytes.ok() || bytes.value().size() != proof.size()) {
      return malformed_token("prf has an item that is not a lower-case hex hash");
    }
    std::copy(bytes.value().begin(), bytes.value().end(), proof.begin());
    proofs.push_back(proof);
  }
  return proofs;
}

// Members that only have to be what they are expected to be.
Result<void> check_fixed_members(const Json& object, const PublicKey& audience) {
  for (std::size_t i = 0; i < object.size(); ++i) {
    const auto [name, value] = object.member(i);
    if (name.starts_with("likewise")) {
      return malformed_token("unknown member " + quote(name));
    }
    if (name == "sub" && value.string() != node_name(node_id_of(audience))) {
      return malformed_token("sub does not name the node of aud");
    }
    if (name == "ucv" && value.string() != "0.10.0") {
      return malformed_token("ucv is not \"0.10.0\"");
    }
    if (name == "nnc" && !value.string().has_value()) {
      return malformed_token("nnc is not a text");
    }
  }
  return {};
}

void write_texts(JsonWriter& out, std::string_view name,
                 const std::optional<std::vector<std::string>>& texts) {
  if (texts.has_value()) {
    out.key(name).begin_array();
    for (const std::string& text : *texts) {
      out.string(text);
    }
    out.end_array();
  }
}

void write_caveats(JsonWriter& out, const Caveats& caveats) {
  out.key("caveats").begin_object();
  write_texts(out, to_text(Caveat::source_types), caveats.source_types);
  write_texts(out, to_text(Caveat::predicates), caveats.predicates);
  write_texts(out, to_text(Caveat::kind_prefix), caveats.kind_prefix);
  if (caveats.time_range.has_value()) {
    out.key(to_text(Caveat::time_range)).begin_array();
    out.unsigned_integer(caveats.time_range->start_ms);
    out.unsigned_integer(caveats.time_range->end_ms).end_array();
  }
  if (caveats.sanitize.has_value()) {
    out.key(to_text(Caveat::sanitize)).begin_array();
    for (const SanitiseRule& rule : *caveats.sanitize) {
      if (rule.kind == SanitiseRule::Kind::truncate_content) {
        out.begin_object().member(to_text(rule.kind), rule.truncate_bytes).end_object();
      } else {
        out.string(to_text(rule.kind));
      }
    }
    out.end_array();
  }
  if (caveats.audit_inference) {
    out.member(to_text(Caveat::audit_inference), true);
  }
  out.end_object();
}

}  // namespace

Error malformed_token(std::string_view what) {
  return Error(ErrorCode::invalid_argument, "malformed token: " + std::string(what));
}

Result<Token> token_from_json(std::string_view text) {
  HOLDFAST_TRY(const JsonText checked, JsonText::parse(text));
  HOLDFAST_CHECK(check_unique_keys(checked));
  HOLDFAST_TRY(const Json object, Json::parse(checked.view()));
  if (object.kind() != Json::Kind::object) {
    return malformed_token("the payload is not an object");
  }
  Token token;
  HOLDFAST_TRY(token.issuer, read_did(object, "iss"));
  HOLDFAST_TRY(token.audience, read_did(object, "aud"));
  HOLDFAST_CHECK(check_fixed_members(object, token.audience));
  HOLDFAST_TRY(const auto not_before_s, read_seconds(object, "nbf"));
  token.not_before_s = not_before_s.value_or(0);
  HOLDFAST_TRY(token.expires_s, read_seconds(object, "exp"));
  HOLDFAST_TRY(token.proofs, read_proofs(object));
  const auto att = object.find("att");
  if (!att.has_value() || att->kind() != Json::Kind::array) {
    return malformed_token("att is not a list");
  }
  for (std::size_t i = 0; i < att->size(); ++i) {
    HOLDFAST_TRY(Capability capability, read_capability(att->item(i)));
    token.capabilities.push_back(std::move(capability));
  }
  return token;
}

std::string token_to_json(const TokenSpec& spec, const PublicKey& issuer) {
  JsonWriter out;
  out.begin_object();
  out.member("ucv", "0.10.0").member("iss", to_did(issuer)).member("aud", to_did(spec.audience));
  out.member("sub", node_name(node_id_of(spec.audience)));
  out.key("att").begin_array();
  for (const Grant& grant : spec.grants) {
    out.begin_object().member("resource", grant.resource).member("action", grant.action);
    write_caveats(out, grant.caveats);
    out.end_object();
  }
  out.end_array();
  out.member("nbf", spec.not_before_s);
  if (spec.expires_s.has_value()) {
    out.member("exp", *spec.expires_s);
  } else {
    out.key("exp").null();
  }
  out.key("prf").begin_array();
  for (const Digest& proof : spec.proofs) {
    out.string(to_hex(proof));
  }
  out.end_array().member("nnc", spec.nonce).end_object();
  return std::move(out).take();
}

}  // namespace holdfast::mesh

#include "lab/sim/sim_value.h"

#include "base/json_value.h"
#include "base/json_writer.h"

namespace holdfast::sim {

namespace {

Value value_of(const Json& json) {
  switch (json.kind()) {
    case Json::Kind::null:
      return {};
    case Json::Kind::boolean:
      return {*json.boolean()};
    case Json::Kind::integer:
      return json.integer().has_value() ? Value(*json.integer()) : Value(*json.number());
    case Json::Kind::number:
      return {*json.number()};
    case Json::Kind::string:
      return {std::string(*json.string())};
    case Json::Kind::array: {
      Value::List items;
      for (std::size_t i = 0; i < json.size(); ++i) {
        items.push_back(value_of(json.item(i)));
      }
      return {std::move(items)};
    }
    case Json::Kind::object: {
      Value::Object members;
      for (std::size_t i = 0; i < json.size(); ++i) {
        const auto [name, member] = json.member(i);
        members[std::string(name)] = value_of(member);
      }
      return {std::move(members)};
    }
  }
  return {};
}

void write(JsonWriter& out, const Value& value) {
  if (value.is_null()) {
    out.null();
  } else if (value.is_boolean()) {
    out.boolean(value.boolean());
  } else if (value.is_integer()) {
    out.integer(value.integer());
  } else if (value.is_number()) {
    out.number(value.number());
  } else if (value.is_string()) {
    out.string(value.string());
  } else if (value.is_list()) {
    out.begin_array();
    for (const Value& item : value.list()) {
      write(out, item);
    }
    out.end_array();
  } else {
    out.begin_object();
    for (const auto& [name, member] : value.members()) {
      out.key(name);
      write(out, member);
    }
    out.end_object();
  }
}

}  // namespace

Value Value::parse(std::string_view text) {
  const auto json = Json::parse(text);
  return json.ok() ? value_of(json.value()) : Value();
}

std::string Value::text() const {
  JsonWriter out;
  write(out, *this);
  return std::move(out).take();
}

bool Value::boolean(bool otherwise) const {
  const auto* value = std::get_if<bool>(&data_);
  return value == nullptr ? otherwise : *value;
}

std::int64_t Value::integer(std::int64_t otherwise) const {
  const auto* value = std::get_if<std::int64_t>(&data_);
  return value == nullptr ? otherwise : *value;
}

double Value::number() const {
  if (const auto* value = std::get_if<double>(&data_)) {
    return *value;
  }
  return static_cast<double>(integer());
}

const std::string& Value::string() const {
  static const std::string none;
  const auto* value = std::get_if<std::string>(&data_);
  return value == nullptr ? none : *value;
}

const Value::List& Value::list() const {
  static const List none;
  const auto* value = std::get_if<List>(&data_);
  return value == nullptr ? none : *value;
}

const Value::Object& Value::members() const {
  static const Object none;
  const auto* value = std::get_if<Object>(&data_);
  return value == nullptr ? none : *value;
}

const Value& Value::operator[](std::string_view name) const {
  static const Value none;
  const auto found = members().find(name);
  return found == members().end() ? none : found->second;
}

bool Value::has(std::string_view name) const { return members().contains(name); }

void Value::set(std::string name, Value value) {
  if (!is_object()) {
    data_ = Object{};
  }
  std::get<Object>(data_).insert_or_assign(std::move(name), std::move(value));
}

void Value::erase(std::string_view name) {
  if (auto* object = std::get_if<Object>(&data_)) {
    if (const auto found = object->find(name); found != object->end()) {
      object->erase(found);
    }
  }
}

void Value::push(Value value) {
  if (!is_list()) {
    data_ = List{};
  }
  std::get<List>(data_).push_back(std::move(value));
}

bool operator==(const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) {
    return compare_numbers(left, right) == 0;
  }
  return left.data_ == right.data_;
}

std::optional<int> compare_numbers(const Value& left, const Value& right) {
  if (!left.is_number() || !right.is_number()) {
    return std::nullopt;
  }
  if (left.is_integer() && right.is_integer()) {
    return left.integer() < right.integer() ? -1 : (left.integer() > right.integer() ? 1 : 0);
  }
  return left.number() < right.number() ? -1 : (left.number() > right.number() ? 1 : 0);
}

}  // namespace holdfast::sim

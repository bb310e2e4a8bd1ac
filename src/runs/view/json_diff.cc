#include "runs/view/json_diff.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/json_slice.h"
#include "base/json_writer.h"
#include "holdfast/assert.h"
#include "runs/language/data/canonical_json.h"

namespace holdfast {

namespace {

// What elements of a list may be called by; the first that names them all counts.
constexpr std::array<std::string_view, 6> kNamingMembers{"name",    "runnable_key", "run_id",
                                                         "wait_id", "id",           "step"};

// The values of an object or a list, in their order, and where each stands.
struct Values {
  Values() = default;
  Values(Values&&) = default;  // a copy would look at the names of the other
  Values& operator=(Values&&) = default;

  std::vector<std::pair<std::string, std::string_view>> list;
  std::map<std::string_view, std::size_t, std::less<>> places;

  void add(std::string name, std::string_view value) { list.emplace_back(std::move(name), value); }
  // Of names that are there twice the last counts. False when there are such names.
  bool index() {
    for (std::size_t i = 0; i < list.size(); ++i) {
      places.insert_or_assign(list[i].first, i);
    }
    return places.size() == list.size();
  }
  [[nodiscard]] bool counts(std::size_t place) const {
    return places.find(list[place].first)->second == place;
  }
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const {
    const auto found = places.find(name);
    return found == places.end() ? std::nullopt : std::optional(list[found->second].second);
  }
};

std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  JsonSlicer slicer(list);
  while (const auto item = slicer.next()) {
    items.push_back(item->value);
  }
  return items;
}

Values members_of(std::string_view object) {
  Values members;
  JsonSlicer slicer(object);
  while (const auto member = slicer.next()) {
    const std::string quoted = '"' + std::string(member->name) + '"';
    members.add(json_string_value(quoted).value_or(std::string(member->name)), member->value);
  }
  members.index();
  return members;
}

Values placed(const std::vector<std::string_view>& items) {
  Values values;
  for (std::size_t i = 0; i < items.size(); ++i) {
    values.add(fmt::format("[{}]", i), items[i]);
  }
  values.index();
  return values;
}

// By the text of one member; empty when an item has none, or two have the same.
std::optional<Values> named(const std::vector<std::string_view>& items, std::string_view by) {
  Values values;
  for (const std::string_view item : items) {
    if (!item.starts_with('{')) {
      return std::nullopt;
    }
    const Values members = members_of(item);
    const auto name = members.find(by);
    auto text = name.has_value() ? json_string_value(*name) : std::nullopt;
    if (!text.has_value()) {
      return std::nullopt;
    }
    values.add(*std::move(text), item);
  }
  return values.index() ? std::optional(std::move(values)) : std::nullopt;
}

// As in a DataPath: dots and backslashes of names are escaped.
std::string joined(const std::string& path, std::string_view name) {
  std::string text = path;
  text += path.empty() ? "" : ".";
  for (const char c : name) {
    text += c == '.' || c == '\\' ? "\\" : "";
    text += c;
  }
  return text;
}

class Difference {
 public:
  void compare(const std::string& path, std::string_view before, std::string_view after) {
    if (before == after) {
      return;
    }
    if (before.starts_with('{') && after.starts_with('{')) {
      compare_members(path, members_of(before), members_of(after), joined);
    } else if (before.starts_with('[') && after.starts_with('[')) {
      compare_lists(path, items_of(before), items_of(after));
    } else if (canonical_json(before) != canonical_json(after)) {
      note(JsonChange::Kind::changed, path, before, after);
    }
  }
  void note(JsonChange::Kind kind, const std::string& path, std::string_view before,
            std::string_view after) {
    auto& list = kind == JsonChange::Kind::added ? added_ : changes_;
    list.push_back({kind, path.empty() ? "$" : path, std::string(before), std::string(after)});
  }
  std::vector<JsonChange> take() && {
    changes_.insert(changes_.end(), std::make_move_iterator(added_.begin()),
                    std::make_move_iterator(added_.end()));
    return std::move(changes_);
  }

 private:
  template <typename Join>
  void compare_members(const std::string& path, const Values& before, const Values& after,
                       Join join) {
    for (std::size_t i = 0; i < before.list.size(); ++i) {
      const auto& [name, value] = before.list[i];
      if (!before.counts(i)) {
        continue;
      }
      if (const auto other = after.find(name)) {
        compare(join(path, name), value, *other);
      } else {
        note(JsonChange::Kind::removed, join(path, name), value, {});
      }
    }
    for (std::size_t i = 0; i < after.list.size(); ++i) {
      const auto& [name, value] = after.list[i];
      if (after.counts(i) && !before.find(name).has_value()) {
        note(JsonChange::Kind::added, join(path, name), {}, value);
      }
    }
  }

  void compare_lists(const std::string& path, const std::vector<std::string_view>& before,
                     const std::vector<std::string_view>& after) {
    for (const std::string_view by : kNamingMembers) {
      const auto old_names = named(before, by);
      const auto new_names = old_names.has_value() ? named(after, by) : std::nullopt;
      if (new_names.has_value()) {
        compare_members(path, *old_names, *new_names, joined);
        return;
      }
    }
    compare_members(
        path, placed(before), placed(after),
        [](const std::string& of, std::string_view place) { return of + std::string(place); });
  }

  std::vector<JsonChange> changes_;
  std::vector<JsonChange> added_;
};

std::string compact(std::string_view text) {
  if (text.empty() || is_compact_json(text)) {
    return std::string(text);
  }
  const auto parsed = JsonText::parse(text);
  HOLDFAST_ASSERT(parsed.ok());
  return std::string(parsed.value().view());
}

}  // namespace

std::vector<JsonChange> json_diff(std::string_view before, std::string_view after) {
  const std::string from = compact(before);
  const std::string to = compact(after);
  Difference difference;
  if (from.empty() != to.empty()) {
    difference.note(from.empty() ? JsonChange::Kind::added : JsonChange::Kind::removed, "", from,
                    to);
  } else if (!from.empty()) {
    difference.compare("", from, to);
  }
  return std::move(difference).take();
}

JsonText to_json(const std::vector<JsonChange>& changes) {
  JsonWriter json;
  json.begin_array();
  for (const JsonChange& change : changes) {
    json.begin_object().member("path", change.path).member("change", to_text(change.kind));
    if (!change.before.empty()) {
      json.member("before", JsonText::trusted(change.before));
    }
    if (!change.after.empty()) {
      json.member("after", JsonText::trusted(change.after));
    }
    json.end_object();
  }
  json.end_array();
  return std::move(json).take_text();
}

}  // namespace holdfast

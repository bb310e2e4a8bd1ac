#include "schema_texts.h"

#include <fstream>
#include <iterator>

#include "base/json_slice.h"
#include "base/json_value.h"

namespace holdfast::schema {

namespace {

void break_line(std::string& out, std::size_t depth) {
  out += '\n';
  out.append(2 * depth, ' ');
}

}  // namespace

Members members_of(std::string_view object) {
  Members members;
  JsonSlicer slicer(object);
  while (const auto found = slicer.next()) {
    members.emplace_back(found->name, found->value);
  }
  return members;
}

std::string member(std::string_view object, std::string_view name) {
  for (auto& [known, value] : members_of(object)) {
    if (known == name) {
      return std::move(value);
    }
  }
  return {};
}

std::string object_of(const Members& members) {
  JsonObject object;
  for (const auto& [name, value] : members) {
    object.add_json(name, value);
  }
  return object.text();
}

std::string list_of(const std::vector<std::string>& values) {
  std::string list = "[";
  for (const std::string& value : values) {
    list += (list.size() > 1 ? "," : "") + value;
  }
  return list + "]";
}

std::string quoted(std::string_view text) { return json_quote(text); }

std::string plain(std::string_view json_string) {
  return json_string_value(json_string).value_or("");
}

void set(Members& members, std::string_view name, std::string value) {
  for (auto& [known, old] : members) {
    if (known == name) {
      old = std::move(value);
      return;
    }
  }
  members.emplace_back(name, std::move(value));
}

std::string pretty(std::string_view compact) {
  std::string out;
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < compact.size(); ++i) {
    const char c = compact[i];
    if (in_string) {
      out += c;
      if (c == '\\') {
        out += compact[++i];
      }
      in_string = c != '"';
      continue;
    }
    const bool opens = c == '{' || c == '[';
    const bool closes = c == '}' || c == ']';
    if (opens && (compact[i + 1] == '}' || compact[i + 1] == ']')) {
      out += c;
      out += compact[++i];
      continue;
    }
    if (closes) {
      break_line(out, --depth);
    }
    out += c;
    if (opens) {
      break_line(out, ++depth);
    } else if (c == ',') {
      break_line(out, depth);
    } else if (c == ':') {
      out += ' ';
    }
    in_string = c == '"';
  }
  return out + "\n";
}

std::string reference_to(std::string_view schema) {
  return R"({"$ref":"#/components/schemas/)" + std::string(schema) + "\"}";
}

Texts::Texts(std::string section, std::string_view object) : section_(std::move(section)) {
  for (auto& [name, value] : members_of(object)) {
    texts_.emplace(name, std::move(value));
  }
}

std::string Texts::find(const std::string& name) {
  const auto found = texts_.find(name);
  if (found == texts_.end()) {
    return {};
  }
  used_.insert(name);
  return found->second;
}

std::string Texts::get(const std::string& name) {
  std::string found = find(name);
  if (found.empty()) {
    problems().push_back(section_ + " has no text about \"" + name + "\"");
    found = "\"\"";
  }
  return found;
}

std::vector<std::string> Texts::unused() const {
  std::vector<std::string> names;
  for (const auto& [name, text] : texts_) {
    if (!used_.contains(name)) {
      names.push_back(section_ + " has a text about \"" + name + "\", which does not exist");
    }
  }
  return names;
}

std::vector<std::string>& problems() {
  static std::vector<std::string> all;
  return all;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file) {
    problems().push_back(path + " cannot be read");
  }
  return text;
}

std::string read_json(const std::string& path) {
  const auto json = JsonText::parse(read_file(path));
  if (!json.ok()) {
    problems().push_back(path + ": " + json.error().text());
    return "{}";
  }
  return std::string(json.value().view());
}

}  // namespace holdfast::schema

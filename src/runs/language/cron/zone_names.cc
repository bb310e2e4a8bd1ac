#include "runs/language/cron/zone_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/closest_word.h"
#include "base/quote.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxNameBytes = 64;
constexpr std::string_view kUtc = "UTC";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool is_name_letter(char c) {
  return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '+' ||
         c == '-';
}

bool is_zone_name(std::string_view name) {
  // Files in the same folder that are not a zone of their name.
  constexpr std::array<std::string_view, 4> kNotZones = {"localtime", "posixrules", "posix",
                                                         "right"};
  if (name.empty() || name.size() > kMaxNameBytes ||
      std::find(kNotZones.begin(), kNotZones.end(), name.substr(0, name.find('/'))) !=
          kNotZones.end()) {
    return false;
  }
  char before = '/';
  for (const char c : name) {
    if (!is_name_letter(c) && (c != '/' || before == '/')) {
      return false;
    }
    before = c;
  }
  return before != '/';
}

std::filesystem::path zone_folder() {
  const char* folder = std::getenv("TZDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/usr/share/zoneinfo";
}

std::vector<std::string> read_names() {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  std::error_code failed;
  const fs::path folder = zone_folder();
  fs::recursive_directory_iterator entries(folder, failed);
  for (; !failed && entries != fs::recursive_directory_iterator(); entries.increment(failed)) {
    std::string name = entries->path().lexically_relative(folder).generic_string();
    std::error_code ignored;
    if (entries->is_directory(ignored)) {
      if (!is_zone_name(name)) {
        entries.disable_recursion_pending();
      }
    } else if (is_zone_name(name)) {
      names.push_back(std::move(name));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('/') + 1); }

}  // namespace

bool has_zone_file(std::string_view name) {
  std::error_code failed;
  return name == kUtc ||  // known without a file
         (is_zone_name(name) && std::filesystem::is_regular_file(zone_folder() / name, failed));
}

std::string similar_timezone(std::string_view name) {
  static const std::vector<std::string> names = read_names();
  const std::string wanted = lowered(name);
  for (const std::string& known : names) {
    if (lowered(known) == wanted) {
      return known;
    }
  }
  for (const std::string& known : names) {
    if (lowered(last_part(known)) == wanted) {
      return known;
    }
  }
  return std::string(closest_word(name, {names.begin(), names.end()}));
}

Error unknown_timezone(std::string_view name) {
  const std::string similar = similar_timezone(name);
  const std::string hint = similar.empty() ? "" : fmt::format("; did you mean {}?", quote(similar));
  return Error{ErrorCode::invalid_argument,
               fmt::format("unknown time zone {}{}", quote(name), hint)}
      .with("timezone", name);
}

}  // namespace holdfast

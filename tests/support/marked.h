// For tests: colours as marks that can be read: {31}failed{}.
#pragma once

#include <string>
#include <string_view>

namespace holdfast {

inline std::string marked(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text.starts_with("\x1b[")) {
      const std::size_t end = text.find('m');
      const std::string_view code = text.substr(2, end - 2);
      out += code == "0" ? "{}" : "{" + std::string(code) + "}";
      text.remove_prefix(end + 1);
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace holdfast

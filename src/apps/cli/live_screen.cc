#include "apps/cli/live_screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "apps/terminal/terminal_style.h"

namespace holdfast::cli {

std::size_t LiveScreen::height() {
  constexpr std::size_t kUsual = 24;
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : kUsual;
}

namespace {

std::size_t terminal_width() {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

// Colours have no width.
std::string without_colours(const std::string& line) {
  std::string text;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\x1b') {
      at = std::min(line.find('m', at), line.size() - 1);
    } else {
      text += line[at];
    }
  }
  return text;
}

}  // namespace

// A long line takes several rows.
void LiveScreen::erase() {
  const std::size_t width = terminal_width();
  std::size_t rows = 0;
  for (const std::string& line : drawn_) {
    const std::size_t columns = columns_of(without_colours(line));
    rows += columns == 0 ? 1 : (columns + width - 1) / width;
  }
  if (rows > 0) {
    out_ << "\x1b[" << rows << "A\r\x1b[J";
  }
}

void LiveScreen::draw(const std::vector<std::string>& lines) {
  if (lines == drawn_) {
    return;
  }
  erase();
  for (const std::string& line : lines) {
    out_ << line << '\n';
  }
  out_.flush();
  drawn_ = lines;
}

void LiveScreen::print_above(const std::string& text) {
  const std::vector<std::string> lines = drawn_;
  erase();
  drawn_.clear();
  out_ << text;
  draw(lines);
}

}  // namespace holdfast::cli

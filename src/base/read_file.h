// Reads files and descriptors whole. Streams are not used for this: the iterators over a stream
// buffer throw when a read fails, for example on a folder, or on /proc/PID/stat of a process that
// has just ended.
#pragma once

#include <cstddef>
#include <string>

#include "holdfast/result.h"

namespace holdfast {

// The bytes of a file, or of standard input ("-"); when there are more than max_bytes, some more
// than that. Fails with not_found, permission_denied or invalid_argument; the message does not name
// the file.
Result<std::string> read_file(const std::string& file, std::size_t max_bytes);

}  // namespace holdfast

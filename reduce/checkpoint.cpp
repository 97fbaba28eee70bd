#include "reduce/checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "cache/hash.h"

namespace coalesce::reduce {
namespace {

using nlohmann::json;

constexpr const char* kSchema = "coalesce.reduce.state/1";

std::string hex(const std::string& bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::string bytes_of(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return bytes;
}

json content(const Checkpoint& checkpoint) {
  json files = json::array();
  for (const Identity::File& file : checkpoint.identity.files)
    files.push_back({{"path", file.path}, {"bytes", file.bytes}, {"modified_ns", file.modified}});
  const Needs& needs = checkpoint.identity.needs;
  return {{"schema", kSchema},
          {"files", files},
          {"element", checkpoint.identity.element},
          {"count", checkpoint.identity.count},
          {"part", checkpoint.identity.part},
          {"parts", checkpoint.identity.parts},
          {"needs", {{"sum", needs.sum}, {"squares", needs.squares}, {"extremes", needs.extremes}}},
          {"begin", checkpoint.state.begin},
          {"done", checkpoint.state.done},
          {"end", checkpoint.state.end},
          {"summary", hex(checkpoint.state.summary)}};
}

std::string digest(const json& content) { return cache::Sha256().add(content.dump()).hex(); }

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw std::runtime_error(what + " '" + path + "': " + std::strerror(errno));
}

}  // namespace

Identity identity_of(const std::vector<Array>& arrays, const Needs& needs, unsigned part, unsigned parts) {
  Identity identity{.files = {}, .element = "", .count = 0, .needs = needs, .part = part, .parts = parts};
  for (const Array& array : arrays) {
    identity.files.push_back({array.file.path(), array.file.size(), array.file.modified()});
    identity.element = row_of(array.element).name;
    identity.count += array.count;
  }
  return identity;
}

void write_checkpoint(const std::string& path, const Checkpoint& checkpoint, bool durable) {
  json text = content(checkpoint);
  text["sha256"] = digest(content(checkpoint));
  const std::string bytes = text.dump() + "\n", beside = path + ".new";
  const int file = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) fail("cannot write", beside);
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t wrote = write(file, bytes.data() + at, bytes.size() - at);
    if (wrote < 0) {
      const int error = errno;
      close(file);
      unlink(beside.c_str());
      errno = error;
      fail("cannot write", beside);
    }
    at += static_cast<std::size_t>(wrote);
  }
  const bool synced = !durable || fsync(file) == 0;
  const bool kept = close(file) == 0 && synced;  // some file systems say only here that the disk is full
  if (!kept || std::rename(beside.c_str(), path.c_str()) != 0) fail("cannot write", path);
}

Checkpoint read_checkpoint(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail("cannot read", path);
  std::ostringstream all;
  all << in.rdbuf();
  try {
    const json text = json::parse(all.str());
    if (text.at("schema") != kSchema)
      throw std::runtime_error("'" + path + "' has schema " + text.at("schema").dump() + ", not " + kSchema);
    Checkpoint found;
    for (const json& file : text.at("files"))
      found.identity.files.push_back({file.at("path"), file.at("bytes"), file.at("modified_ns")});
    const json& needs = text.at("needs");
    found.identity.element = text.at("element");
    found.identity.count = text.at("count");
    found.identity.part = text.at("part");
    found.identity.parts = text.at("parts");
    found.identity.needs = {needs.at("sum"), needs.at("squares"), needs.at("extremes")};
    found.state = {text.at("begin"), text.at("done"), text.at("end"), bytes_of(text.at("summary"))};
    if (text.at("sha256") != digest(content(found)))
      throw std::runtime_error("'" + path + "' is damaged: its content has another SHA-256 than it says");
    return found;
  } catch (const json::exception&) {
    throw std::runtime_error("'" + path + "' is damaged or no state of coalesce reduce");
  } catch (const std::logic_error&) {  // std::stoi
    throw std::runtime_error("'" + path + "' is damaged: its summary is no hexadecimal number");
  }
}

std::string difference(const Identity& wanted, const Identity& found, bool as_parts) {
  if (wanted.element != found.element)
    return "elements are " + found.element + " there and " + wanted.element + " here";
  if (wanted.files.size() != found.files.size()) return "it has " + std::to_string(found.files.size()) + " files";
  for (std::size_t i = 0; i < wanted.files.size(); ++i) {
    const Identity::File &mine = wanted.files[i], &other = found.files[i];
    const auto name = [&](const Identity::File& file) {
      return as_parts ? std::filesystem::path(file.path).filename().string() : file.path;
    };
    if (name(mine) != name(other)) return "file " + std::to_string(i + 1) + " is '" + other.path + "' there";
    if (mine.bytes != other.bytes) return "'" + mine.path + "' had " + std::to_string(other.bytes) + " bytes";
    if (!as_parts && mine.modified != other.modified) return "'" + mine.path + "' has been written since";
  }
  if (wanted.count != found.count) return "it has " + std::to_string(found.count) + " elements";
  const auto lacks = [](bool need, bool has) { return need && !has; };
  if (lacks(wanted.needs.sum, found.needs.sum) || lacks(wanted.needs.squares, found.needs.squares) ||
      lacks(wanted.needs.extremes, found.needs.extremes))
    return "its operations were others";
  if (wanted.parts != found.parts) return "it is a part of " + std::to_string(found.parts);
  if (!as_parts && wanted.part != found.part) return "it is part " + std::to_string(found.part);
  return "";
}

}  // namespace coalesce::reduce

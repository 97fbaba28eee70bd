// operations emit DIR      writes the kernels (DIR/kernels.ptx parts), the list of rows and the operands
// operations compare DIR   reads what operations.py measured (DIR/theirs.bin, DIR/sweeps.bin, DIR/ran.txt), prints the
//                          table of instructions in docs/results/agreement.md and writes DIR/differences.txt
// operations sample DIR N  prints every N-th measured vector of each row as the fixture of
// tests/machine/isa/truth_test.cpp
//
// operations.py has the commands.
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "tests/machine/isa/operations.h"
#include "tests/machine/isa/operations_error.h"

namespace coalesce::machine::operations {
namespace {

const char* name_of(Element e) {
  static constexpr const char* names[] = {"none", "pred", "b8", "b16", "b32", "b64", "b128"};
  return names[static_cast<unsigned>(e)];
}

void emit(const std::string& dir) {
  std::ofstream rows(dir + "/rows.txt"), kernels(dir + "/kernels.txt");
  for (const Subject& s : subjects()) {
    rows << s.name << ' ' << s.op->mnemonic << ' ' << (s.approximate() ? "many" : s.sweeps() ? "sweep" : "plain");
    rows << ' ' << int(s.op->sources - (s.immediate >= 0)) << ' ' << int(s.op->results);
    for (int k = 0; k < s.op->sources; ++k) rows << ' ' << name_of(s.op->source[k]);
    if (s.immediate >= 0) rows << "=" << s.immediate;
    for (int k = 0; k < s.op->results; ++k) rows << ' ' << name_of(s.op->result[k]);
    rows << '\n';
    kernels << kernel_text(s);
  }
  for (Element e : {Element::pred, Element::b16, Element::b32, Element::b64, Element::b128})
    for (uint32_t k = 0; k < 4; ++k) {
      std::ofstream file(dir + "/in_" + name_of(e) + "_" + std::to_string(k), std::ios::binary);
      for (uint32_t i = 0; i < kManyVectors; ++i) {
        const Raw v = operand(e, k, i);
        file.write(reinterpret_cast<const char*>(&v), static_cast<std::streamsize>(file_bytes(e)));
      }
    }
}

std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::cerr << "error: cannot read " << path << '\n';
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

uint32_t crc32(const std::string& data) {
  uint32_t c = ~0u;
  for (const char byte : data) {
    c ^= static_cast<uint8_t>(byte);
    for (int k = 0; k < 8; ++k) c = (c >> 1) ^ ((c & 1u) ? 0xedb88320u : 0u);
  }
  return ~c;
}

std::string hex(Raw v) {
  char text[40];
  if (v >> 64)
    std::snprintf(text, sizeof text, "%llx%016llx", static_cast<unsigned long long>(v >> 64),
                  static_cast<unsigned long long>(v));
  else
    std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(v));
  return text;
}

// Subjects in the order of the device's files: those it could run.
std::vector<Subject> ran(const std::string& dir) {
  std::map<std::string, Subject> by_name;
  for (const Subject& s : subjects())
    by_name.emplace(std::string(s.op->mnemonic) + "=" + std::to_string(s.immediate), s);
  std::vector<Subject> list;
  std::istringstream lines(bytes_of_file(dir + "/ran.txt"));
  for (std::string key; std::getline(lines, key);) {
    const auto found = by_name.find(key);
    if (found == by_name.end()) {
      std::cerr << "error: no such row: " << key << '\n';
      std::exit(2);
    }
    list.push_back(found->second);
  }
  return list;
}

Raw take(const std::string& data, size_t at, Element e) {
  Raw v = 0;
  std::memcpy(&v, data.data() + at, file_bytes(e));
  return v;
}

struct Line {
  uint64_t rows = 0, vectors = 0, equal = 0, within = 0, open = 0, differ = 0;
  double worst = 0;
  std::string worst_row;
  std::set<std::string> differing;
};

int compare(const std::string& dir) {
  const std::string theirs = bytes_of_file(dir + "/theirs.bin"), sweeps = bytes_of_file(dir + "/sweeps.bin");
  std::ofstream details(dir + "/differences.txt");
  std::map<std::string, Line> table;
  size_t at = 0, sweep_at = 0;
  for (const Subject& s : ran(dir)) {
    Line& line = table[family_of(*s.op)];
    ++line.rows;
    const uint32_t n = s.vectors();
    int shown = 0;
    size_t second = at + n * file_bytes(s.op->result[0]);
    for (uint32_t i = 0; i < n; ++i) {
      const Outcome o = evaluate(s, i);
      const Raw want[2] = {
          take(theirs, at + i * file_bytes(s.op->result[0]), s.op->result[0]),
          s.op->results == 2 ? take(theirs, second + i * file_bytes(s.op->result[1]), s.op->result[1]) : 0};
      ++line.vectors;
      if (o.out[0] == want[0] && o.out[1] == want[1]) {
        ++line.equal;
        continue;
      }
      const Judgement j = judge(*s.op, o.in, o.out[0], want[0]);
      if (j.machine_error > line.worst) line.worst = j.machine_error, line.worst_row = s.op->mnemonic;
      if (j.within || j.undefined) {
        ++(j.within ? line.within : line.open);
        continue;
      }
      ++line.differ;
      line.differing.insert(std::string(s.op->mnemonic));
      if (shown++ < 12) {
        details << s.op->mnemonic << " (";
        for (int k = 0; k < s.op->sources; ++k) details << (k ? " " : "") << hex(o.in[k]);
        details << ") ours " << hex(o.out[0]) << (s.op->results == 2 ? "," + hex(o.out[1]) : "") << " card "
                << hex(want[0]) << (s.op->results == 2 ? "," + hex(want[1]) : "");
        if (s.approximate()) details << " error ours " << j.machine_error << " card " << j.card_error;
        details << '\n';
      }
    }
    at = s.op->results == 2 ? second + n * file_bytes(s.op->result[1]) : second;
    if (!s.sweeps()) continue;
    for (uint32_t chunk = 0; chunk < 256; ++chunk, sweep_at += 4) {
      std::string ours;
      for (uint32_t i = 0; i < 256; ++i) {
        const Raw v = evaluate(s, chunk * 256 + i, true).out[0];
        ours.append(reinterpret_cast<const char*>(&v), file_bytes(s.op->result[0]));
      }
      uint32_t want;
      std::memcpy(&want, sweeps.data() + sweep_at, 4);
      line.vectors += 256;
      if (crc32(ours) == want) {
        line.equal += 256;
      } else if (s.approximate()) {
        line.within += 256;  // judged by the vectors above
      } else {
        line.differ += 256;
        line.differing.insert(std::string(s.op->mnemonic));
        details << s.op->mnemonic << " sweep: operands " << hex(chunk * 256) << " to " << hex(chunk * 256 + 255)
                << '\n';
      }
    }
  }
  if (at != theirs.size() || sweep_at != sweeps.size()) {
    std::cerr << "error: the files' sizes do not fit the rows\n";
    return 2;
  }
  const auto add = [](Line& sum, const Line& l) {
    sum.rows += l.rows, sum.vectors += l.vectors, sum.equal += l.equal, sum.within += l.within, sum.open += l.open,
        sum.differ += l.differ;
  };
  const auto print = [](const std::string& name, const Line& l) {
    std::printf("| %s | %llu | %llu | %llu | %llu | ", name.c_str(), static_cast<unsigned long long>(l.rows),
                static_cast<unsigned long long>(l.vectors), static_cast<unsigned long long>(l.equal),
                static_cast<unsigned long long>(l.within));
    if (l.worst > 0) std::printf("%.3f", l.worst);
    std::printf(" | %llu | %llu |\n", static_cast<unsigned long long>(l.open),
                static_cast<unsigned long long>(l.differ));
  };
  // Families whose vectors are all bit-equal share one row.
  Line equal, all;
  int families = 0;
  std::printf(
      "| family | rows | vectors | bit-equal | within the bound | largest error / bound | PTX leaves it open | differ "
      "|\n"
      "|---|---:|---:|---:|---:|---:|---:|---:|\n");
  for (const auto& [name, l] : table) {
    add(all, l);
    if (l.equal == l.vectors) {
      add(equal, l);
      ++families;
    } else {
      print(name, l);
    }
  }
  print(std::to_string(families) + " other families", equal);
  print("all", all);
  for (const auto& [name, l] : table)
    for (const std::string& row : l.differing) std::cout << "differs: " << row << '\n';
  return all.differ ? 1 : 0;
}

// A line per row: mnemonic=immediate, then the results of every N-th vector as hexadecimal numbers, two joined by a
// colon. Vector j of a row is number size-of-mnemonic mod N + j N, so that rows do not all sample the same ones.
int sample(const std::string& dir, uint32_t every) {
  const std::string theirs = bytes_of_file(dir + "/theirs.bin");
  size_t at = 0;
  std::cout << "every " << every << '\n';
  for (const Subject& s : ran(dir)) {
    std::cout << s.op->mnemonic << '=' << s.immediate;
    for (uint32_t i = s.op->mnemonic.size() % every; i < kVectors; i += every) {
      size_t from = at;
      for (int k = 0; k < s.op->results; ++k) {
        std::cout << (k ? ':' : ' ') << hex(take(theirs, from + i * file_bytes(s.op->result[k]), s.op->result[k]));
        from += s.vectors() * file_bytes(s.op->result[k]);
      }
    }
    std::cout << '\n';
    for (int k = 0; k < s.op->results; ++k) at += s.vectors() * file_bytes(s.op->result[k]);
  }
  return 0;
}

}  // namespace
}  // namespace coalesce::machine::operations

int main(int argc, char** argv) {
  using namespace coalesce::machine::operations;
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "emit" && argc == 3) return emit(argv[2]), 0;
  if (verb == "compare" && argc == 3) return compare(argv[2]);
  if (verb == "sample" && argc == 4 && std::atoi(argv[3]) > 0)
    return sample(argv[2], static_cast<uint32_t>(std::atoi(argv[3])));
  std::cerr << "usage: operations emit DIR | compare DIR | sample DIR N\n";
  return 2;
}

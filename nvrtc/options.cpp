#include "nvrtc/options.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace coalesce::nvrtc {
namespace {

enum class Form {
  flag,    // stands alone
  truth,   // =true or =false
  value,   // has a value, after = or as the next word
  letter,  // -D: has a value, which may also follow at once
};

// Takes the option's value; false: the value is wrong.
using Take = bool (*)(Options&, const std::string& value);

struct Row {
  const char* name;   // --name; may be null
  const char* brief;  // -brief; may be null
  Form form;
  Take take;
};

bool ignore(Options&, const std::string&) { return true; }
bool never(Options&, const std::string&) { return false; }

template <bool Options::* Member>
bool set(Options& options, const std::string& value) {
  options.*Member = value != "false";
  return true;
}

bool take_architecture(Options& options, const std::string& value) {
  const size_t digits = value.starts_with("compute_") ? 8 : value.starts_with("sm_") ? 3 : 0;
  if (digits == 0) return false;
  char* rest = nullptr;
  const unsigned long number = std::strtoul(value.c_str() + digits, &rest, 10);
  if (number < 50 || number > 200 || (*rest != '\0' && std::strcmp(rest, "a") != 0 && std::strcmp(rest, "f") != 0))
    return false;
  options.architecture = static_cast<unsigned>(number);
  options.machine_code = digits == 3;
  return true;
}

bool take_standard(Options& options, const std::string& value) {
  for (const char* known : {"c++03", "c++11", "c++14", "c++17", "c++20"}) {
    if (value == known) {
      options.standard = value;
      return true;
    }
  }
  return false;
}

bool take_registers(Options& options, const std::string& value) {
  char* rest = nullptr;
  options.registers = static_cast<unsigned>(std::strtoul(value.c_str(), &rest, 10));
  return *rest == '\0' && !value.empty();
}

bool take_fast_math(Options& options, const std::string&) {
  options.fast = options.flush = options.fuse = true;
  options.precise_divide = options.precise_root = false;
  return true;
}

template <char Letter>
bool take_word(Options& options, const std::string& value) {
  options.preprocessor.push_back(std::string{'-', Letter} + value);
  return true;
}

bool take_included(Options& options, const std::string& value) {
  options.included.push_back(value);
  return true;
}

// Options that change neither what a program computes nor what the machine counts are taken and ignored.
constexpr Row kRows[] = {
    {"gpu-architecture", "arch", Form::value, take_architecture},
    {"std", "std", Form::value, take_standard},
    {"define-macro", "D", Form::letter, take_word<'D'>},
    {"undefine-macro", "U", Form::letter, take_word<'U'>},
    {"include-path", "I", Form::letter, take_word<'I'>},
    {"pre-include", "include", Form::value, take_included},
    {"no-source-include", "no-source-include", Form::flag,
     [](Options& o, const std::string&) { return !(o.source_folder = false); }},
    {"generate-line-info", "lineinfo", Form::flag, set<&Options::lines>},
    {"device-debug", "G", Form::flag, set<&Options::debug>},
    {"ftz", "ftz", Form::truth, set<&Options::flush>},
    {"prec-div", "prec-div", Form::truth, set<&Options::precise_divide>},
    {"prec-sqrt", "prec-sqrt", Form::truth, set<&Options::precise_root>},
    {"fmad", "fmad", Form::truth, set<&Options::fuse>},
    {"use_fast_math", "use_fast_math", Form::flag, take_fast_math},
    {"device-as-default-execution-space", "default-device", Form::flag, set<&Options::all_device>},
    {"relocatable-device-code", "rdc", Form::truth, set<&Options::relocatable>},
    {"device-c", "dc", Form::flag, set<&Options::relocatable>},
    {"device-w", "dw", Form::flag, ignore},
    {"disable-warnings", "w", Form::flag, set<&Options::quiet>},
    {"restrict", "restrict", Form::flag, set<&Options::restricted>},
    {"maxrregcount", "maxrregcount", Form::value, take_registers},
    // Formats other than PTX.
    {"dlink-time-opt", "dlto", Form::flag, never},
    {"gen-opt-lto", "gen-opt-lto", Form::flag, never},
    {"ltoir", "ltoir", Form::flag, never},
    {"optix-ir", "optix-ir", Form::flag, never},
    {"extensible-whole-program", "ewp", Form::flag, ignore},
    {"dopt", "dopt", Form::value, ignore},
    {"Ofast-compile", "Ofc", Form::value, ignore},
    {"ptxas-options", "Xptxas", Form::value, ignore},
    {"extra-device-vectorization", "extra-device-vectorization", Form::flag, ignore},
    {"modify-stack-limit", "modify-stack-limit", Form::truth, ignore},
    {"builtin-move-forward", "builtin-move-forward", Form::truth, ignore},
    {"builtin-initializer-list", "builtin-initializer-list", Form::truth, ignore},
    {"device-int128", "device-int128", Form::flag, ignore},
    {"device-float128", "device-float128", Form::flag, ignore},
    {"optimization-info", "opt-info", Form::value, ignore},
    {"display-error-number", "err-no", Form::flag, ignore},
    {"no-display-error-number", "no-err-no", Form::flag, ignore},
    {"diag-error", "diag-error", Form::value, ignore},
    {"diag-suppress", "diag-suppress", Form::value, ignore},
    {"diag-warn", "diag-warn", Form::value, ignore},
    {"brief-diagnostics", "brief-diag", Form::truth, ignore},
    {"time", "time", Form::value, ignore},
    {"split-compile", "split-compile", Form::value, ignore},
    {"minimal", "minimal", Form::flag, ignore},
    {"version-ident", "version-ident", Form::truth, ignore},
    {"jump-table-density", "jtd", Form::value, ignore},
    {"device-stack-protector", "device-stack-protector", Form::truth, ignore},
    {"fdevice-time-trace", "fdevice-time-trace", Form::value, ignore},
    {"pch", "pch", Form::flag, ignore},
    {"create-pch", "create-pch", Form::value, ignore},
    {"use-pch", "use-pch", Form::value, ignore},
    {"pch-dir", "pch-dir", Form::value, ignore},
    {"pch-verbose", "pch-verbose", Form::truth, ignore},
    {"pch-messages", "pch-messages", Form::truth, ignore},
    {"instantiate-templates-in-pch", "instantiate-templates-in-pch", Form::truth, ignore},
    {"no-cache", "no-cache", Form::flag, ignore},
    {"frandom-seed", "frandom-seed", Form::value, ignore},
};

std::string full_name(const Row& row) {
  return std::string("--") + row.name + (row.brief != nullptr ? std::string(" (-") + row.brief + ")" : "");
}

// The row of an option, and the value that stands in the same word; `has_value` says whether one does.
const Row* find_row(std::string_view word, std::string& value, bool& has_value) {
  has_value = false;
  const size_t equals = word.find('=');
  const std::string_view head = word.substr(0, equals);
  const auto named = [](std::string_view text, const char* dashes, const char* name) {
    return name != nullptr && text.starts_with(dashes) && text.substr(std::strlen(dashes)) == name;
  };
  for (const Row& row : kRows) {
    if (named(head, "--", row.name) || named(head, "-", row.brief) ||
        // Programs write --std and -std, --arch and -arch.
        named(head, "--", row.brief)) {
      has_value = equals != std::string_view::npos;
      if (has_value) value = word.substr(equals + 1);
      return &row;
    }
  }
  for (const Row& row : kRows) {
    if (row.form == Form::letter && word.size() > 2 && word[0] == '-' && word[1] == row.brief[0]) {
      has_value = true;
      value = word.substr(std::min(word.find_first_not_of(" =", 2), word.size()));
      return &row;
    }
  }
  return nullptr;
}

}  // namespace

std::string read_options(int count, const char* const* words, Options& options) {
  for (int i = 0; i < count; ++i) {
    if (words == nullptr || words[i] == nullptr) return "option " + std::to_string(i + 1) + " is a null pointer";
    std::string word = words[i];
    word.erase(0, word.find_first_not_of(' '));
    if (word.empty()) continue;
    std::string value;
    bool has_value;
    const Row* row = find_row(word, value, has_value);
    if (row == nullptr) return "unrecognized option " + word + " found";
    if (row->take == never) return "the option " + full_name(*row) + " asks for a format other than PTX";
    const bool wants_value = row->form == Form::value || row->form == Form::letter || row->form == Form::truth;
    if (wants_value && !has_value) {
      // A flag of the same name is as good as true.
      if (row->form == Form::truth && (i + 1 == count || words[i + 1] == nullptr || words[i + 1][0] == '-')) {
        value = "true";
      } else if (i + 1 < count && words[i + 1] != nullptr) {
        value = words[++i];
      } else {
        return "the option " + full_name(*row) + " has no value";
      }
    }
    if (row->form == Form::truth && value != "true" && value != "false")
      return full_name(*row) + " expects true or false";
    if (!row->take(options, value)) return "invalid value for " + full_name(*row);
  }
  return {};
}

}  // namespace coalesce::nvrtc

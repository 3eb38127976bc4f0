// A form is a way to write a set of reports: text, JSON, SARIF … A new form is a row of forms.def, a file with its
// Render function, and that file's name in report/forms/CMakeLists.txt; the command makes its call and its option of
// `run` from the row.
#pragma once

#include <string>
#include <vector>

#include "report/reader/report_set.h"

namespace rdmacheck {

struct FormOptions {
  bool color = false;                // text on a terminal
  std::string title;                 // what was run, or the files' names
  std::vector<std::string> command;  // of `run`; else empty
};

struct Form {
  const char* name;     // of the call `rdmacheck NAME FILE…`
  const char* what;     // one line for --help
  bool run_option;      // `run` has --NAME F
  const char* example;  // arguments of an example that works, after "rdmacheck "
  std::string (*render)(const ReportSet& set, const FormOptions& options);
};

const std::vector<Form>& AllForms();
const Form* FormByName(const std::string& name);  // null: there is none

#define RDMACHECK_FORM(function, name, what, run_option, example) \
  std::string function(const ReportSet& set, const FormOptions& options);
#include "report/forms/forms.def"
#undef RDMACHECK_FORM

}  // namespace rdmacheck

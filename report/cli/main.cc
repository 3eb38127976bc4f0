#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "report/forms/form.h"
#include "report/reader/report_reader.h"

int main(int argc, char** argv) {
  CLI::App app("Runs programs under rdmacheck and reads its reports", "rdmacheck");
  app.require_subcommand(1);
  std::vector<std::string> files;
  std::string out;
  for (const rdmacheck::Form& form : rdmacheck::AllForms()) {
    CLI::App* call = app.add_subcommand(form.name, form.what);
    call->add_option("FILE", files, "JSON reports")->required();
    call->add_option("-o,--output", out, "the file to write; standard output without it");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  rdmacheck::ReportSet set;
  std::string error;
  if (!rdmacheck::ReadReports(files, &set, &error)) {
    fprintf(stderr, "rdmacheck: %s\n", error.c_str());
    return 2;
  }
  const std::string text = rdmacheck::FormByName(app.get_subcommands().front()->get_name())->render(set, {});
  FILE* file = out.empty() ? stdout : fopen(out.c_str(), "we");
  if (file == nullptr || fwrite(text.data(), 1, text.size(), file) != text.size() || fflush(file) != 0) {
    perror(out.c_str());
    return 2;
  }
  return 0;
}

#include "report/forms/form.h"

namespace rdmacheck {

const std::vector<Form>& AllForms() {
  static const std::vector<Form> forms = {
#define RDMACHECK_FORM(function, name, what, run_option, example) {name, what, run_option, example, &function},
#include "report/forms/forms.def"
#undef RDMACHECK_FORM
  };
  return forms;
}

const Form* FormByName(const std::string& name) {
  for (const Form& form : AllForms()) {
    if (form.name == name) return &form;
  }
  return nullptr;
}

}  // namespace rdmacheck

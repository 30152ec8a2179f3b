#include "generator/front/rules.h"

namespace kiln {

void AddValueRules(std::vector<Rule>&) {}
void AddGridRules(std::vector<Rule>&) {}
void AddTextRules(std::vector<Rule>&) {}

}  // namespace kiln

#include "generator/tune/times.h"

#include <fstream>
#include <iomanip>
#include <sstream>

#include "generator/data/sha256.h"
#include "generator/system/write_file.h"

namespace kiln {

std::string Times::KeyOf(const std::vector<std::string>& parts) {
  Sha256 hash;
  for (const std::string& part : parts) hash.AddField(part);
  return hash.Hex().substr(0, 32);
}

std::optional<double> Times::Find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream in(folder_ + "/times/" + key);
  double value = 0;
  if (!(in >> value)) return std::nullopt;
  return value;
}

void Times::Keep(const std::string& key, double value) const {
  if (folder_.empty()) return;
  std::ostringstream text;
  text << std::setprecision(17) << value << "\n";
  // A cache that cannot be written only costs the time to measure again.
  std::string ignored;
  WriteIfChanged(folder_ + "/times/" + key, text.str(), &ignored);
}

}  // namespace kiln

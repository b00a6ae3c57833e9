/// Stands in for the fmt that LAMMPS' headers include and Debian 12 does not ship: declarations, of
/// which nothing is called here.
#ifndef CAROM_LAMMPS_STANDIN_FMT_FORMAT_H
#define CAROM_LAMMPS_STANDIN_FMT_FORMAT_H

#include <string>

namespace fmt {
struct string_view {
	string_view(const char *) {}
	string_view(const std::string &) {}
};
struct format_args {};
template <typename Format, typename... Values> format_args make_args_checked(const Format &, Values &&...) { return {}; }
template <typename Format, typename... Values> std::string format(const Format &text, Values &&...) { return text; }
} // namespace fmt

#endif

# cmake -DFILES=a|b -DHEADER=x.h -DNAMESPACE=n -DFUNCTION=F -DOUTPUT=x.cc -P embed.cmake
#
# Writes text files as a table of string literals, F() of the header: the tool carries its templates,
# so it works from wherever it is copied to. A file's key is its name, without `.in`.
string(REPLACE "|" ";" files "${FILES}")
list(SORT files)

set(text "// Written by cmake/embed.cmake.\n#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n\n")
string(APPEND text "const std::map<std::string, std::string>& ${FUNCTION}() {\n")
string(APPEND text "  static const std::map<std::string, std::string> texts = {\n")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  string(REGEX REPLACE "\\.in$" "" name ${name})
  file(READ ${file} content)
  string(FIND "${content}" ")kiln\"" found)
  if(NOT found EQUAL -1)
    message(FATAL_ERROR "${file} holds `)kiln\"`, which ends its literal")
  endif()
  string(APPEND text "      {\"${name}\", R\"kiln(${content})kiln\"},\n")
endforeach()
string(APPEND text "  };\n  return texts;\n}\n\n}  // namespace ${NAMESPACE}\n")

file(WRITE ${OUTPUT} "${text}")

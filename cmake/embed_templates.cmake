# cmake -DFOLDER=templates -DOUTPUT=x.cc -P embed_templates.cmake
#
# Writes templates/*.in as a table of string literals: the tool carries its templates, so it works
# from wherever it is copied to.
file(GLOB files ${FOLDER}/*.in)
list(SORT files)

set(text "// Written by cmake/embed_templates.cmake.\n#include \"generator/render/template.h\"\n\n")
string(APPEND text "namespace kiln::render {\n\n")
string(APPEND text "const std::map<std::string, std::string>& TemplateTexts() {\n")
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
string(APPEND text "  };\n  return texts;\n}\n\n}  // namespace kiln::render\n")

file(WRITE ${OUTPUT} "${text}")

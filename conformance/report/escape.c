// SPDX-License-Identifier: Apache-2.0
//
// Each format by a table of the characters that mean something in it.
#include "report/escape.h"

#include <string.h>

typedef struct escape_row {
  char character;
  const char *text;
} escape_row;

static const escape_row kXml[] = {
    {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {0, NULL}};

// Characters that begin or end markup, and those that would end the cell.
static const escape_row kMarkdown[] = {
    {'\\', "\\\\"}, {'|', "\\|"}, {'*', "\\*"},  {'_', "\\_"},  {'`', "\\`"},
    {'[', "\\["},   {']', "\\]"}, {'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"},
    {'#', "\\#"},   {'~', "\\~"}, {0, NULL}};

static void put_escaped(FILE *stream, const char *text, const escape_row *rows) {
  for (; *text; ++text) {
    const escape_row *row = rows;
    while (row->text && row->character != *text) ++row;
    if (row->text) {
      fputs(row->text, stream);
    } else {
      fputc((unsigned char)*text < 0x20 ? ' ' : *text, stream);
    }
  }
}

void oc_put_xml(FILE *stream, const char *text) {
  put_escaped(stream, text, kXml);
}

void oc_put_xml_attribute(FILE *stream, const char *name, const char *text) {
  fprintf(stream, " %s=\"", name);
  oc_put_xml(stream, text);
  fputc('"', stream);
}

void oc_put_markdown(FILE *stream, const char *text) {
  put_escaped(stream, text, kMarkdown);
}

// `text` between two `quote`s, each `quote` inside it written as `inner`.
static void put_quoted(FILE *stream, const char *text, char quote, const char *inner) {
  const escape_row rows[] = {{quote, inner}, {0, NULL}};
  fputc(quote, stream);
  put_escaped(stream, text, rows);
  fputc(quote, stream);
}

void oc_put_csv(FILE *stream, const char *text) {
  if (text[strcspn(text, ",\"\r\n")]) {
    put_quoted(stream, text, '"', "\"\"");
  } else {
    fputs(text, stream);
  }
}

static int is_plain(const char *text) {
  return text[0] && strspn(text,
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                           "-+_.,=/:@%") == strlen(text);
}

void oc_put_shell(FILE *stream, const char *text) {
  if (is_plain(text)) {
    fputs(text, stream);
  } else {
    put_quoted(stream, text, '\'', "'\\''");
  }
}

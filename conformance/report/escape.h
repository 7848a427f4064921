// SPDX-License-Identifier: Apache-2.0
//
// Text inside the formats of reports.
#ifndef OC_REPORT_ESCAPE_H_
#define OC_REPORT_ESCAPE_H_

#include <stdio.h>

// For XML and HTML, elements and attributes in double quotes; control characters become spaces.
void oc_put_xml(FILE *stream, const char *text);
void oc_put_xml_attribute(FILE *stream, const char *name, const char *text);  // ' name="text"'

// One field of CSV, RFC 4180: quoted where it has to be.
void oc_put_csv(FILE *stream, const char *text);

// One cell of a table of Markdown, as text: nothing in it is markup.
void oc_put_markdown(FILE *stream, const char *text);

// As one word of a POSIX shell.
void oc_put_shell(FILE *stream, const char *text);

#endif  // OC_REPORT_ESCAPE_H_

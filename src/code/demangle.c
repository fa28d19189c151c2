/*
 * GNU libiberty demangles C++, Rust and D; names of Fortran modules are taken apart here. Very
 * long names are kept as they are: the output of a demangler may be exponential in its input.
 */
#include "code/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

/* Longer names are kept as they are: the demangler's output may be exponential in its input. */
enum { MANGLED_MAX = 16 * 1024, DEMANGLED_MAX = 64 * 1024 };

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* [module][separator][procedure], lower case, as gfortran and the Intel compiler write them */
static bool add_fortran(const char *module, size_t module_length, const char *procedure,
			size_t procedure_length, struct sn_text *out)
{
	if (!module_length || !procedure_length)
		return false;
	for (size_t i = 0; i < module_length; i++)
		if (!is_name_char(module[i]) || isupper((unsigned char)module[i]))
			return false;
	sn_text_add_bytes(out, module, module_length);
	sn_text_add(out, "::");
	sn_text_add_bytes(out, procedure, procedure_length);
	return true;
}

static bool demangle_fortran(const char *name, size_t length, struct sn_text *out)
{
	const char *at;

	if (name[0] == '_' && name[1] == '_' && (at = memmem(name + 2, length - 2, "_MOD_", 5))) {
		const char *procedure = at + 5;
		const char *dot = memchr(procedure, '.', length - (size_t)(procedure - name));
		size_t left = length - (size_t)(procedure - name);
		size_t plain = dot ? (size_t)(dot - procedure) : left;

		if (!add_fortran(name + 2, (size_t)(at - name) - 2, procedure, plain, out))
			return false;
		if (dot)
			sn_text_addf(out, " [clone %.*s]", (int)(left - plain), dot);
		return true;
	}
	if (length > 1 && name[length - 1] == '_' && (at = memmem(name, length, "_mp_", 4)))
		return add_fortran(name, (size_t)(at - name), at + 4,
				   length - 1 - (size_t)(at + 4 - name), out);
	return false;
}

bool sn_demangle(const char *name, struct sn_text *out)
{
	const char *version = strchr(name, '@');
	size_t length = version ? (size_t)(version - name) : strlen(name);
	char *plain, *demangled = NULL;
	bool is_demangled;

	/* every scheme begins with an underscore, but for Intel's Fortran: most names end here */
	if (length < 4 || length > MANGLED_MAX)
		return false;
	if (name[0] != '_')
		return demangle_fortran(name, length, out);
	plain = strndup(name, length);
	if (plain && (plain[1] == 'Z' || plain[1] == 'R' || plain[1] == 'D' || plain[1] == '_' ||
		      !strncmp(plain, "_GLOBAL_", 8)))
		demangled = cplus_demangle(plain, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
	is_demangled = demangled && strlen(demangled) <= DEMANGLED_MAX;
	if (is_demangled)
		sn_text_add(out, demangled);
	free(demangled);
	free(plain);
	return is_demangled || demangle_fortran(name, length, out);
}

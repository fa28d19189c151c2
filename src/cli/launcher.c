/* The words of a launcher. */
#include "cli/launcher.h"

sn_status sn_cli_launcher_read(const char *option, const char *words, wordexp_t *out,
			       struct sn_error *err)
{
	if (wordexp(words, out, WRDE_NOCMD | WRDE_UNDEF) == 0 && out->we_wordc)
		return SN_OK;
	return sn_error_set(err, SN_ERR_USAGE,
			    "--%s takes the words of a launcher, such as 'mpirun -n 4', not '%s'",
			    option, words);
}

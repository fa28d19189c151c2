#include "pandore/compiler/emit.h"

bool sn_pnd_emit_nest(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *loop)
{
	(void)em;
	(void)loop;
	return false;
}

/* Loaded and unloaded by plugins.c. */
#include "burn.h"

__attribute__((noinline)) void plugin_burn(void)
{
	burn(0.004);
	burn_sink += 1;
}

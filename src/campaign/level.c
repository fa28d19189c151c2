/* The command that adds a level, and where its words go. */
#include "campaign/level.h"

#include "experiment/companions.h"

sn_status sn_campaign_level_start(const struct sn_campaign_plan *plan,
				  const struct sn_campaign_configuration *configuration,
				  const char *build_folder, const char *sonde,
				  const char *experiment, const sigset_t *signals,
				  struct sn_arena *arena, struct sn_child *out,
				  struct sn_error *err)
{
	struct sn_command_line line = { 0 };
	sn_status status = sn_campaign_level_command(plan, configuration, build_folder, sonde,
						     experiment, arena, &line, err);

	for (int k = 0; k < SN_COMPANIONS; k++)
		sn_folder_clear(sn_arena_printf(arena, "%s/%s", experiment, sn_companion_names[k]));
	if (status == SN_OK)
		status = sn_child_start(&line, sn_arena_printf(arena, "%s.level.out", experiment),
					sn_arena_printf(arena, "%s.level.err", experiment), signals,
					out, err);
	sn_command_line_free(&line);
	return status;
}

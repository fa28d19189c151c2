/* The list of all commands. A command that is named here has its help, man page and completions. */
#include "cli/command.h"

/* Keep in the order in which 'sonde help' shows them. */
#define SN_COMMANDS(X)                                                                             \
	X(run)                                                                                     \
	X(record)                                                                                  \
	X(collect)                                                                                 \
	X(show)                                                                                    \
	X(report)                                                                                  \
	X(analyze)                                                                                 \
	X(vprof)                                                                                   \
	X(count)                                                                                   \
	X(trace)                                                                                   \
	X(causal)                                                                                  \
	X(decan)                                                                                   \
	X(phases)                                                                                  \
	X(diff)                                                                                    \
	X(check)                                                                                   \
	X(scale)                                                                                   \
	X(campaign_run)                                                                            \
	X(campaign_plan)                                                                           \
	X(campaign_status)                                                                         \
	X(campaign_resume)                                                                         \
	X(campaign_cancel)                                                                         \
	X(scalability)                                                                             \
	X(campaign_job)                                                                            \
	X(campaign_add)                                                                            \
	X(archive)                                                                                 \
	X(export)                                                                                  \
	X(import)                                                                                  \
	X(cqa)                                                                                     \
	X(calibrate)                                                                               \
	X(reduce)                                                                                  \
	X(structure)                                                                               \
	X(pandore_compile)                                                                         \
	X(pandore_predict)                                                                         \
	X(comm)                                                                                    \
	X(lattice)                                                                                 \
	X(search_simulate)                                                                         \
	X(search)                                                                                  \
	X(properties_check)                                                                        \
	X(properties_list)                                                                         \
	X(properties_explain)                                                                      \
	X(properties_eval)                                                                         \
	X(heartbeat_run)                                                                           \
	X(heartbeat_top)                                                                           \
	X(heartbeat_import)                                                                        \
	X(heartbeat_report)                                                                        \
	X(heartbeat_compare)                                                                       \
	X(heartbeat_judge)                                                                         \
	X(list)                                                                                    \
	X(doctor)                                                                                  \
	X(explain)                                                                                 \
	X(help)                                                                                    \
	X(version)                                                                                 \
	X(completion)

#define DECLARE(name) extern const struct sn_command sn_command_##name;
SN_COMMANDS(DECLARE)

#define POINTER(name) &sn_command_##name,
const struct sn_command *const sn_commands[] = { SN_COMMANDS(POINTER) NULL };

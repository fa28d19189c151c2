/** What `sonde heartbeat run` tells the library that inserts heartbeats. */
#ifndef SN_WIRE_INSERT_H
#define SN_WIRE_INSERT_H

/** "COUNT:FOLDER": how many heartbeats all plans (wire/plan.h) in the folder have together. */
#define SN_INSERT_VARIABLE "SONDE_HEARTBEAT_INSERT"

#endif

/**
 * Where sonde's own files lie: libraries that go into targets, sources that are compiled with them.
 */
#ifndef SN_BASE_OWN_FILE_H
#define SN_BASE_OWN_FILE_H

/** The absolute path of a file or folder of sonde's: `built` is its path below the build folder
 * that holds the running command, `installed` its path below sonde's folder of libraries
 * (LIBDIR/sonde), found from the command's own place, so that an installation may be moved as a
 * whole. NULL if it is at neither. The caller frees it. */
char *sn_own_file(const char *built, const char *installed);

#endif

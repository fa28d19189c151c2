/**
 * Where sonde's own files lie: libraries that go into targets, sources that are compiled with them.
 */
#ifndef SN_BASE_OWN_FILE_H
#define SN_BASE_OWN_FILE_H

/** The absolute path of a file or folder of sonde's, found from the running command's own place. So
 * an installation may be moved as a whole. `built` is the path below the build folder that holds
 * the command. `installed` is the path below sonde's folder of libraries (LIBDIR/sonde). NULL if it
 * is at neither. The caller frees it. */
char *sn_own_file(const char *built, const char *installed);
/** The same of a library of src/runtime, by its name. */
char *sn_own_runtime(const char *name);

#endif

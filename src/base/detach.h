/**
 * Processes that go on without the one that started them.
 */
#ifndef SN_BASE_DETACH_H
#define SN_BASE_DETACH_H

/** Closes every descriptor and opens /dev/null in place of the first three, so that nobody who waits for
 *  the end of a pipe waits for this process. */
void sn_detach_descriptors(void);

#endif

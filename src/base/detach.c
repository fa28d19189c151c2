/* What a daemon leaves behind. */
#include "base/detach.h"

#include <fcntl.h>
#include <unistd.h>

void sn_detach_descriptors(void)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	closefrom(3);
}

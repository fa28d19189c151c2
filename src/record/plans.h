/** Plans of copied loops (wire/plan.h) beside the data of a launch, where each process finds them. */
#ifndef SN_RECORD_PLANS_H
#define SN_RECORD_PLANS_H

#include "record/record.h"

sn_status sn_plans_write(const struct sn_record_options *options, const char *folder,
			 struct sn_error *err);
void sn_plans_remove(const struct sn_record_options *options, const char *folder);

#endif

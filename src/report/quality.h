/** The static model's word on one loop. Apart from build.h: the model and the profile both have
 * metrics. */
#ifndef SN_REPORT_QUALITY_H
#define SN_REPORT_QUALITY_H

#include "report/model.h"

struct sn_structure;

/** Whether there is a model of the machine that this runs on; its name goes into the report. */
bool sn_report_has_machine(struct sn_report *report);
/** Adds the quality of the loop of this number, found by its function's and header's address. */
void sn_report_add_loop_quality(struct sn_report *report, uint32_t number,
				struct sn_structure *structure, uint64_t function_link_addr,
				uint64_t header_link_addr);

#endif

/** libotf2, which is loaded when a trace is written: every other command runs without it. */
#ifndef SN_EXCHANGE_OTF2_LIBRARY_H
#define SN_EXCHANGE_OTF2_LIBRARY_H

#include <otf2/otf2.h>

#include "base/error.h"

#define SN_OTF2_FUNCTIONS(X)                                                                       \
	X(Archive_Open)                                                                            \
	X(Archive_Close)                                                                           \
	X(Archive_SetFlushCallbacks)                                                               \
	X(Archive_SetSerialCollectiveCallbacks)                                                    \
	X(Archive_SetCreator)                                                                      \
	X(Archive_SetDescription)                                                                  \
	X(Archive_SetMachineName)                                                                  \
	X(Archive_SetProperty)                                                                     \
	X(Archive_OpenEvtFiles)                                                                    \
	X(Archive_CloseEvtFiles)                                                                   \
	X(Archive_OpenDefFiles)                                                                    \
	X(Archive_CloseDefFiles)                                                                   \
	X(Archive_GetEvtWriter)                                                                    \
	X(Archive_CloseEvtWriter)                                                                  \
	X(Archive_GetDefWriter)                                                                    \
	X(Archive_CloseDefWriter)                                                                  \
	X(Archive_GetGlobalDefWriter)                                                              \
	X(Archive_CloseGlobalDefWriter)                                                            \
	X(DefWriter_WriteClockOffset)                                                              \
	X(EvtWriter_GetNumberOfEvents)                                                             \
	X(EvtWriter_Enter)                                                                         \
	X(EvtWriter_Leave)                                                                         \
	X(EvtWriter_MpiSend)                                                                       \
	X(EvtWriter_MpiIsend)                                                                      \
	X(EvtWriter_MpiIsendComplete)                                                              \
	X(EvtWriter_MpiIrecvRequest)                                                               \
	X(EvtWriter_MpiRecv)                                                                       \
	X(EvtWriter_MpiIrecv)                                                                      \
	X(EvtWriter_MpiCollectiveBegin)                                                            \
	X(EvtWriter_MpiCollectiveEnd)                                                              \
	X(EvtWriter_NonBlockingCollectiveRequest)                                                  \
	X(EvtWriter_NonBlockingCollectiveComplete)                                                 \
	X(GlobalDefWriter_WriteClockProperties)                                                    \
	X(GlobalDefWriter_WriteString)                                                             \
	X(GlobalDefWriter_WriteSystemTreeNode)                                                     \
	X(GlobalDefWriter_WriteSystemTreeNodeDomain)                                               \
	X(GlobalDefWriter_WriteLocationGroup)                                                      \
	X(GlobalDefWriter_WriteLocation)                                                           \
	X(GlobalDefWriter_WriteRegion)                                                             \
	X(GlobalDefWriter_WriteGroup)                                                              \
	X(GlobalDefWriter_WriteComm)                                                               \
	X(Error_RegisterCallback)

struct sn_otf2 {
#define SN_OTF2_MEMBER(name) __typeof__(OTF2_##name) *name;
	SN_OTF2_FUNCTIONS(SN_OTF2_MEMBER)
#undef SN_OTF2_MEMBER
};

/** Its functions; NULL: it is not installed, or of another version (SN_ERR_UNSUPPORTED). */
const struct sn_otf2 *sn_otf2_library(struct sn_error *err);

#endif

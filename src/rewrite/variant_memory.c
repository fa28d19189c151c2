/* Instructions encoded anew, with a register or another address in place of their memory operand. */
#include "rewrite/variant_parts.h"

bool rw_put_request(struct rw_pieces *pieces, const ZydisEncoderRequest *request)
{
	uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
	ZyanUSize length = sizeof(bytes);

	if (!ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(request, bytes, &length)))
		return false;
	rw_put(pieces, bytes, length);
	return true;
}

static bool make_request(const struct rw_action *action, ZydisEncoderRequest *request)
{
	return ZYAN_SUCCESS(ZydisEncoderDecodedInstructionToEncoderRequest(
		&action->insn, action->operands, action->insn.operand_count_visible, request));
}

bool rw_put_with_register(struct rw_pieces *pieces, const struct rw_action *action,
			  ZydisRegister reg)
{
	ZydisEncoderRequest request;

	if (!make_request(action, &request))
		return false;
	request.prefixes = 0;
	request.evex.broadcast = ZYDIS_BROADCAST_MODE_INVALID;
	request.operands[action->memory] =
		(ZydisEncoderOperand){ .type = ZYDIS_OPERAND_TYPE_REGISTER, .reg.value = reg };
	return rw_put_request(pieces, &request);
}

bool rw_put_with_address(struct rw_pieces *pieces, const struct rw_action *action,
			 ZydisRegister base, ZydisRegister index, int64_t displacement)
{
	ZydisEncoderRequest request;
	ZydisEncoderOperand *operand;

	if (!make_request(action, &request))
		return false;
	request.prefixes = 0;
	operand = &request.operands[action->memory];
	operand->mem.base = base;
	operand->mem.index = index;
	operand->mem.scale = index == ZYDIS_REGISTER_NONE ? 0 : 1;
	operand->mem.displacement = displacement;
	return rw_put_request(pieces, &request);
}

import { durationIn, RULES } from '@plainpath/domain'
import { getProblemKind, Problem } from '@plainpath/http'
import type { WithdrawRefusal } from './withdraw-message.ts'

/**
 * Creates the problem for a repeated message.
 *
 * @param earlierId the id of the earlier message with the same content
 */
export const createDuplicateMessageProblem = (earlierId: string): Problem =>
  new Problem('duplicate-message', {
    detail: `Message ${earlierId} has the same content and was sent within the last ${durationIn('hour', RULES.duplicateMessageMs)}. This request sent nothing.`,
    extensions: { first: earlierId },
  })

/** Creates the problem for a message that cannot be withdrawn, because staff received it or are about to. */
export const createNotWithdrawnProblem = (refusal: Exclude<WithdrawRefusal, 'not-found'>): Problem =>
  new Problem(refusal === 'delivered' ? 'already-delivered' : 'message-being-delivered')

/** Creates the problem for a message that was withdrawn and erased, but that staff may have (`Withdrawal`). */
export function createMayBeDeliveredProblem(id: string): Problem {
  const { meaning, remedy } = getProblemKind('message-may-be-delivered')
  return new Problem('message-may-be-delivered', { detail: `${meaning} ${remedy} The id is ${id}.` })
}

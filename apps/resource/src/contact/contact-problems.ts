import { durationIn, RULES } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import type { WithdrawRefusal } from './withdraw-message.ts'

/** Creates the problem of a repeated message. @param first the id of the message with the same content */
export const duplicateMessage = (first: string): Problem =>
  new Problem('duplicate-message', {
    detail: `Message ${first} has the same content and was sent within the last ${durationIn('hour', RULES.duplicateMessageMs)}. It was not sent again.`,
    extensions: { first },
  })

export const notWithdrawn = (refusal: Exclude<WithdrawRefusal, 'not-found'>): Problem =>
  new Problem(refusal === 'delivered' ? 'already-delivered' : 'message-being-delivered')

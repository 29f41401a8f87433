import { durationIn, RULES } from '@plainpath/domain'

/** The problems of messages to our staff. `ProblemKind` in `problems.ts` describes the members. */
export const CONTACT_PROBLEMS = {
  'already-delivered': {
    status: 409,
    title: 'The message has been delivered',
    meaning:
      'Our staff have received the message by e-mail, so it can no longer be withdrawn. Nothing was changed.',
    remedy: `The person who wrote the message can ask our staff to erase it, in another message or in a reply to an e-mail from our staff. The person must name the id of the message. Staff then erase its text, the person's address and the reasons for seeing an attorney, and delete the e-mail from their mailbox by hand. If nobody asks, this service erases the same data ${durationIn('day', RULES.deliveredMessageMs)} after delivery, and the mailbox of our staff keeps its copy until they delete it. The id, topic, guide, state and times of the message are kept. The answer still comes to the person by e-mail.`,
  },
  'message-being-delivered': {
    status: 409,
    title: 'The message is being delivered',
    meaning: 'The message is being sent to our staff at this moment. Nothing was changed.',
    remedy:
      'Try again a little later. If this delivery fails, you can still withdraw the message, but our staff may have it then.',
  },
  'message-may-be-delivered': {
    status: 409,
    title: 'The message is erased, but our staff may have it',
    meaning:
      'We erased the message and will not send it again. Before that, we tried to send it, so our staff may have received it by e-mail.',
    remedy:
      'Tell the person who wrote the message. The person can ask our staff to delete the e-mail from their mailbox, in another message or in a reply to an e-mail from our staff. The person must name the id of the message.',
  },
  'message-withdrawn': {
    status: 409,
    title: 'The message with this Idempotency-Key was withdrawn or erased',
    meaning:
      'This Idempotency-Key was used for a message that has since been withdrawn or erased. Nothing was sent.',
    remedy: 'To send the message anyway, ask the person first, then send it with a new Idempotency-Key.',
  },
  'duplicate-message': {
    status: 409,
    title: 'The same message was sent before',
    meaning: `We received the same message within the last ${durationIn('hour', RULES.duplicateMessageMs)}, and it was not withdrawn. This request sent nothing.`,
    remedy:
      'You do not need to do anything: we have the message. To say something else, send a different text. To send the same text again, withdraw the first message, or send the text with a new Idempotency-Key.',
  },
  'idempotency-in-progress': {
    status: 409,
    title: 'A request with this Idempotency-Key is in progress',
    meaning: 'The first request with this Idempotency-Key has not been completed yet.',
    remedy: 'Wait a second and send the same request again.',
  },
  'idempotency-key-reused': {
    status: 422,
    title: 'The Idempotency-Key was used for another request',
    meaning: `This Idempotency-Key was used with a different body within the last ${durationIn('hour', RULES.idempotencyMs)}. Nothing was sent.`,
    remedy: 'Send each new message with a new Idempotency-Key.',
  },
} as const

import { durationIn, RULES } from '@plainpath/domain'

/** Why a message is not sent, or not withdrawn. */
export const CONTACT_PROBLEMS = {
  'already-delivered': {
    status: 409,
    title: 'The message was delivered already',
    meaning:
      'The mail with the message has reached our staff. Only a message that was not delivered can be withdrawn.',
    remedy: `The person who wrote can ask our staff to erase the message: by another message, or by an answer to their mail, that names its id. They then erase its text, its address and its reasons to see a lawyer from this service, and delete the mail from their mailbox by hand. If nobody asks, this service erases them ${durationIn('day', RULES.deliveredMessageMs)} after delivery, and the mailbox of our staff keeps its copy until they delete it. The id, topic, guide, state and times of the message stay.`,
  },
  'message-being-delivered': {
    status: 409,
    title: 'The message is being delivered',
    meaning: 'A mail server is being handed the message at this moment. Nothing was done.',
    remedy: 'Try again a little later: if the mail server did not take the message, it is withdrawn then.',
  },
  'message-withdrawn': {
    status: 409,
    title: 'The message was withdrawn',
    meaning:
      'This Idempotency-Key was used for a message that was withdrawn or erased since. Nothing was sent.',
    remedy: 'To send the message after all, ask the person, then send it with a new Idempotency-Key.',
  },
  'duplicate-message': {
    status: 409,
    title: 'The same message was sent before',
    meaning: `The same message came within the last ${durationIn('hour', RULES.duplicateMessageMs)} and was not withdrawn. Nothing was sent again.`,
    remedy:
      'You do not need to do anything: we have the message. To say something else, write another text. To send the same text again, withdraw the first message before, or send an Idempotency-Key with it.',
  },
  'idempotency-in-progress': {
    status: 409,
    title: 'A request with this key is under way',
    meaning: 'The first request with this Idempotency-Key is not answered yet.',
    remedy: 'Wait a second and send the same request again.',
  },
  'idempotency-key-reused': {
    status: 422,
    title: 'The key was used for another request',
    meaning: `This Idempotency-Key came with another body within ${durationIn('hour', RULES.idempotencyMs)}. Nothing was done.`,
    remedy: 'Send each new request with a new key.',
  },
} as const

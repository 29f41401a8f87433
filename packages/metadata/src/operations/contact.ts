import {
  ContactId,
  ContactReceived,
  ContactRequest,
  ContactState,
  durationIn,
  durationInWords,
  EMERGENCY_LINES,
  RULES,
} from '@plainpath/domain'
import { z } from 'zod'
import { defineOperation } from './operation.ts'

const EXAMPLE_ID = '6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10'
const EXAMPLE_HELD_UNTIL = '2026-11-20T12:10:00.000Z'
const ACCESS = { scopes: ['contact:write'] } as const
const Params = z.object({ id: ContactId })

const Headers = z.object({
  'Idempotency-Key': z
    .string()
    .regex(new RegExp(`^[!-~]{1,${RULES.idempotencyKeyCharacters}}$`))
    .optional()
    .meta({
      description:
        `Of your choice, another one for each message: 1 to ${RULES.idempotencyKeyCharacters} printable characters ` +
        `without blanks, good for ${durationIn('hour', RULES.idempotencyMs)}.`,
    }),
})

export const sendContactMessage = defineOperation({
  method: 'post',
  path: '/api/contact',
  operationId: 'sendContactMessage',
  tag: 'Contact',
  summary: 'Send a message to the people behind Plainpath',
  description:
    'For a person who verified their e-mail address with the agent: answers go to that address, and a receipt too. ' +
    'Ask the person before you send. The message waits until `heldUntil` before it goes to staff; with an urgent ' +
    `hand-off trigger ${durationInWords('minute', RULES.urgentHoldMs)} at most. Until then it can be withdrawn, by DELETE ` +
    'or by the link in the receipt. Show `reply` to the person: when they can expect an answer, and where help is that ' +
    'cannot wait. With `Idempotency-Key` a repeated request sends nothing again: the same answer comes, 409 while the ' +
    'first is under way, 422 for another body, 409 `message-withdrawn` once the message was withdrawn. Without a key, ' +
    `the same message within ${durationIn('hour', RULES.duplicateMessageMs)} is 409 \`duplicate-message\`, which names the first one.`,
  access: ACCESS,
  request: { body: ContactRequest },
  requestHeaders: Headers,
  bodyExamples: {
    question: () => ({
      topic: 'question',
      message: 'My work permit ends in March. When do I renew it?',
      guideSlug: 'work-permit',
    }),
    handOff: () => ({
      topic: 'attorney',
      message: 'My brother was taken by ICE this morning. Whom can we call?',
      handOff: { triggers: ['detention-ice'] },
    }),
  },
  responses: { 202: ContactReceived },
  outcomes: {
    202: {
      description: 'Received. It is delivered by mail when the hold ends.',
      example: () => ({
        id: EXAMPLE_ID,
        status: 'received',
        heldUntil: EXAMPLE_HELD_UNTIL,
        reply: {
          expected: 'People read every message. They answer by e-mail.',
          ifYouCannotWait: 'Do not wait for our answer if somebody is in danger. Get help now:',
          findHelp: [EMERGENCY_LINES.danger, EMERGENCY_LINES.court],
        },
      }),
    },
  },
})

export const getContactMessage = defineOperation({
  method: 'get',
  path: '/api/contact/{id}',
  operationId: 'getContactMessage',
  tag: 'Contact',
  summary: 'See what became of a message',
  description: 'Only for the registration that sent it; for any other it is 404.',
  access: ACCESS,
  request: { params: Params },
  responses: { 200: ContactState },
  outcomes: {
    200: {
      description: 'Whether it was delivered or erased.',
      example: () => ({ id: EXAMPLE_ID, status: 'delivered', heldUntil: EXAMPLE_HELD_UNTIL }),
    },
  },
})

export const deleteContactMessage = defineOperation({
  method: 'delete',
  path: '/api/contact/{id}',
  operationId: 'deleteContactMessage',
  tag: 'Contact',
  summary: 'Withdraw a message before it is delivered',
  description:
    'It is erased at once, and does not go to staff. Until `heldUntil` this always works. A message that was delivered ' +
    'cannot be withdrawn: 409 `already-delivered`, which says what can still be done, and by whom.',
  access: ACCESS,
  request: { params: Params },
  responses: { 204: null },
  outcomes: { 204: { description: 'Erased.' } },
})

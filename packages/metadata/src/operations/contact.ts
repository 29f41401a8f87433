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
const MessageParams = z.object({ id: ContactId })

const MessageHeaders = z.object({
  'Idempotency-Key': z
    .string()
    .regex(new RegExp(`^[!-~]{1,${RULES.idempotencyKeyCharacters}}$`))
    .optional()
    .meta({
      param: {
        description:
          `A new key of your choice for each message, valid for ${durationIn('hour', RULES.idempotencyMs)}: printable ASCII ` +
          'without spaces.',
      },
    }),
})

export const sendContactMessage = defineOperation({
  method: 'post',
  path: '/api/contact',
  operationId: 'sendContactMessage',
  tag: 'Contact',
  summary: 'Send a message for a person to the people behind Plainpath',
  description:
    'For a person who confirmed the agent (`POST /agent/claim`): the reply and a receipt go to their address. Ask the person ' +
    'before you send, and show them `reply`. Staff get the message at `heldUntil`, with an urgent trigger within ' +
    `${durationInWords('minute', RULES.urgentHoldMs)}. Until then it can be withdrawn, with DELETE or by the link in the ` +
    'receipt.\n\n' +
    'With `Idempotency-Key`, a repeated request sends nothing and gets the same response; 409 while the first is in ' +
    'progress, 422 for another body, 409 `message-withdrawn` after a withdrawal. Without a key, the same message within ' +
    `${durationIn('hour', RULES.duplicateMessageMs)} is 409 \`duplicate-message\`, which names the first.`,
  access: ACCESS,
  request: { body: ContactRequest },
  requestHeaders: MessageHeaders,
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
  responseDocs: {
    202: {
      description: 'Received. It goes to staff by e-mail at `heldUntil`.',
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
  summary: 'Get the status of a message',
  description: 'Only the registration that sent the message can read it; any other gets 404.',
  access: ACCESS,
  request: { params: MessageParams },
  responses: { 200: ContactState },
  responseDocs: {
    200: {
      description: '`received` until it goes to staff, `delivered`, or `erased`.',
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
    'Erases the message. This always works until `heldUntil`. After delivery: 409 `already-delivered`, whose `detail` says ' +
    'what can still be done.',
  access: ACCESS,
  request: { params: MessageParams },
  responses: { 204: null },
  responseDocs: { 204: { description: 'Erased.' } },
})

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
          'A key that you choose, a new one for each message: printable ASCII without spaces. A repeated request is ' +
          `recognised by its key for ${durationIn('hour', RULES.idempotencyMs)}.`,
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
    'For a person who confirmed the agent (`POST /api/agent/claim`): the reply and a receipt go to their address. Ask the ' +
    'person before you send, and show them `reply`. Staff get the message at `heldUntil`. If it has an urgent trigger, ' +
    `that is within ${durationInWords('minute', RULES.urgentHoldMs)}. Until then it can be withdrawn, with DELETE or by the ` +
    'link in the receipt.\n\n' +
    'If you repeat a request with the same `Idempotency-Key`, nothing is sent and you get the same response. You get 409 ' +
    '`idempotency-in-progress` while the first request is in progress, 422 `idempotency-key-reused` if the body differs, ' +
    'and 409 `message-withdrawn` if the message was withdrawn or erased. If you send the same message again within ' +
    `${durationIn('hour', RULES.duplicateMessageMs)} without a key, you get 409 \`duplicate-message\`. Its member \`first\` is ` +
    'the id of the earlier message.',
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
  description:
    'Only the client that sent the message can read its status, and only under the confirmation with which it sent the ' +
    'message. Any other request gets 404.',
  access: ACCESS,
  request: { params: MessageParams },
  responses: { 200: ContactState },
  responseDocs: {
    200: {
      description:
        'The status: `received` until the message goes to staff, then `delivered`. `erased` if the message was withdrawn, ' +
        'or its text was deleted later.',
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
    'Erases the message. This always works until `heldUntil`. While the message is being delivered, you get 409 ' +
    '`message-being-delivered`, and after that 409 `already-delivered`. If a delivery failed before, the message is erased, ' +
    'but staff may have it: you get 409 `message-may-be-delivered`. `detail` says what can still be done.',
  access: ACCESS,
  request: { params: MessageParams },
  responses: { 204: null },
  responseDocs: { 204: { description: 'Erased.' } },
})

import {
  ContactId,
  ContactReceived,
  ContactRequest,
  ContactState,
  durationIn,
  RULES,
} from '@plainpath/domain'
import { z } from 'zod'
import { defineOperation } from './operation.ts'

const EXAMPLE_ID = '6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10'
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
    'Ask the person before you send. With `Idempotency-Key` a repeated request sends nothing again: the same answer ' +
    'comes, 409 while the first is under way, 422 for another body.',
  access: ACCESS,
  request: { body: ContactRequest },
  requestHeaders: Headers,
  bodyExamples: {
    question: () => ({
      topic: 'question',
      message: 'My work permit ends in March. When do I renew it?',
      guideSlug: 'work-permit',
    }),
  },
  responses: { 202: ContactReceived },
  outcomes: {
    202: {
      description: 'Received. It is delivered by mail.',
      example: () => ({ id: EXAMPLE_ID, status: 'received' }),
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
      example: () => ({ id: EXAMPLE_ID, status: 'delivered' }),
    },
  },
})

export const deleteContactMessage = defineOperation({
  method: 'delete',
  path: '/api/contact/{id}',
  operationId: 'deleteContactMessage',
  tag: 'Contact',
  summary: 'Take a message back before it is delivered',
  description: 'Its text is erased at once. A message that was delivered cannot be taken back: 409.',
  access: ACCESS,
  request: { params: Params },
  responses: { 204: null },
  outcomes: { 204: { description: 'Erased.' } },
})

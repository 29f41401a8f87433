import { generateHashKey, parseHashKey } from '@plainpath/sealing'
import { expect, test } from 'vitest'
import { createRequestStates, type FormCall } from './request-state.ts'

const START = new Date('2026-11-23T12:00:00Z')
const secondsAfterStart = (seconds: number) => new Date(START.getTime() + seconds * 1000)
const hashKey = parseHashKey(generateHashKey())
const createStates = (now: Date, key = hashKey) => createRequestStates({ hashKey: key, now: () => now })

const CALL: FormCall = {
  address: 'https://plainpath.example/mcp',
  caller: { clientId: 'agt_one', registrationId: 'reg_one' },
  tool: 'answer_question',
  arguments: { question: 'When do I renew?', facts: { smuggling: false, 'long-absence': false } },
}
const ASKED_TRIGGERS = ['long-absence', 'public-charge']
const STATE = createStates(START).write(ASKED_TRIGGERS, CALL)
// A state is a body and a MAC, with a dot between them.
const [BODY = '', MAC = ''] = STATE.split('.')
/** Creates a state with another body and the MAC of `STATE`. */
const replaceBody = (body: object) => `${Buffer.from(JSON.stringify(body)).toString('base64url')}.${MAC}`

test('reads a state for ten minutes, on any instance and with arguments in any order', () => {
  const reorderedCall = {
    ...CALL,
    arguments: { facts: { 'long-absence': false, smuggling: false }, question: 'When do I renew?' },
  }
  for (const now of [START, secondsAfterStart(599)])
    expect(createStates(now).read(STATE, reorderedCall)).toEqual(ASKED_TRIGGERS)
  expect(() => createStates(secondsAfterStart(600)).read(STATE, CALL)).toThrow('expired')
})

test.for<[string, Partial<FormCall>]>([
  ['another caller', { caller: { clientId: 'agt_two', registrationId: 'reg_one' } }],
  ['another registration', { caller: { clientId: 'agt_one', registrationId: 'reg_two' } }],
  ['no caller', { caller: undefined }],
  ['another address', { address: 'https://plainpath.example/api/mcp' }],
  ['another tool', { tool: 'get_guide' }],
  ['another question', { arguments: { question: 'When do I renew?!' } }],
  ['fewer facts', { arguments: { question: 'When do I renew?', facts: { smuggling: false } } }],
  ['no arguments', { arguments: undefined }],
])('rejects a state for %s', ([, change]) => {
  expect(() => createStates(START).read(STATE, { ...CALL, ...change })).toThrow('not authentic')
})

test.for<[string, string]>([
  ['no content', ''],
  ['no MAC', BODY],
  ['an empty MAC', `${BODY}.`],
  ['a third part', `${STATE}.`],
  ['another MAC', `${BODY}.${'A'.repeat(43)}`],
  ['padding', `${STATE}=`],
  // The expiry is in 2100.
  ['a later expiry', replaceBody({ expires: 4_102_444_800, asked: ASKED_TRIGGERS })],
  ['other questions', replaceBody({ expires: START.getTime() / 1000 + 600, asked: ['abuse-victim'] })],
])('rejects a state with %s', ([, state]) => {
  expect(() => createStates(START).read(state, CALL)).toThrow('not authentic')
})

test('rejects a state that was written with another key', () => {
  expect(() => createStates(START, parseHashKey(generateHashKey())).read(STATE, CALL)).toThrow(
    'not authentic',
  )
})

test('puts only the expiry and the triggers into a state', () => {
  expect(Buffer.from(BODY, 'base64url').toString()).toBe(
    JSON.stringify({ expires: START.getTime() / 1000 + 600, asked: ASKED_TRIGGERS }),
  )
})

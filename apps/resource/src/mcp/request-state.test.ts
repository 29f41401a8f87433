import { newHashKey, parseHashKey } from '@plainpath/sealing'
import { expect, test } from 'vitest'
import { createRequestStates, type FormCall } from './request-state.ts'

const START = new Date('2026-11-23T12:00:00Z')
const later = (seconds: number) => new Date(START.getTime() + seconds * 1000)
const hashKey = parseHashKey(newHashKey())
const at = (now: Date, key = hashKey) => createRequestStates({ hashKey: key, now: () => now })

const CALL: FormCall = {
  address: 'https://plainpath.example/mcp',
  caller: { clientId: 'agt_one', registrationId: 'reg_one' },
  tool: 'answer_question',
  arguments: { question: 'When do I renew?', facts: { smuggling: false, 'long-absence': false } },
}
const ASKED = ['long-absence', 'public-charge']
const STATE = at(START).write(ASKED, CALL)
const [BODY = '', MAC = ''] = STATE.split('.')
const withBody = (body: object) => `${Buffer.from(JSON.stringify(body)).toString('base64url')}.${MAC}`

test('a state is read for ten minutes, at any instance, whatever the order of the arguments', () => {
  const reordered = {
    ...CALL,
    arguments: { facts: { 'long-absence': false, smuggling: false }, question: 'When do I renew?' },
  }
  for (const now of [START, later(599)]) expect(at(now).read(STATE, reordered)).toEqual(ASKED)
  expect(() => at(later(600)).read(STATE, CALL)).toThrow('expired')
})

test.for<[string, Partial<FormCall>]>([
  ['another caller', { caller: { clientId: 'agt_two', registrationId: 'reg_one' } }],
  ['another confirmation', { caller: { clientId: 'agt_one', registrationId: 'reg_two' } }],
  ['no caller', { caller: undefined }],
  ['another address', { address: 'https://plainpath.example/api/mcp' }],
  ['another tool', { tool: 'get_guide' }],
  ['another question', { arguments: { question: 'When do I renew?!' } }],
  ['fewer facts', { arguments: { question: 'When do I renew?', facts: { smuggling: false } } }],
  ['no arguments', { arguments: undefined }],
])('a state is refused for %s', ([, other]) => {
  expect(() => at(START).read(STATE, { ...CALL, ...other })).toThrow('not authentic')
})

test.for<[string, string]>([
  ['nothing', ''],
  ['no MAC', BODY],
  ['an empty MAC', `${BODY}.`],
  ['a third part', `${STATE}.`],
  ['another MAC', `${BODY}.${'A'.repeat(43)}`],
  ['padding', `${STATE}=`],
  ['more time', withBody({ expires: 4_102_444_800, asked: ASKED })],
  ['other questions', withBody({ expires: START.getTime() / 1000 + 600, asked: ['abuse-victim'] })],
])('a state with %s is refused', ([, state]) => {
  expect(() => at(START).read(state, CALL)).toThrow('not authentic')
})

test('a state of another key is refused', () => {
  expect(() => at(START, parseHashKey(newHashKey())).read(STATE, CALL)).toThrow('not authentic')
})

test('a state shows neither the question nor the caller', () => {
  expect(Buffer.from(BODY, 'base64url').toString()).toBe(
    JSON.stringify({ expires: START.getTime() / 1000 + 600, asked: ASKED }),
  )
})

import { TriggerId } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { createCheckForm, readFormFacts } from './check-form.ts'

const ASK_PAGE = 'https://plainpath.example/ask'
const checks = (triggers: readonly string[]) => ({
  check: triggers.map((trigger) => ({ trigger, ask: `About ${trigger}?` })),
})

test('a form has the first three questions that it may ask, in their order', () => {
  const form = createCheckForm(
    checks([
      'abuse-victim',
      'public-charge',
      'criminal-history',
      'long-absence',
      'denial-or-appeal',
      'missed-deadline',
    ]),
    ASK_PAGE,
  )
  expect(form?.askedTriggers).toEqual(['public-charge', 'long-absence', 'denial-or-appeal'])
  const question = (trigger: string) => ({
    type: 'string',
    title: `About ${trigger}?`,
    enum: ['Yes', 'No', 'I do not know'],
  })
  expect(Object.entries(form?.params.requestedSchema.properties ?? {})).toEqual(
    ['public-charge', 'long-absence', 'denial-or-appeal'].map((trigger) => [trigger, question(trigger)]),
  )
  expect(form?.params.message).toContain(ASK_PAGE)
  expect(form?.params.requestedSchema).not.toHaveProperty('required')
})

const NEVER = TriggerId.options.filter(
  (id) =>
    ![
      'missed-deadline',
      'aging-out-child',
      'denial-or-appeal',
      'relationship-changed',
      'long-absence',
      'public-charge',
    ].includes(id),
)

test.for(NEVER)('no form asks about %s', (trigger) => {
  expect(createCheckForm(checks([trigger]), ASK_PAGE)).toBeUndefined()
  const form = createCheckForm(checks([trigger, 'long-absence']), ASK_PAGE)
  expect(form?.askedTriggers).toEqual(['long-absence'])
  expect(JSON.stringify(form?.params)).not.toContain(trigger)
})

test('an answer without questions needs no form', () => {
  expect(createCheckForm(checks([]), ASK_PAGE)).toBeUndefined()
})

const ASKED = ['long-absence', 'public-charge', 'denial-or-appeal']

test('Yes and No are facts; anything else is none', () => {
  const content = { 'long-absence': 'Yes', 'public-charge': 'No', 'denial-or-appeal': 'I do not know' }
  expect(readFormFacts({ action: 'accept', content }, ASKED)).toEqual({
    'long-absence': true,
    'public-charge': false,
  })
})

test.for<[string, unknown]>([
  ['none', undefined],
  ['a form that was declined', { action: 'decline' }],
  ['a form that was declined, with content', { action: 'decline', content: { 'long-absence': 'Yes' } }],
  ['a form that was closed', { action: 'cancel' }],
  ['a form that was left empty', { action: 'accept', content: {} }],
  ['a form without content', { action: 'accept' }],
  ['content that is a list', { action: 'accept', content: ['Yes'] }],
  ['other values', { action: 'accept', content: { 'long-absence': true, 'public-charge': 'yes' } }],
  ['questions that were not asked', { action: 'accept', content: { 'abuse-victim': 'Yes', none: 'Yes' } }],
  ['text', 'Yes'],
])('%s gives no facts', ([, response]) => {
  expect(readFormFacts(response, ASKED)).toEqual({})
})

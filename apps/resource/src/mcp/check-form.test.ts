import { TriggerId } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { createCheckForm, readFormFacts } from './check-form.ts'

const ASK_PAGE = 'https://plainpath.example/ask'
const createAnswer = (triggers: readonly string[]) => ({
  check: triggers.map((trigger) => ({ trigger, ask: `About ${trigger}?` })),
})

test('creates a form with the first three questions that a form may ask, in order', () => {
  const form = createCheckForm(
    createAnswer([
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
  const createExpectedProperty = (trigger: string) => ({
    type: 'string',
    title: `About ${trigger}?`,
    enum: ['Yes', 'No', 'I do not know'],
  })
  expect(Object.entries(form?.params.requestedSchema.properties ?? {})).toEqual(
    ['public-charge', 'long-absence', 'denial-or-appeal'].map((trigger) => [
      trigger,
      createExpectedProperty(trigger),
    ]),
  )
  expect(form?.params.message).toContain(ASK_PAGE)
  expect(form?.params.requestedSchema).not.toHaveProperty('required')
})

/** All triggers except the six that a form may ask about. `mayAskInForm` says why the others are excluded. */
const EXCLUDED_TRIGGERS = TriggerId.options.filter(
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

test.for(EXCLUDED_TRIGGERS)('does not ask about %s', (trigger) => {
  expect(createCheckForm(createAnswer([trigger]), ASK_PAGE)).toBeUndefined()
  const form = createCheckForm(createAnswer([trigger, 'long-absence']), ASK_PAGE)
  expect(form?.askedTriggers).toEqual(['long-absence'])
  expect(JSON.stringify(form?.params)).not.toContain(trigger)
})

test('creates no form for an answer without questions', () => {
  expect(createCheckForm(createAnswer([]), ASK_PAGE)).toBeUndefined()
})

const ASKED_TRIGGERS = ['long-absence', 'public-charge', 'denial-or-appeal']

test('reads Yes and No as facts, and ignores "I do not know"', () => {
  const content = { 'long-absence': 'Yes', 'public-charge': 'No', 'denial-or-appeal': 'I do not know' }
  expect(readFormFacts({ action: 'accept', content }, ASKED_TRIGGERS)).toEqual({
    'long-absence': true,
    'public-charge': false,
  })
})

test.for<[string, unknown]>([
  ['no response', undefined],
  ['a form that was declined', { action: 'decline' }],
  ['a form that was declined, with content', { action: 'decline', content: { 'long-absence': 'Yes' } }],
  ['a form that was closed', { action: 'cancel' }],
  ['a form that was left empty', { action: 'accept', content: {} }],
  ['a form without content', { action: 'accept' }],
  ['content that is a list', { action: 'accept', content: ['Yes'] }],
  ['other values', { action: 'accept', content: { 'long-absence': true, 'public-charge': 'yes' } }],
  ['questions that were not asked', { action: 'accept', content: { 'abuse-victim': 'Yes', none: 'Yes' } }],
  ['text', 'Yes'],
])('reads no facts from %s', ([, response]) => {
  expect(readFormFacts(response, ASKED_TRIGGERS)).toEqual({})
})

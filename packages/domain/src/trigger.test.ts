import { expect, test } from 'vitest'
import { HandOff } from './contact.ts'
import { findHighestUrgency, findUrgency, mayAskInForm, orderTriggers, TriggerId } from './trigger.ts'

test('TriggerId lists seven urgent triggers, then seven of high urgency, then 13 of normal urgency', () => {
  const urgencies = TriggerId.options.map(findUrgency)
  expect(urgencies).toEqual([
    ...Array.from({ length: 7 }, () => 'urgent'),
    ...Array.from({ length: 7 }, () => 'high'),
    ...Array.from({ length: 13 }, () => 'normal'),
  ])
})

test('orderTriggers and HandOff order triggers by urgency, and remove duplicates', () => {
  const triggers: TriggerId[] = ['smuggling', 'asylum-fear', 'missed-hearing', 'smuggling']
  expect(orderTriggers(triggers)).toEqual(['missed-hearing', 'asylum-fear', 'smuggling'])
  expect(HandOff.parse({ triggers })).toEqual({
    triggers: ['missed-hearing', 'asylum-fear', 'smuggling'],
  })
})

test.for([
  [[], undefined],
  [['smuggling'], 'normal'],
  [['smuggling', 'asylum-fear'], 'high'],
  [['asylum-fear', 'missed-hearing'], 'urgent'],
  [['of-another-release'], 'normal'],
] as const)('findHighestUrgency finds that the highest urgency of %j is %s', ([triggers, urgency]) => {
  expect(findHighestUrgency(triggers)).toBe(urgency)
})

test('mayAskInForm allows only six triggers, and no unknown one', () => {
  expect(TriggerId.options.filter(mayAskInForm)).toEqual([
    'missed-deadline',
    'aging-out-child',
    'denial-or-appeal',
    'relationship-changed',
    'long-absence',
    'public-charge',
  ])
  expect(mayAskInForm('of-another-release')).toBe(false)
})

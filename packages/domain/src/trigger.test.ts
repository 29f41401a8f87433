import { expect, test } from 'vitest'
import { HandOff } from './contact.ts'
import { findHighestUrgency, findUrgency, mayAskInForm, orderTriggers, TriggerId } from './trigger.ts'

test('there are 26 triggers: six urgent ones first, then seven of high urgency', () => {
  const urgencies = TriggerId.options.map(findUrgency)
  expect(urgencies).toEqual([
    ...Array.from({ length: 6 }, () => 'urgent'),
    ...Array.from({ length: 7 }, () => 'high'),
    ...Array.from({ length: 13 }, () => 'normal'),
  ])
})

test('each trigger is listed once, the most urgent first', () => {
  const sent: TriggerId[] = ['smuggling', 'asylum-fear', 'missed-hearing', 'smuggling']
  expect(orderTriggers(sent)).toEqual(['missed-hearing', 'asylum-fear', 'smuggling'])
  expect(HandOff.parse({ triggers: sent })).toEqual({
    triggers: ['missed-hearing', 'asylum-fear', 'smuggling'],
  })
})

test.for([
  [[], undefined],
  [['smuggling'], 'normal'],
  [['smuggling', 'asylum-fear'], 'high'],
  [['asylum-fear', 'missed-hearing'], 'urgent'],
  [['of-another-release'], 'normal'],
] as const)('of %j the highest urgency is %s', ([triggers, urgency]) => {
  expect(findHighestUrgency(triggers)).toBe(urgency)
})

test('forms ask about none of crime, abuse, fear and status, and about no trigger of another release', () => {
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

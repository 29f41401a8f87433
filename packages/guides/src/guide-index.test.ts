import { describe, expect, test } from 'vitest'
import { guideIndex } from './guide-index.ts'
import { loadGuides } from './load-guides.ts'

const index = guideIndex(loadGuides())
const first = (text: string) => index.search(text, 1)[0]?.slug

describe('search', () => {
  test.for([
    ['I-90', 'renew-green-card'],
    ['n400', 'apply-for-citizenship'],
    ['form N-400', 'apply-for-citizenship'],
    ['I 765', 'work-permit'],
    ['i-751', 'remove-conditions'],
    ['AR-11', 'change-of-address'],
    ['I-912', 'request-fee-waiver'],
  ] as const)('knows the form %s', ([text, slug]) => expect(first(text)).toBe(slug))

  test.for([
    ['permanent resident card renewal', 'renew-green-card'],
    ['renew I-551', 'renew-green-card'],
    ['renew green card', 'renew-green-card'],
    ['EAD', 'work-permit'],
    ['employment authorization document', 'work-permit'],
    ['become a US citizen', 'apply-for-citizenship'],
    ['is this a swindle', 'avoid-scams'],
    ['abogado', 'find-legal-help'],
  ] as const)('takes %s for what it is called here', ([text, slug]) => expect(first(text)).toBe(slug))

  test.for([
    ['natralization test', 'naturalization-test'],
    ['biometircs appointment', 'biometrics-appointment'],
    ['WORK PERMITT', 'work-permit'],
    ['fiancé visa', 'fiance-visa'],
    ['assylum', 'asylum-basics'],
  ] as const)('forgives %s', ([text, slug]) => expect(first(text)).toBe(slug))

  test('has nothing for no words, and for words that say nothing', () => {
    for (const text of ['', '   ', '?!', 'what is the', 'qqqqqq']) expect(index.search(text, 5)).toEqual([])
  })

  test('gives at most as many as asked for, in falling order of score', () => {
    const scores = index.search('visa', 5).map(({ score }) => score)
    expect(scores).toHaveLength(5)
    expect(scores).toEqual(scores.toSorted((a, b) => b - a))
  })

  test('looks at the first forty words only', () => {
    expect(index.search(`${'zzzz '.repeat(39)} asylum`, 1)).toHaveLength(1)
    expect(index.search(`${'zzzz '.repeat(40)} asylum`, 1)).toEqual([])
  })
})

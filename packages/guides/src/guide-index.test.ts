import { describe, expect, test } from 'vitest'
import { createGuideIndex } from './guide-index.ts'
import { loadGuides } from './load-guides.ts'

const index = createGuideIndex(loadGuides())
const findBestSlug = (text: string) => index.search(text, 1)[0]?.slug

describe('search', () => {
  test.for([
    ['I-90', 'renew-green-card'],
    ['n400', 'apply-for-citizenship'],
    ['form N-400', 'apply-for-citizenship'],
    ['I 765', 'work-permit'],
    ['i-751', 'remove-conditions'],
    ['AR-11', 'change-of-address'],
    ['I-912', 'request-fee-waiver'],
  ] as const)('finds the form %s', ([text, slug]) => expect(findBestSlug(text)).toBe(slug))

  test.for([
    ['permanent resident card renewal', 'renew-green-card'],
    ['renew I-551', 'renew-green-card'],
    ['renew green card', 'renew-green-card'],
    ['EAD', 'work-permit'],
    ['employment authorization document', 'work-permit'],
    ['become a US citizen', 'apply-for-citizenship'],
    ['is this a swindle', 'avoid-scams'],
    ['abogado', 'find-legal-help'],
  ] as const)('finds the guide for the synonym %s', ([text, slug]) => expect(findBestSlug(text)).toBe(slug))

  test.for([
    ['natralization test', 'naturalization-test'],
    ['biometircs appointment', 'biometrics-appointment'],
    ['WORK PERMITT', 'work-permit'],
    ['fiancé visa', 'fiance-visa'],
    ['assylum', 'asylum-basics'],
  ] as const)('corrects the spelling of %s', ([text, slug]) => expect(findBestSlug(text)).toBe(slug))

  test('finds nothing for a text without words, with only stop words, or with an unknown word', () => {
    for (const text of ['', '   ', '?!', 'what is the', 'qqqqqq']) expect(index.search(text, 5)).toEqual([])
  })

  test.for([
    ['not shortened if it has 240 characters', 'x'.repeat(240), 'x'.repeat(240)],
    ['cut at a blank if it is longer', `${'x'.repeat(238)} ${'y'.repeat(9)}`, `${'x'.repeat(238)} …`],
    ['cut within a word that is longer', 'x'.repeat(241), `${'x'.repeat(238)} …`],
  ] as const)('a snippet is %s', ([, body, snippet]) => {
    const guides = loadGuides().slice(0, 1)
    const [hit] = createGuideIndex(guides.map((guide) => ({ ...guide, body }))).search(guides[0]!.title, 1)
    expect(hit?.snippet).toBe(snippet)
  })

  test('returns at most `limit` guides, by descending score', () => {
    const scores = index.search('visa', 5).map(({ score }) => score)
    expect(scores).toHaveLength(5)
    expect(scores).toEqual(scores.toSorted((a, b) => b - a))
  })

  test('ignores words after the first forty', () => {
    expect(index.search(`${'zzzz '.repeat(39)} asylum`, 1)).toHaveLength(1)
    expect(index.search(`${'zzzz '.repeat(40)} asylum`, 1)).toEqual([])
  })
})

describe('suggested words', () => {
  test('are words that the search finds, the most similar first, up to the requested number', () => {
    const suggestions = index.suggestWords('taxid', 5)
    expect(suggestions[0]).toBe('taxes')
    expect(index.suggestWords('pasport applikation', 3)).toEqual(
      expect.arrayContaining(['passport', 'application']),
    )
    expect(index.suggestWords('pasport applikation', 3).length).toBeLessThanOrEqual(3)
    for (const word of suggestions) expect(index.search(word, 1)).toHaveLength(1)
  })

  test('do not exist for short words, numbers, very long words, and words unlike all others', () => {
    expect(index.suggestWords('zz 12345 qqqqqqqqqq', 5)).toEqual([])
    expect(index.suggestWords('', 5)).toEqual([])
    expect(index.suggestWords('x'.repeat(200), 5)).toEqual([])
  })
})

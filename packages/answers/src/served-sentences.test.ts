import { ALL_HELP, Answer, EMERGENCY_LINES } from '@plainpath/domain'
import { type GuideSection, guideSections, isOfficial, loadGuides } from '@plainpath/guides'
import { describe, expect, test } from 'vitest'
import { answerQuestion } from './answer-question.ts'
import { loadFixedTexts, loadOfficialLinks } from './fixed-texts.ts'
import { packagedKnowledge } from './knowledge.ts'
import { readLabelledQuestions } from './labelled-question.ts'
import { loadTriggers } from './triggers/trigger-file.ts'

const TODAY = new Date('2026-11-23T00:00:00Z')
const ORIGIN = 'https://plainpath.example'
const knowledge = packagedKnowledge(ORIGIN)
const guides = loadGuides()
const texts = loadFixedTexts()

/** All strings of a value. */
function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}

const withoutNumbers = (line: string) => line.replaceAll(/ ?\[\d+\]/g, '').trim()
const withoutMarkers = (line: string) => line.replaceAll(/ ?\[\^[a-z0-9-]+\]/g, '').trim()
const linesOf = ({ markdown, text }: GuideSection) => [
  ...markdown.split('\n').map(withoutMarkers),
  ...text.split('\n'),
]

const SENTENCES = new Set([
  ...guides.flatMap((guide) =>
    guideSections(guide).flatMap((section) => [section.heading, ...linesOf(section)]),
  ),
  ...guides.flatMap(({ title, disclaimer, sources }) => [title, disclaimer, ...stringsIn(sources)]),
  ...loadTriggers().flatMap(({ why, ask, doNow, source }) => [why, ask, ...doNow, source.title, source.url]),
  ...stringsIn([texts, ALL_HELP, EMERGENCY_LINES]),
  ...stringsIn(loadOfficialLinks()),
])

/** Names, codes and addresses, which are no sentences. */
const CODES = new Set([
  ...[
    'information',
    'hand_off',
    'out_of_scope',
    'urgent',
    'high',
    'normal',
    'question',
    'facts',
    'attorney',
    'en',
    'es',
  ],
  ...['other-country', 'other-subject', 'no-guide', 'asks-to-deceive', 'not-understood'],
  ...guides.flatMap((guide) => [guide.slug, ...guideSections(guide).map(({ id }) => id)]),
  ...loadTriggers().map(({ id }) => id),
])

/** The strings of an answer that are neither a served sentence nor a name, a code or an address; the person's words are left out. */
function strangersIn(answer: Answer): string[] {
  const { limits = '', handOff, ...rest } = answer
  const reasons = handOff?.reasons.map((reason) => ({ ...reason, matched: [] }))
  const lines = stringsIn([
    { ...rest, answersVersion: '' },
    { ...handOff, reasons },
  ]).flatMap((text) => text.split('\n').map(withoutNumbers))
  const ofLimits = limits === '' ? [] : limits.slice(texts.limitsBegin.length + 1, -1).split('; ')
  return [...lines, ...ofLimits].filter(
    (line) => line !== '' && !SENTENCES.has(line) && !CODES.has(line) && !line.startsWith(`${ORIGIN}/`),
  )
}

describe('answers to the examples', () => {
  const examples = readLabelledQuestions(new URL('../examples/given.jsonl', import.meta.url)).map(
    ({ question }) => question,
  )

  test('have the promised shape, and each sentence is one of a guide, a trigger file or a fixed text', () => {
    const questions = [
      ...examples,
      '¿Cómo renuevo mi tarjeta de residente?',
      'как продлить грин карту',
      'E-2 visa',
    ]
    const strangers = questions.flatMap((question) => {
      const answer = answerQuestion({ question, facts: undefined }, knowledge, TODAY, { explain: true })
      expect(Answer.safeParse(answer).error, question).toBeUndefined()
      const { explain, ...served } = answer
      expect(explain?.rules.length).toBeGreaterThan(0)
      return strangersIn(served)
    })
    expect(new Set(strangers)).toEqual(new Set())
  }, 120_000)

  test('the same holds for each trigger that facts state', () => {
    const strangers = loadTriggers().flatMap(({ id }) =>
      strangersIn(
        answerQuestion(
          { question: 'How do I renew my green card?', facts: { [id]: true } },
          knowledge,
          TODAY,
        ),
      ),
    )
    expect(strangers).toEqual([])
  })

  test('a sentence of nobody would be found', () => {
    const answer = answerQuestion(
      { question: 'How do I renew my green card?', facts: undefined },
      knowledge,
      TODAY,
    )
    expect(strangersIn({ ...answer, limits: `${texts.limitsBegin} who won the game.` })).toEqual([
      'who won the game',
    ])
    expect(strangersIn({ ...answer, disclaimer: 'All will be well.' })).toEqual(['All will be well.'])
  })
})

describe('what the data names', () => {
  const triggers = new Set(loadTriggers().map(({ id }) => id))

  test('sections that triggers may still say exist', () => {
    const missing = loadTriggers().flatMap(({ id, mayStillSay }) =>
      mayStillSay
        .filter((section) => knowledge.sections.section(section) === undefined)
        .map((section) => `${id}: ${section}`),
    )
    expect(missing).toEqual([])
  })

  test('triggers of checks and of emergency lines exist', () => {
    const named = [...knowledge.asks.values()].flatMap(({ check }) => check)
    expect([...named, ...Object.keys(texts.emergency)].filter((id) => !triggers.has(id))).toEqual([])
  })

  test('each item about attorneys of a guide says which triggers it speaks of, and these exist', () => {
    const items = [...knowledge.guides.values()].flatMap(({ talkToAnAttorneyWhen }) => talkToAnAttorneyWhen)
    expect(new Set(knowledge.attorneyItems.keys())).toEqual(new Set(items))
    expect([...knowledge.attorneyItems.values()].flat().filter((id) => !triggers.has(id))).toEqual([])
  })

  test('a trigger of each guide is in one of its items about attorneys', () => {
    const silent = [...knowledge.guides.values()].filter(
      ({ talkToAnAttorneyWhen }) =>
        !talkToAnAttorneyWhen.some((item) => knowledge.attorneyItems.get(item)?.length),
    )
    expect(silent).toEqual([])
  })

  test('links of rules exist', () => {
    const links = knowledge.scope.rules.flatMap(({ link }) => link ?? [])
    expect(links.filter((link) => !(link in knowledge.links))).toEqual([])
  })

  test('links are official', () => {
    const pages = [...Object.values(knowledge.links), ...ALL_HELP, ...Object.values(EMERGENCY_LINES)]
    const urls = pages.flatMap((page) => ('url' in page && page.url) || [])
    expect(urls.filter((url) => !isOfficial(url))).toEqual([])
  })
})

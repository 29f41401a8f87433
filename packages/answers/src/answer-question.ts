import {
  ALL_HELP,
  type Answer,
  type AnswerRequest,
  ATTORNEY_HELP,
  EMERGENCY_LINES,
  type Help,
} from '@plainpath/domain'
import type { QuestionType } from '@plainpath/guides'
import type { EmergencyLine } from './fixed-texts.ts'
import type { Knowledge } from './knowledge.ts'
import { buildPassage, type ShownPassage } from './passages.ts'
import { findDeceit, findOtherSubject, findUncovered, type OutOfScopeReading } from './scope/out-of-scope.ts'
import { type QuestionLanguage, questionLanguage } from './scope/question-language.ts'
import { choosePassages, NEVER_COVERED } from './sections/choose-passages.ts'
import type { SectionReading } from './sections/section-index.ts'
import {
  readTriggers,
  type SuggestedCheck,
  type TriggerMatch,
  type TriggerReading,
} from './triggers/match-triggers.ts'
import type { TriggerFile } from './triggers/trigger-file.ts'

const MOST_CHECKS = 5
/** A trigger whose score is lower is no likelier than any other. */
const LEAST_LIKELY = 0.03
const MOST_PASSAGES_WITH_HAND_OFF = 4
const MOST_SCORES = 10

export interface AnswerOptions {
  /** Adds rules and scores. */
  readonly explain?: boolean
}

/** Everything that is read from a question before the answer is decided. */
interface Reading {
  readonly language: QuestionLanguage
  readonly triggers: TriggerReading
  readonly sections: SectionReading
  readonly facts: Readonly<Record<string, boolean>>
}

interface Decision {
  readonly answer: Omit<Answer, 'disclaimer' | 'answersVersion' | 'explain'>
  readonly rule: string
}

/**
 * Answers a question from the guides, hands the person to an attorney, or says that no guide answers.
 * The same arguments give the same answer. Nothing of the question is stored or logged.
 *
 * @param today decides which sources are stale and how dates in the question are read; its UTC day counts
 */
export function answerQuestion(
  { question, facts }: AnswerRequest,
  knowledge: Knowledge,
  today: Date,
  { explain = false }: AnswerOptions = {},
): Answer {
  const reading: Reading = {
    language: questionLanguage(question, knowledge.sections.isKnown),
    triggers: readTriggers(question, knowledge.triggers, today),
    sections: knowledge.sections.find(question),
    facts: facts ?? {},
  }
  const { answer, rule } = decide(question, reading, knowledge, today)
  return {
    ...answer,
    disclaimer: findDisclaimer(knowledge),
    answersVersion: knowledge.version,
    ...(explain && { explain: buildExplanation(reading, rule) }),
  }
}

function decide(question: string, reading: Reading, knowledge: Knowledge, today: Date): Decision {
  const { triggers, sections } = reading
  const stated = listStatedTriggers(reading, knowledge)
  const handOff = () => ({
    answer: answerWithHandOff(stated, knowledge, today),
    rule: stated.map(({ trigger }) => `trigger ${trigger.id}`).join(', '),
  })
  const refuse = (refusal: OutOfScopeReading) => ({
    answer: answerOutOfScope(refusal, reading, knowledge),
    rule: `${refusal.reason}: ${refusal.rule}`,
  })
  if (stated.some(({ because }) => because === 'facts')) return handOff()
  if (reading.language !== 'en') return refuse({ reason: 'not-understood', rule: 'language' })
  const deceit = findDeceit(question, knowledge.scope)
  if (deceit && !triggers.dangerStated) return refuse(deceit)
  if (stated.some(({ trigger }) => trigger.urgency === 'urgent')) return handOff()
  const other = findOtherSubject(question, knowledge.scope, new Set(knowledge.guides.keys()))
  if (stated.length > 0 && other?.firm !== true) return handOff()
  if (other) return refuse(other)
  const uncovered = findUncovered(
    question,
    sections,
    { triggers: sumScores(selectLikely(triggers)), other: triggers.otherSubject },
    knowledge.scope,
  )
  if (uncovered) return refuse(uncovered)
  const answer = answerFromSections(reading, knowledge, today)
  if (answer.passages.length === 0) return refuse({ reason: 'no-guide', rule: 'no passage' })
  return { answer, rule: 'sections' }
}

const selectLikely = ({ weak }: TriggerReading) => weak.filter(({ score }) => score >= LEAST_LIKELY)

const sumScores = (suggested: readonly SuggestedCheck[]): number =>
  suggested.reduce((sum, { score }) => sum + score, 0)

interface StatedTrigger {
  readonly trigger: TriggerFile
  readonly because: 'question' | 'facts'
  readonly match: TriggerMatch | undefined
}

/** Lists the triggers that the question or the facts state, in the order in which they are reported. */
function listStatedTriggers({ triggers, facts }: Reading, knowledge: Knowledge): readonly StatedTrigger[] {
  const matches = new Map(triggers.matches.map((match) => [match.trigger, match]))
  return knowledge.triggers.flatMap((trigger): StatedTrigger[] => {
    const match = matches.get(trigger.id)
    if (match !== undefined) return [{ trigger, because: 'question', match }]
    return facts[trigger.id] === true ? [{ trigger, because: 'facts', match }] : []
  })
}

function answerWithHandOff(
  stated: readonly StatedTrigger[],
  knowledge: Knowledge,
  today: Date,
): Decision['answer'] {
  const { texts, origin } = knowledge
  const allowed = stated.flatMap(({ trigger }) => trigger.mayStillSay)
  const sections = new Set(allowed.flatMap((id) => knowledge.sections.section(id) ?? []))
  const lines = stated.flatMap(({ trigger }) => texts.emergency[trigger.id] ?? [])
  return {
    outcome: 'hand_off',
    passages: [...sections]
      .slice(0, MOST_PASSAGES_WITH_HAND_OFF)
      .map((section) => buildPassage({ section, answers: true }, knowledge, today)),
    handOff: {
      reasons: stated.map(({ trigger, because, match }) => ({
        trigger: trigger.id,
        urgency: trigger.urgency,
        why: trigger.why,
        matched: (match?.matched ?? []).map(withoutLongNumbers),
        because,
        source: trigger.source,
      })),
      doNow: [...new Set(stated.flatMap(({ trigger }) => trigger.doNow))],
      findHelp: [...lookUpLines(lines), ...ATTORNEY_HELP],
      contact: { topic: 'attorney', url: `${origin}/contact` },
    },
    check: [],
  }
}

function answerOutOfScope(
  { reason, link }: OutOfScopeReading,
  { language, sections }: Reading,
  { texts, links, guides, origin }: Knowledge,
): Decision['answer'] {
  const inLanguages = (['es', 'en'] as const).filter((known) => known === 'en' || known === language)
  const notices =
    language === 'en'
      ? [{ language: 'en', text: texts.outOfScope[reason] }]
      : inLanguages.map((known) => ({ language: known, text: texts.languages[known] }))
  const needsHelp = reason === 'asks-to-deceive' || reason === 'no-guide' || reason === 'not-understood'
  const help = language === 'en' ? ATTORNEY_HELP : ALL_HELP
  const page = link === undefined ? undefined : links[link]
  const near = reason === 'no-guide' ? guides.get(sections.hits[0]?.section.guide ?? '') : undefined
  return {
    outcome: 'out_of_scope',
    passages: [],
    outOfScope: {
      reason,
      notices,
      links: page === undefined ? [] : [page],
      findHelp: needsHelp ? [...help] : [],
      ...(near !== undefined && { nearGuide: { title: near.title, url: `${origin}/guides/${near.slug}` } }),
    },
    check: [],
  }
}

function answerFromSections(
  { triggers, sections, facts }: Reading,
  knowledge: Knowledge,
  today: Date,
): Decision['answer'] {
  const selection = choosePassages(sections)
  const { asks, attorneyItems, guides } = knowledge
  const items = selection.flatMap(({ section }) => guides.get(section.guide)?.talkToAnAttorneyWhen ?? [])
  const checks = [
    ...selectLikely(triggers).map(({ trigger }) => trigger),
    ...selection.flatMap(({ section }) => asks.get(section.guide)?.check ?? []),
    ...items.flatMap((item) => attorneyItems.get(item) ?? []),
  ]
  const byId = new Map(knowledge.triggers.map((trigger) => [trigger.id, trigger]))
  const limits = describeLimits(selection, sections.types, knowledge)
  return {
    outcome: 'information',
    passages: selection.map((passage) => buildPassage(passage, knowledge, today)),
    check: [...new Set(checks)]
      .filter((id) => facts[id] !== false)
      .flatMap((id) => byId.get(id) ?? [])
      .slice(0, MOST_CHECKS)
      .map(({ id, ask }) => ({ trigger: id, ask })),
    ...(limits !== undefined && { limits }),
  }
}

/** Describes the parts of the question that no passage answers. Figures that change are never answered. */
function describeLimits(
  passages: readonly ShownPassage[],
  requestedTypes: ReadonlySet<QuestionType>,
  { texts }: Knowledge,
): string | undefined {
  const covered = new Set(
    passages.filter(({ answers }) => answers).flatMap(({ section }) => [...section.types]),
  )
  const open: (keyof typeof texts.limitsOf)[] = [...requestedTypes].filter(
    (type) => !covered.has(type) || NEVER_COVERED.has(type),
  )
  if (passages.every(({ answers }) => !answers)) open.push('subject')
  if (open.length === 0) return undefined
  return `${texts.limitsBegin} ${open.map((type) => texts.limitsOf[type]).join('; ')}.`
}

const lookUpLines = (names: readonly EmergencyLine[]): Help[] =>
  [...new Set(names)].map((name) => EMERGENCY_LINES[name])

/** Five digits or more, with or without blanks or hyphens: the number of a person, a case or a card. */
const LONG_NUMBER = /\d(?:[\s.-]?\d){4,}/g

const withoutLongNumbers = (text: string): string => text.replace(LONG_NUMBER, '…')

function findDisclaimer({ guides }: Knowledge): string {
  const [guide] = guides.values()
  if (guide === undefined) throw new Error('no guide is published')
  return guide.disclaimer
}

function buildExplanation({ language, triggers, sections }: Reading, rule: string): Answer['explain'] {
  return {
    language,
    rules: [
      ...triggers.matches.flatMap(({ trigger, patterns }) => patterns.map((id) => `${trigger}/${id}`)),
      ...selectLikely(triggers).flatMap(({ trigger, patterns }) =>
        patterns.map((id) => `weak ${trigger}/${id}`),
      ),
      rule,
    ],
    questionTypes: [...sections.types],
    scores: sections.hits.slice(0, MOST_SCORES).map(({ section, score, parts, typeMatches }) => ({
      id: section.id,
      score: roundToHundredths(score),
      section: roundToHundredths(parts.section),
      ask: roundToHundredths(parts.ask),
      guide: roundToHundredths(parts.guide),
      typeMatches,
    })),
  }
}

const roundToHundredths = (score: number): number => Math.round(score * 100) / 100

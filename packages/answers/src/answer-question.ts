import {
  ALL_HELP,
  type Answer,
  type AnswerRequest,
  ATTORNEY_HELP,
  EMERGENCY_LINES,
  type Help,
} from '@plainpath/domain'
import { buildExplanation } from './build-explanation.ts'
import { describeLimits } from './describe-limits.ts'
import type { Knowledge } from './knowledge.ts'
import { buildPassage } from './passages.ts'
import { type QuestionReading, readQuestion, selectLikelyTriggers } from './read-question.ts'
import {
  findDeceit,
  findOtherSubject,
  findUncovered,
  mayBeOtherSubject,
  type OutOfScopeMatch,
} from './scope/out-of-scope.ts'
import { choosePassages } from './sections/choose-passages.ts'
import type { IndexedSection } from './sections/section-index.ts'
import type { TriggerMatch } from './triggers/match-triggers.ts'
import type { EmergencyLine, TriggerFile } from './triggers/trigger-file.ts'

/*
 * Decides how a question is answered. A trigger is a circumstance in which a person needs an attorney. A check is a question that
 * finds out whether a trigger applies. A reading is what the models and patterns found in the question.
 */

const MAX_CHECKS = 5
const MAX_PASSAGES_WITH_HAND_OFF = 4

export interface AnswerOptions {
  /** Adds the rules and scores to the answer. */
  readonly explain?: boolean
}

/** An answer without the members that `answerReading` adds, and the rule that led to it. */
interface Decision {
  readonly answer: Omit<Answer, 'disclaimer' | 'answersVersion' | 'explain'>
  readonly rule: string
}

/**
 * Answers a question from the guides, hands the person to an attorney, or says that no guide answers it.
 * The same arguments give the same answer. The question is neither stored nor logged.
 *
 * @param today the time at which the freshness of sources is judged, and from which the distance of dates in the question is counted
 */
export const answerQuestion = (
  request: AnswerRequest,
  knowledge: Knowledge,
  today: Date,
  options: AnswerOptions = {},
): Answer => answerReading(readQuestion(request, knowledge, today), knowledge, today, options)

/** Answers a question from its reading, which must come from the same knowledge and time. */
export function answerReading(
  reading: QuestionReading,
  knowledge: Knowledge,
  today: Date,
  { explain = false }: AnswerOptions = {},
): Answer {
  const { answer, rule } = decide(reading, knowledge, today)
  return {
    ...answer,
    disclaimer: findDisclaimer(knowledge),
    answersVersion: knowledge.version,
    ...(explain && { explain: buildExplanation(reading, rule) }),
  }
}

/**
 * Decides the answer. The first rule that applies wins: a trigger that only the facts state, the language, deceit without a
 * stated danger, an urgent trigger, a firm other subject, another trigger, another subject, too little evidence, and finally the
 * sections.
 */
function decide(reading: QuestionReading, knowledge: Knowledge, today: Date): Decision {
  const { question, triggers, sections } = reading
  const statedTriggers = listStatedTriggers(reading, knowledge)
  const decideHandOff = () => ({
    answer: answerWithHandOff(statedTriggers, reading, knowledge, today),
    rule: statedTriggers.map(({ trigger }) => `trigger ${trigger.id}`).join(', '),
  })
  const decideOutOfScope = (refusal: OutOfScopeMatch, checkIds: readonly string[] = []) => ({
    answer: answerOutOfScope(refusal, checkIds, reading, knowledge),
    rule: `${refusal.reason}: ${refusal.rule}`,
  })
  if (statedTriggers.some(({ because }) => because === 'facts')) return decideHandOff()
  if (reading.language !== 'en') return decideOutOfScope({ reason: 'not-understood', rule: 'language' })
  const deceit = findDeceit(question, knowledge.scope)
  if (deceit && !triggers.isDangerStated) return decideOutOfScope(deceit)
  if (statedTriggers.some(({ trigger }) => trigger.urgency === 'urgent')) return decideHandOff()
  const otherSubject = findOtherSubject(question, knowledge.scope, new Set(knowledge.guides.keys()))
  if (statedTriggers.length > 0 && otherSubject?.firm !== true) return decideHandOff()
  if (otherSubject && (otherSubject.firm === true || mayBeOtherSubject(triggers.otherSubject)))
    return decideOutOfScope(otherSubject)
  const uncovered = findUncovered(question, sections.maxSimilarity, triggers.otherSubject, knowledge.scope)
  if (uncovered) return decideOutOfScope(uncovered, findPossibleTriggers(reading))
  const answer = answerFromSections(reading, knowledge, today)
  if (answer.passages.length === 0) return decideOutOfScope({ reason: 'no-guide', rule: 'no passage' })
  return { answer, rule: 'sections' }
}

interface StatedTrigger {
  readonly trigger: TriggerFile
  readonly because: 'question' | 'facts'
  readonly match: TriggerMatch | undefined
}

/** Lists the triggers that the question or the facts state, in the order of their precedence. */
function listStatedTriggers(
  { triggers, facts }: QuestionReading,
  knowledge: Knowledge,
): readonly StatedTrigger[] {
  const matches = new Map(triggers.matches.map((match) => [match.trigger, match]))
  return knowledge.triggers.flatMap((trigger): StatedTrigger[] => {
    const match = matches.get(trigger.id)
    if (match !== undefined) return [{ trigger, because: 'question', match }]
    return facts[trigger.id] === true ? [{ trigger, because: 'facts', match }] : []
  })
}

function answerWithHandOff(
  statedTriggers: readonly StatedTrigger[],
  reading: QuestionReading,
  knowledge: Knowledge,
  today: Date,
): Decision['answer'] {
  const { texts, origin } = knowledge
  const allowedIds = statedTriggers.flatMap(({ trigger }) => trigger.mayStillSay)
  const generalSections = chooseGeneralSections(statedTriggers, reading, knowledge)
  const sections = new Set([
    ...allowedIds.flatMap((id) => knowledge.sections.get(id) ?? []),
    ...generalSections,
  ])
  const helpParts = statedTriggers.map(({ trigger, match }) => {
    const additions = trigger.also.filter(
      ({ patterns, unless }) =>
        patterns.some((id) => match?.patterns.includes(id)) && !unless?.test(reading.question),
    )
    return {
      doNow: [...trigger.doNow, ...additions.flatMap((addition) => addition.doNow)],
      lines: [...trigger.lines, ...additions.flatMap((addition) => addition.lines)],
    }
  })
  return {
    outcome: 'hand_off',
    passages: [...sections]
      .slice(0, MAX_PASSAGES_WITH_HAND_OFF)
      // An attorney has to look at the case, so no passage counts as the answer.
      .map((section) => buildPassage({ section, answers: false }, knowledge, today)),
    handOff: {
      reasons: statedTriggers.map(({ trigger, because, match }) => ({
        trigger: trigger.id,
        urgency: trigger.urgency,
        why: trigger.why,
        matched: (match?.matched ?? []).map(removeLongNumbers),
        because,
        source: trigger.source,
      })),
      doNow: [...new Set(helpParts.flatMap(({ doNow }) => doNow))],
      findHelp: [...getEmergencyLines(helpParts.flatMap(({ lines }) => lines)), ...ATTORNEY_HELP],
      contact: { topic: 'attorney', url: `${origin}/contact` },
    },
    check: [],
    ...(sections.size > 0 && { limits: `${texts.limitsBegin} ${texts.limitsOf.handOff}.` }),
  }
}

/** An uncertain urgent hand-off shows general sections only if a guide's subject has at least this probability. */
const MIN_GUIDE_SUBJECT_PROBABILITY = 0.3

/**
 * Chooses the sections that answer the general part of a handed-off question. Only sections that its triggers allow may be chosen.
 * If all triggers are uncertain, the question may be an ordinary one, so every matching section is allowed. An urgent trigger
 * counts as uncertain only if the question is likely to be about a guide's subject. Chooses none if the question has words of
 * another subject.
 */
function chooseGeneralSections(
  statedTriggers: readonly StatedTrigger[],
  { question, sections, triggers }: QuestionReading,
  { scope, guides }: Knowledge,
): readonly IndexedSection[] {
  if (findOtherSubject(question, scope, new Set(guides.keys())) !== undefined) return []
  const isUncertain = statedTriggers.every(
    ({ match, trigger }) =>
      match?.isCertain === false &&
      (trigger.urgency !== 'urgent' || triggers.guideSubject >= MIN_GUIDE_SUBJECT_PROBABILITY),
  )
  const allowedIds = new Set(statedTriggers.flatMap(({ trigger }) => trigger.mayAlsoSay))
  return choosePassages(sections)
    .map(({ section }) => section)
    .filter(({ id, guide }) => isUncertain || allowedIds.has(id) || allowedIds.has(guide))
}

function answerOutOfScope(
  { reason, link }: OutOfScopeMatch,
  checkIds: readonly string[],
  reading: QuestionReading,
  knowledge: Knowledge,
): Decision['answer'] {
  const { language, sections } = reading
  const { texts, links, guides, origin } = knowledge
  // A question in Spanish gets both notices, and one in a third language only the English one.
  const noticeLanguages = (['es', 'en'] as const).filter((code) => code === 'en' || code === language)
  const notices =
    language === 'en'
      ? [{ language: 'en', text: texts.outOfScope[reason] }]
      : noticeLanguages.map((code) => ({ language: code, text: texts.languages[code] }))
  const needsHelp = reason === 'asks-to-deceive' || reason === 'no-guide' || reason === 'not-understood'
  const help = language === 'en' ? ATTORNEY_HELP : ALL_HELP
  const officialPage = link === undefined ? undefined : links[link]
  const nearGuide = reason === 'no-guide' ? guides.get(sections.hits[0]?.section.guide ?? '') : undefined
  return {
    outcome: 'out_of_scope',
    passages: [],
    outOfScope: {
      reason,
      notices,
      links: officialPage === undefined ? [] : [officialPage],
      findHelp: needsHelp ? [...help] : [],
      ...(nearGuide !== undefined && {
        nearGuide: { title: nearGuide.title, url: `${origin}/guides/${nearGuide.slug}` },
      }),
    },
    check: listChecks(checkIds, reading, knowledge),
  }
}

/** The minimum score of a trigger that may apply to a question that no guide covers. The person is asked whether it does. */
const MIN_POSSIBLE_SCORE = 0.1

const findPossibleTriggers = ({ triggers }: QuestionReading): readonly string[] =>
  triggers.suggestedChecks.filter(({ score }) => score >= MIN_POSSIBLE_SCORE).map(({ trigger }) => trigger)

/** Lists the check questions of triggers, at most `MAX_CHECKS`. Leaves out triggers that the facts deny. */
function listChecks(
  triggerIds: readonly string[],
  { facts }: QuestionReading,
  { triggers }: Knowledge,
): Answer['check'] {
  const triggersById = new Map(triggers.map((trigger) => [trigger.id, trigger]))
  return [...new Set(triggerIds)]
    .filter((id) => facts[id] !== false)
    .flatMap((id) => triggersById.get(id) ?? [])
    .slice(0, MAX_CHECKS)
    .map(({ id, ask }) => ({ trigger: id, ask }))
}

function answerFromSections(reading: QuestionReading, knowledge: Knowledge, today: Date): Decision['answer'] {
  const { triggers, sections } = reading
  const chosenPassages = choosePassages(sections)
  // A question that may be about another subject has no certain answer.
  const selection = mayBeOtherSubject(triggers.otherSubject)
    ? chosenPassages.map((passage) => ({ ...passage, answers: false }))
    : chosenPassages
  const { asks, attorneyItems, guides } = knowledge
  const attorneyTexts = selection.flatMap(
    ({ section }) => guides.get(section.guide)?.talkToAnAttorneyWhen ?? [],
  )
  const checkIds = [
    ...selectLikelyTriggers(triggers).map(({ trigger }) => trigger),
    ...selection.flatMap(({ section }) => asks.get(section.guide)?.check ?? []),
    ...attorneyTexts.flatMap((text) => attorneyItems.get(text) ?? []),
  ]
  const limits = describeLimits(selection, sections.types, knowledge)
  return {
    outcome: 'information',
    passages: selection.map((passage) => buildPassage(passage, knowledge, today)),
    check: listChecks(checkIds, reading, knowledge),
    ...(limits !== undefined && { limits }),
  }
}

const getEmergencyLines = (names: readonly EmergencyLine[]): Help[] =>
  [...new Set(names)].map((name) => EMERGENCY_LINES[name])

/** Matches at least five digits, possibly with separators. Such a number can identify a person, a case or a card. */
const LONG_NUMBER = /\d(?:[\s.-]?\d){4,}/g

const removeLongNumbers = (text: string): string => text.replace(LONG_NUMBER, '…')

function findDisclaimer({ guides }: Knowledge): string {
  const [guide] = guides.values()
  if (guide === undefined) throw new Error('no guide is published')
  return guide.disclaimer
}

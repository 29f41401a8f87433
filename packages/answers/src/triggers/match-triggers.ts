import { type Clause, locateTokens, splitClauses } from '../language/clauses.ts'
import { readQuantities } from '../language/quantities.ts'
import { readTokens } from '../language/tokens.ts'
import { computeSectionSimilarities, loadSectionModel } from '../sections/likely-sections.ts'
import type { LikelySubjects } from '../sections/section-index.ts'
import { type CompiledTriggers, compileTriggers } from './compile-triggers.ts'
import { findPhrases } from './find-phrases.ts'
import { computeEvidence, MIN_EVIDENCE, sumProbabilities } from './hand-off-evidence.ts'
import { classifyQuestion, type LikelyTrigger, loadTriggerModel } from './likely-triggers.ts'
import { computeQuestionFeatures } from './question-features.ts'
import { type FoundEvent, findNegators, type ParsedQuestion, readEvent } from './read-event.ts'
import type { TriggerFile } from './trigger-file.ts'

/** A trigger that the question states. */
export interface TriggerMatch {
  readonly trigger: string
  /** The person's words that state the trigger, without phrases that contain a long number. */
  readonly matched: readonly string[]
  /** The ids of the patterns that matched, or `likely` if only the model reports the trigger; for `explain`. */
  readonly patterns: readonly string[]
  /** The indexes of the clauses that state the trigger. */
  readonly clauses: readonly number[]
  /** True if a pattern states the trigger, and the model gives it at least `MIN_CERTAIN_PROBABILITY`. */
  readonly isCertain: boolean
}

/** A trigger that the question does not state, but that may apply. */
export interface SuggestedCheck {
  readonly trigger: string
  /** From 0 to 1. */
  readonly score: number
  /** The ids of the patterns, each followed by its defusers (`pattern/defuser`), or `likely` if only the model suggests the check. */
  readonly patterns: readonly string[]
}

export interface TriggerReading {
  /** The stated triggers, in the order of their precedence. */
  readonly matches: readonly TriggerMatch[]
  /** The likeliest first. */
  readonly suggestedChecks: readonly SuggestedCheck[]
  readonly clauses: readonly Clause[]
  /** The guides and sections that the question is likely about. */
  readonly likelySubjects: LikelySubjects
  /** The probability that the question is about the subject of a guide and states no trigger, from 0 to 1. */
  readonly guideSubject: number
  /** The probability that the question is about another subject, from 0 to 1. */
  readonly otherSubject: number
  /** True if the question states a danger to a person. It is then handed off even if it asks for help to deceive. */
  readonly isDangerStated: boolean
}

/** Matches numbers that can identify a person or a card: at least seven digits, except two adjacent years and ISO dates. */
const LONG_NUMBER = /(?!(?:19|20)\d\d(?:[\s.-](?:19|20)\d\d|-\d\d-\d\d)(?!\d))(?<!\d)\d(?:[\s.-]?\d){6,}/g

/**
 * The maximum length of a short question, in words. A short question often states an event in one sentence and asks an ordinary
 * question in the next, whose words outvote the event. So each of its sentences is also read alone.
 */
const MAX_SHORT_WORDS = 30
/** The minimum evidence of one sentence for a hand-off. A pattern must also state the sentence's likeliest trigger. */
const MIN_SENTENCE_EVIDENCE = 0.6
/** The minimum probability of a trigger that is reported if no pattern states any. The likeliest trigger needs no minimum. */
const MIN_PROBABILITY_ALONE = 0.07
/** The same if a pattern states another trigger. Only an urgent guess should appear beside a stated trigger so easily. */
const MIN_PROBABILITY_BESIDE_PATTERNS = { urgent: 0.1, high: 0.25, normal: 0.25 }
/** The minimum probability of a certain trigger, which a pattern must state too. */
const MIN_CERTAIN_PROBABILITY = 0.3
/** The weight of a pattern or weak pattern beside the model's probability, in the score of a suggested check. */
const SIGN_WEIGHT = 0.4
/** The minimum score of a suggested check. */
const MIN_CHECK_SCORE = 0.02

/**
 * Reads which triggers a question states.
 *
 * @param triggers the enabled triggers, in the order of their precedence. They are compiled once for each list.
 */
export function readTriggers(
  question: string,
  triggers: readonly TriggerFile[],
  today: Date,
): TriggerReading {
  const parsedQuestion = parseQuestion(question, compileTriggers(triggers), today)
  const reading = classifyText(parsedQuestion, triggers)
  const { statedEvents, signs, features, classification, likelyTriggers } = reading
  const isHandOff =
    computeEvidence(triggers, reading) >= MIN_EVIDENCE ||
    hasStatingSentence(parsedQuestion, { triggers, statedEvents, today })
  const minProbabilityAlone = Math.min(MIN_PROBABILITY_ALONE, likelyTriggers[0]?.probability ?? 0)
  const matches: TriggerMatch[] = []
  const suggestedChecks: SuggestedCheck[] = []
  for (const { id, urgency, patternsDecide = false } of triggers) {
    const events = statedEvents.get(id)
    const guess = likelyTriggers.find(({ trigger }) => trigger === id)
    const minProbability =
      statedEvents.size > 0 ? MIN_PROBABILITY_BESIDE_PATTERNS[urgency] : minProbabilityAlone
    if (events && (isHandOff || patternsDecide))
      matches.push(
        buildMatch(id, events, parsedQuestion, (guess?.probability ?? 0) >= MIN_CERTAIN_PROBABILITY),
      )
    else if (isHandOff && guess && guess.probability >= minProbability)
      matches.push(buildGuessedMatch(guess, parsedQuestion))
    else {
      const check = buildCheck(id, events ?? signs.get(id), guess)
      if (check.score >= MIN_CHECK_SCORE) suggestedChecks.push(check)
    }
  }
  const dangerIds = new Set(triggers.filter(({ danger }) => danger).map(({ id }) => id))
  return {
    matches,
    suggestedChecks: suggestedChecks.toSorted((a, b) => b.score - a.score),
    clauses: splitClauses(parsedQuestion.text, parsedQuestion.tokens, parsedQuestion.locations),
    likelySubjects: {
      guides: classification.guides,
      sections: computeSectionSimilarities(
        loadSectionModel(),
        features.map(({ name }) => name),
      ),
    },
    guideSubject: 1 - classification.otherSubject - sumProbabilities(classification.triggers),
    otherSubject: classification.otherSubject,
    isDangerStated: matches.some(({ trigger }) => dangerIds.has(trigger)),
  }
}

/** Finds the ids of the patterns that a question matches, by trigger, even if the question is not handed off. */
export function readPatterns(
  question: string,
  triggers: readonly TriggerFile[],
  today: Date,
): ReadonlyMap<string, readonly string[]> {
  const { statedEvents } = readEvents(triggers, parseQuestion(question, compileTriggers(triggers), today))
  return new Map([...statedEvents].map(([id, events]) => [id, events.map(({ event }) => event.id)]))
}

/** Reads what patterns and the model say about a text. */
function classifyText(parsedQuestion: ParsedQuestion, triggers: readonly TriggerFile[]) {
  const { statedEvents, signs } = readEvents(triggers, parsedQuestion)
  const features = listFeatures(parsedQuestion, signs)
  const classification = classifyQuestion(loadTriggerModel(), features)
  // The model also knows the triggers that operators disabled.
  const enabledIds = new Set(triggers.map(({ id }) => id))
  const likelyTriggers = classification.triggers.filter(({ trigger }) => enabledIds.has(trigger))
  return { statedEvents, signs, features, classification, likelyTriggers }
}

/** Returns whether a sentence of a short question, read alone, states a trigger that the question states. */
function hasStatingSentence(
  { compiled, text, tokens }: ParsedQuestion,
  options: {
    readonly triggers: readonly TriggerFile[]
    readonly statedEvents: ReadonlyMap<string, unknown>
    readonly today: Date
  },
): boolean {
  const { triggers, statedEvents, today } = options
  const starts = tokens.filter(({ breakBefore }) => breakBefore === 2).map(({ start }) => start)
  if (statedEvents.size === 0 || tokens.length > MAX_SHORT_WORDS || starts.length < 2) return false
  return starts.some((start, index) => {
    const sentence = parseQuestion(text.slice(start, starts[index + 1]), compiled, today)
    const reading = classifyText(sentence, triggers)
    const likeliest = reading.likelyTriggers[0]?.trigger ?? ''
    const isStated = statedEvents.has(likeliest) && reading.statedEvents.has(likeliest)
    return isStated && computeEvidence(triggers, reading) >= MIN_SENTENCE_EVIDENCE
  })
}

/** Reads the words, quantities and phrases of a question. Replaces long numbers with `#` first. */
export function parseQuestion(question: string, compiled: CompiledTriggers, today: Date): ParsedQuestion {
  const text = question.replace(LONG_NUMBER, (digits) => '#'.repeat(digits.length))
  const tokens = readTokens(text, compiled.correctSpelling)
  const quantities = readQuantities(tokens, today)
  const hits = findPhrases(compiled.table, tokens, quantities)
  return { compiled, text, tokens, quantities, locations: locateTokens(tokens), hits }
}

/**
 * Finds the events in a question, by trigger: in `statedEvents`, those that patterns state with the score 1, and in `signs`, for
 * the other triggers, those with a lower score.
 */
function readEvents(triggers: readonly TriggerFile[], parsedQuestion: ParsedQuestion) {
  const negators = findNegators(parsedQuestion)
  const eventsByTrigger = Map.groupBy(
    parsedQuestion.compiled.events.flatMap((event) => readEvent(event, parsedQuestion, negators) ?? []),
    ({ event }) => event.trigger.id,
  )
  const statedEvents = new Map<string, readonly FoundEvent[]>()
  const signs = new Map<string, readonly FoundEvent[]>()
  for (const { id } of triggers) {
    const events = eventsByTrigger.get(id) ?? []
    const certainEvents = events.filter(({ score }) => score === 1)
    if (certainEvents.length > 0) statedEvents.set(id, certainEvents)
    else if (events.length > 0) signs.set(id, events)
  }
  return { statedEvents, signs }
}

/** Computes the features of a question for the model. */
function listFeatures(parsedQuestion: ParsedQuestion, signs: ReadonlyMap<string, unknown>) {
  const { compiled, tokens, quantities, hits } = parsedQuestion
  const { table } = compiled
  return computeQuestionFeatures({ table, tokens, quantities, hits, signs: [...signs.keys()] })
}

/** Computes the names of the features of a question, for training. */
export function readFeatures(
  question: string,
  triggers: readonly TriggerFile[],
  today: Date,
): readonly string[] {
  const parsedQuestion = parseQuestion(question, compileTriggers(triggers), today)
  return listFeatures(parsedQuestion, readEvents(triggers, parsedQuestion).signs).map(({ name }) => name)
}

function buildMatch(
  trigger: string,
  events: readonly FoundEvent[],
  { text, tokens, locations }: ParsedQuestion,
  isCertain: boolean,
): TriggerMatch {
  const phrases = new Set<string>()
  const clauses = new Set<number>()
  for (const { start, end } of events.flatMap(({ hits }) => hits)) {
    const phrase = text.slice(tokens[start]?.start, tokens[end - 1]?.end)
    if (!phrase.includes('#')) phrases.add(phrase)
    for (let index = start; index < end; index += 1) clauses.add(locations[index]?.clause ?? 0)
  }
  return {
    trigger,
    matched: [...phrases],
    patterns: events.map(({ event }) => event.id),
    clauses: [...clauses].toSorted((a, b) => a - b),
    isCertain,
  }
}

function buildGuessedMatch(
  { trigger, findTokens }: LikelyTrigger,
  { text, tokens, locations }: ParsedQuestion,
): TriggerMatch {
  const tokenIndexes = findTokens()
  const words = tokenIndexes
    .map((index) => text.slice(tokens[index]?.start, tokens[index]?.end))
    .filter((word) => !word.includes('#'))
  return {
    trigger,
    matched: [...new Set(words)],
    patterns: ['likely'],
    clauses: [...new Set(tokenIndexes.map((index) => locations[index]?.clause ?? 0))],
    isCertain: false,
  }
}

function buildCheck(
  trigger: string,
  events: readonly FoundEvent[] = [],
  guess: LikelyTrigger | undefined,
): SuggestedCheck {
  const maxEventScore = Math.max(0, ...events.map(({ score }) => score))
  const score = Math.min(0.99, (guess?.probability ?? 0) + SIGN_WEIGHT * maxEventScore)
  const patterns = events.map(({ event, defuserIds }) => [event.id, ...defuserIds].join('/'))
  return { trigger, score, patterns: patterns.length > 0 ? patterns : ['likely'] }
}

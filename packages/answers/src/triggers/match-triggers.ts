import { type Clause, locateTokens, splitClauses } from '../language/clauses.ts'
import { readQuantities } from '../language/quantities.ts'
import { readTokens } from '../language/tokens.ts'
import { likelySections, loadSectionModel } from '../sections/likely-sections.ts'
import type { LikelySubjects } from '../sections/section-index.ts'
import { type CompiledTriggers, compileTriggers } from './compile-triggers.ts'
import { type LikelyTrigger, likelySubject, loadTriggerModel } from './likely-triggers.ts'
import { findPhrases } from './phrase-table.ts'
import { questionFeatures } from './question-features.ts'
import { type FoundEvent, negatedTokens, type Reading, readEvent } from './read-event.ts'
import type { TriggerFile } from './trigger-file.ts'

/** A trigger that the question states. */
export interface TriggerMatch {
  readonly trigger: string
  /** The person's words. */
  readonly matched: readonly string[]
  /** The patterns that matched, for `explain`. */
  readonly patterns: readonly string[]
  /** Indexes of the clauses that state it. */
  readonly clauses: readonly number[]
  /** True if a pattern states it, and the model gives it at least `MIN_CERTAIN`. */
  readonly isCertain: boolean
}

/** A trigger that is likely but not certain. */
export interface SuggestedCheck {
  readonly trigger: string
  /** From 0 to 1. */
  readonly score: number
  readonly patterns: readonly string[]
}

export interface TriggerReading {
  /** The stated triggers, by their precedence. */
  readonly matches: readonly TriggerMatch[]
  /** The likeliest first. */
  readonly weak: readonly SuggestedCheck[]
  readonly clauses: readonly Clause[]
  /** The guides and sections that the question is likely about. */
  readonly likelySubjects: LikelySubjects
  /** The probability that the question is about the subject of a guide, and states no trigger, from 0 to 1. */
  readonly guideSubject: number
  /** The probability that the question is about another subject, from 0 to 1. */
  readonly otherSubject: number
  /** True if the question states a danger to a person. It is then handed off even if it requests help to deceive. */
  readonly dangerStated: boolean
}

const MAX_QUESTION_LENGTH = 1000
/** Numbers of persons and cards: seven digits and more, except two years next to each other. */
const LONG_NUMBER = /(?!(?:19|20)\d\d[\s.-](?:19|20)\d\d(?!\d))(?<!\d)\d(?:[\s.-]?\d){6,}/g

/**
 * A question is handed off from this evidence on: the mean of two logarithms of probabilities by the model, of any trigger and of the
 * likeliest one, plus the evidence of a pattern, less that of guides and of other subjects. Any trigger alone is a worse sign: words
 * that the model does not know give each of them a little. The numbers were fitted to labelled questions that the model did not
 * learn from.
 */
const MIN_EVIDENCE = -0.65
/** Counts if a pattern states the trigger that the model takes for the likeliest. */
const PATTERN_EVIDENCE = 1.2
/** Counts if the likeliest trigger is urgent: missing one does more harm than a needless hand-off. */
const URGENT_EVIDENCE = 0.25
/** The weights of the logarithms of the probabilities of a guide and of another subject; the latter counts from a minimum on. */
const GUIDE_WEIGHT = 0.15
const OTHER_SUBJECT_WEIGHT = 0.25
const MIN_OTHER_SUBJECT_LOG = -3
/** The least probability of a trigger that is reported on the evidence of the model alone. The likeliest one is always reported. */
const LIKELY_ENOUGH = 0.07
/** The same if a pattern states another trigger: a guess should not appear beside a stated trigger, unless it cannot wait. */
const LIKELY_BESIDE_PATTERNS = { urgent: 0.1, high: 0.25, normal: 0.25 }
/** The least probability of a trigger that a pattern states to be certain. */
const MIN_CERTAIN = 0.3
/** The weight of a pattern or weaker sign beside the model, for triggers that are not certain. */
const SIGN_WEIGHT = 0.4
const MIN_SUGGESTED = 0.02

/**
 * Reads which triggers a question states.
 *
 * @param question beyond 1000 characters, the rest is not read.
 * @param triggers in the order of their precedence; prepared once for each list.
 */
export function readTriggers(
  question: string,
  triggers: readonly TriggerFile[],
  today: Date,
): TriggerReading {
  const reading = parseQuestion(question, compileTriggers(triggers), today)
  const { stated, signs } = readEvents(triggers, reading)
  const features = listFeatures(reading, signs)
  const subject = likelySubject(loadTriggerModel(), features)
  // The model knows every trigger, those that operators disabled too.
  const enabled = new Set(triggers.map(({ id }) => id))
  const likely = subject.triggers.filter(({ trigger }) => enabled.has(trigger))
  const isHandOff = hasEvidenceForHandOff(triggers, stated, likely, subject.other)
  const likelyAlone = Math.min(LIKELY_ENOUGH, likely[0]?.probability ?? 0)
  const matches: TriggerMatch[] = []
  const weak: SuggestedCheck[] = []
  for (const { id, urgency } of triggers) {
    const hits = stated.get(id)
    const guess = likely.find(({ trigger }) => trigger === id)
    const leastLikely = stated.size > 0 ? LIKELY_BESIDE_PATTERNS[urgency] : likelyAlone
    if (isHandOff && hits)
      matches.push(buildMatch(id, hits, reading, (guess?.probability ?? 0) >= MIN_CERTAIN))
    else if (isHandOff && guess && guess.probability >= leastLikely)
      matches.push(buildGuessedMatch(guess, reading))
    else {
      const check = buildCheck(id, hits ?? signs.get(id), guess)
      if (check.score >= MIN_SUGGESTED) weak.push(check)
    }
  }
  const danger = new Set(triggers.filter((trigger) => trigger.danger).map(({ id }) => id))
  return {
    matches,
    weak: weak.toSorted((a, b) => b.score - a.score),
    clauses: splitClauses(reading.text, reading.tokens, reading.places),
    likelySubjects: {
      guides: subject.guides,
      sections: likelySections(
        loadSectionModel(),
        features.map(({ name }) => name),
      ),
    },
    guideSubject: 1 - subject.other - sumProbabilities(subject.triggers),
    otherSubject: subject.other,
    dangerStated: matches.some(({ trigger }) => danger.has(trigger)),
  }
}

/** Finds the patterns that a question matches, by trigger, even if it is not handed off. */
export function readPatterns(
  question: string,
  triggers: readonly TriggerFile[],
  today: Date,
): ReadonlyMap<string, readonly string[]> {
  const { stated } = readEvents(triggers, parseQuestion(question, compileTriggers(triggers), today))
  return new Map([...stated].map(([id, found]) => [id, found.map(({ event }) => event.id)]))
}

/** Returns whether patterns and model together are enough evidence for a hand-off. */
function hasEvidenceForHandOff(
  triggers: readonly TriggerFile[],
  stated: ReadonlyMap<string, unknown>,
  likely: readonly LikelyTrigger[],
  otherSubject: number,
): boolean {
  const [likeliest] = likely
  if (likeliest === undefined) return stated.size > 0
  const anyTrigger = sumProbabilities(likely)
  const ofModel = (log(anyTrigger) + log(likeliest.probability)) / 2
  const ofPattern = stated.has(likeliest.trigger) ? PATTERN_EVIDENCE : 0
  const isUrgent = triggers.find(({ id }) => id === likeliest.trigger)?.urgency === 'urgent'
  const ofUrgency = isUrgent ? URGENT_EVIDENCE : 0
  const ofSubjects =
    GUIDE_WEIGHT * log(1 - anyTrigger - otherSubject) +
    OTHER_SUBJECT_WEIGHT * Math.max(log(otherSubject), MIN_OTHER_SUBJECT_LOG)
  return ofModel + ofPattern + ofUrgency - ofSubjects >= MIN_EVIDENCE
}

/** Returns the natural logarithm of a probability, which is first raised to a minimum so that the result is finite. */
const log = (probability: number): number => Math.log(Math.max(probability, 1e-4))

const sumProbabilities = (triggers: readonly LikelyTrigger[]): number =>
  triggers.reduce((sum, { probability }) => sum + probability, 0)

/** Reads the words, quantities and phrases of a question. */
export function parseQuestion(question: string, compiled: CompiledTriggers, today: Date): Reading {
  const text = question
    .slice(0, MAX_QUESTION_LENGTH)
    .replace(LONG_NUMBER, (digits) => '#'.repeat(digits.length))
  const tokens = readTokens(text, compiled.spelling)
  const quantities = readQuantities(tokens, today)
  const hits = findPhrases(compiled.table, tokens, quantities)
  return { compiled, text, tokens, quantities, places: locateTokens(tokens), hits }
}

/** Finds the events that a question states with certainty, and those of which it has a sign, by trigger. */
function readEvents(triggers: readonly TriggerFile[], reading: Reading) {
  const negators = negatedTokens(reading)
  const byTrigger = Map.groupBy(
    reading.compiled.events.flatMap((event) => readEvent(event, reading, negators) ?? []),
    ({ event }) => event.trigger.id,
  )
  const stated = new Map<string, readonly FoundEvent[]>()
  const signs = new Map<string, readonly FoundEvent[]>()
  for (const { id } of triggers) {
    const found = byTrigger.get(id) ?? []
    const certain = found.filter(({ score }) => score === 1)
    if (certain.length > 0) stated.set(id, certain)
    else if (found.length > 0) signs.set(id, found)
  }
  return { stated, signs }
}

/** Computes the features of a question for the model. */
function listFeatures(reading: Reading, signs: ReadonlyMap<string, unknown>) {
  const { compiled, tokens, quantities, hits } = reading
  return questionFeatures({ table: compiled.table, tokens, quantities, hits, signs: [...signs.keys()] })
}

/** Computes the names of the features of a question, for training. */
export function readFeatures(
  question: string,
  triggers: readonly TriggerFile[],
  today: Date,
): readonly string[] {
  const reading = parseQuestion(question, compileTriggers(triggers), today)
  return listFeatures(reading, readEvents(triggers, reading).signs).map(({ name }) => name)
}

function buildMatch(
  trigger: string,
  found: readonly FoundEvent[],
  { text, tokens, places }: Reading,
  isCertain: boolean,
): TriggerMatch {
  const words = new Set<string>()
  const clauses = new Set<number>()
  for (const { start, end } of found.flatMap(({ hits }) => hits)) {
    const phrase = text.slice(tokens[start]?.start, tokens[end - 1]?.end)
    if (!phrase.includes('#')) words.add(phrase)
    for (let at = start; at < end; at += 1) clauses.add(places[at]?.clause ?? 0)
  }
  return {
    trigger,
    matched: [...words],
    patterns: found.map(({ event }) => event.id),
    clauses: [...clauses].toSorted((a, b) => a - b),
    isCertain,
  }
}

function buildGuessedMatch(
  { trigger, tokens: strongest }: LikelyTrigger,
  { text, tokens: all, places }: Reading,
): TriggerMatch {
  const tokens = strongest()
  const phrases = tokens
    .map((at) => text.slice(all[at]?.start, all[at]?.end))
    .filter((words) => !words.includes('#'))
  return {
    trigger,
    matched: [...new Set(phrases)],
    patterns: ['likely'],
    clauses: [...new Set(tokens.map((at) => places[at]?.clause ?? 0))],
    isCertain: false,
  }
}

function buildCheck(
  trigger: string,
  signs: readonly FoundEvent[] = [],
  guess: LikelyTrigger | undefined,
): SuggestedCheck {
  const sign = Math.max(0, ...signs.map(({ score }) => score))
  const score = Math.min(0.99, (guess?.probability ?? 0) + SIGN_WEIGHT * sign)
  const patterns = signs.map(({ event, defused }) => [event.id, ...defused].join('/'))
  return { trigger, score, patterns: patterns.length > 0 ? patterns : ['likely'] }
}

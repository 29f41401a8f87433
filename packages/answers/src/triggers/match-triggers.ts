import { type Clause, clausesOf, type Place, placesOf } from '../language/clauses.ts'
import { type Quantity, readQuantities } from '../language/quantities.ts'
import { readTokens, type Token } from '../language/tokens.ts'
import {
  type CompiledDefuser,
  type CompiledEvent,
  type CompiledTriggers,
  compileTriggers,
} from './compile-triggers.ts'
import { type LikelyTrigger, likelyTriggers, loadTriggerModel } from './likely-triggers.ts'
import { findPhrases, type Hit } from './phrase-table.ts'
import { questionFeatures } from './question-features.ts'
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
}

/** A trigger that is likely and not certain. */
export interface SuggestedCheck {
  readonly trigger: string
  /** From 0 to 1. */
  readonly score: number
  readonly patterns: readonly string[]
}

export interface TriggerReading {
  /** In the order of the triggers' precedence. */
  readonly matches: readonly TriggerMatch[]
  /** The likeliest first. */
  readonly weak: readonly SuggestedCheck[]
  readonly clauses: readonly Clause[]
  /** Whether a danger to a person is stated; such a question is handed off even if it asks for help to deceive. */
  readonly dangerStated: boolean
}

const LONGEST_QUESTION = 1000
/** Numbers of persons and cards: seven digits and more, but for two years. */
const LONG_NUMBER = /(?!(?:19|20)\d\d[\s.-](?:19|20)\d\d(?!\d))(?<!\d)\d(?:[\s.-]?\d){6,}/g
/** How many words before an event can negate it. */
const NEGATION_REACH = 4
/** How many words before anything else that a pattern needs. */
const NEAR_REACH = 2

/** From here the model alone hands off. Urgent triggers are missed at a higher price. */
const LIKELY_ENOUGH = { urgent: 0.5, high: 0.6, normal: 0.6 }
/** How much a weak sign counts beside the model. */
const SIGN_WEIGHT = 0.3
const LEAST_SUGGESTED = 0.02

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
  const reading = readQuestion(question, compileTriggers(triggers), today)
  const { stated, signs } = readEvents(triggers, reading)
  const likely = likelyTriggers(loadTriggerModel(), featuresOf(reading, signs))
  const matches: TriggerMatch[] = []
  const weak: SuggestedCheck[] = []
  for (const trigger of triggers) {
    const own = stated.get(trigger.id)
    const sign = signs.get(trigger.id)
    const guess = likely.find((one) => one.trigger === trigger.id)
    if (own) matches.push(matchOf(trigger.id, own, reading))
    else if (guess && handsOff(guess, likely, trigger, sign)) matches.push(guessedMatch(guess, reading))
    else {
      const check = checkOf(trigger.id, sign, guess)
      if (check.score >= LEAST_SUGGESTED) weak.push(check)
    }
  }
  const danger = new Set(triggers.filter((trigger) => trigger.danger).map(({ id }) => id))
  return {
    matches,
    weak: weak.toSorted((a, b) => b.score - a.score),
    clauses: clausesOf(reading.text, reading.tokens, reading.places),
    dangerStated: [...stated.keys()].some((trigger) => danger.has(trigger)),
  }
}

function readQuestion(question: string, compiled: CompiledTriggers, today: Date): Reading {
  const text = question.slice(0, LONGEST_QUESTION).replace(LONG_NUMBER, (digits) => '#'.repeat(digits.length))
  const tokens = readTokens(text, compiled.spelling)
  const quantities = readQuantities(tokens, today)
  const hits = findPhrases(compiled.table, tokens, quantities)
  return { compiled, text, tokens, quantities, places: placesOf(tokens), hits }
}

/** The events that a question states for certain, and those of which it has a sign, by trigger. */
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

/** What the model knows a question by. */
function featuresOf(reading: Reading, signs: ReadonlyMap<string, unknown>) {
  const { compiled, tokens, quantities, hits } = reading
  return questionFeatures({ table: compiled.table, tokens, quantities, hits, signs: [...signs.keys()] })
}

/** The features of a question, for training. */
export function readFeatures(
  question: string,
  triggers: readonly TriggerFile[],
  today: Date,
): readonly string[] {
  const reading = readQuestion(question, compileTriggers(triggers), today)
  return featuresOf(reading, readEvents(triggers, reading).signs).map(({ name }) => name)
}

/** The model hands off where it is sure of one trigger and nothing in the question took the certainty away. */
function handsOff(
  guess: LikelyTrigger,
  likely: readonly LikelyTrigger[],
  { urgency }: TriggerFile,
  sign: readonly FoundEvent[] | undefined,
): boolean {
  if (guess !== likely[0] || guess.probability < LIKELY_ENOUGH[urgency]) return false
  return !(sign ?? []).some(({ defused }) => defused.length > 0)
}

interface Reading {
  readonly compiled: CompiledTriggers
  readonly text: string
  readonly tokens: readonly Token[]
  readonly quantities: readonly (readonly Quantity[])[]
  readonly places: readonly Place[]
  readonly hits: ReadonlyMap<number, readonly Hit[]>
}

/** An event that the question states, and how certainly: 1 is certain. */
interface FoundEvent {
  readonly event: CompiledEvent
  readonly score: number
  readonly hits: readonly Hit[]
  /** The defusers that took its certainty away. */
  readonly defused: readonly string[]
}

/** The most certain place at which the question states the event. */
function readEvent(
  event: CompiledEvent,
  reading: Reading,
  negators: ReadonlySet<number>,
): FoundEvent | undefined {
  const slots = event.slots.map((slot) => reading.hits.get(slot) ?? [])
  if (slots.some((hits) => hits.length === 0)) return undefined
  let best: FoundEvent | undefined
  for (const anchor of slots[0] ?? []) {
    const hits = [anchor]
    for (const others of slots.slice(1)) {
      const near = nearest(others, hits, event, reading)
      if (!near) break
      hits.push(near)
    }
    if (hits.length < slots.length) continue
    const isDenied = negates(anchor, hits, reading, { negators, reach: NEGATION_REACH })
    if (event.polarity === 'denied' && !isDenied) continue
    if (event.polarity === 'affirmed') {
      const isSlotDenied = hits.some((hit) => negates(hit, hits, reading, { negators, reach: NEAR_REACH }))
      if (isDenied || isSlotDenied) continue
    }
    const defusers = event.defusers.filter((defuser) => defuses(defuser, hits, reading))
    const score = Math.min(event.score ?? 1, ...defusers.map(({ leaves }) => leaves))
    if (score > (best?.score ?? 0)) best = { event, score, hits, defused: defusers.map(({ id }) => id) }
    if (best?.score === (event.score ?? 1)) return best
  }
  return best
}

/** The hit that is nearest to the event and within its window, without words that are taken already. */
function nearest(
  candidates: readonly Hit[],
  taken: readonly Hit[],
  { window, within }: CompiledEvent,
  { places }: Reading,
): Hit | undefined {
  const [anchor] = taken as [Hit]
  let [best, least] = [undefined as Hit | undefined, within === 'question' ? Infinity : window]
  for (const hit of firstWithin(candidates, anchor, window, within)) {
    if (taken.some(({ start, end }) => hit.start < end && start < hit.end)) continue
    const [left, right] = hit.start < anchor.start ? [hit, anchor] : [anchor, hit]
    const [from, to] = [places[left.end - 1], places[right.start]]
    if (!from || !to || (within === 'sentence' && from.sentence !== to.sentence)) continue
    const distance = to.position - from.position - 1
    if (distance <= least && (best === undefined || distance < least)) [best, least] = [hit, distance]
  }
  return best
}

/** The candidates that can be near the event: a window's worth on either side. */
function firstWithin(
  candidates: readonly Hit[],
  anchor: Hit,
  window: number,
  within: CompiledEvent['within'],
): readonly Hit[] {
  if (within === 'question') return candidates
  const longest = 12
  return candidates.filter(
    ({ start, end }) => start <= anchor.end + window && end + longest >= anchor.start - window,
  )
}

/** The tokens that negate what follows them. */
function negatedTokens({ compiled, hits }: Reading): ReadonlySet<number> {
  const excepted = hits.get(compiled.notNegators) ?? []
  return new Set(
    (hits.get(compiled.negators) ?? [])
      .map(({ end }) => end - 1)
      .filter((at) => !excepted.some(({ start, end }) => start <= at && at < end)),
  )
}

function negates(
  { start }: Hit,
  hits: readonly Hit[],
  { places }: Reading,
  { negators, reach }: { negators: ReadonlySet<number>; reach: number },
): boolean {
  const clause = places[start]?.clause
  for (let at = start - 1; at >= start - reach && places[at]?.clause === clause; at -= 1) {
    if (negators.has(at) && !hits.some((hit) => hit.start <= at && at < hit.end)) return true
  }
  return false
}

function defuses(
  { words, within, unless }: CompiledDefuser,
  hits: readonly Hit[],
  { hits: all, places }: Reading,
): boolean {
  const found = all.get(words) ?? []
  if (found.length === 0) return false
  const [event] = hits as [Hit]
  const { clause, sentence } = places[event.start] as Place
  const isNear = ({ start }: Hit) => {
    if (within === 'question') return true
    if (within === 'sentence') return places[start]?.sentence === sentence
    return places[start]?.clause === clause && (within === 'clause' || start <= event.start)
  }
  if (!found.some(isNear)) return false
  if (unless === undefined) return true
  const clauses = new Set(hits.map(({ start }) => places[start]?.clause))
  return !(all.get(unless) ?? []).some(({ start }) => clauses.has(places[start]?.clause))
}

function matchOf(trigger: string, found: readonly FoundEvent[], { text, tokens, places }: Reading): TriggerMatch {
  const words = new Set<string>()
  const clauses = new Set<number>()
  for (const { start, end } of found.flatMap(({ hits }) => hits)) {
    const said = text.slice(tokens[start]?.start, tokens[end - 1]?.end)
    if (!said.includes('#')) words.add(said)
    for (let at = start; at < end; at += 1) clauses.add(places[at]?.clause ?? 0)
  }
  return {
    trigger,
    matched: [...words],
    patterns: found.map(({ event }) => event.id),
    clauses: [...clauses].toSorted((a, b) => a - b),
  }
}

function guessedMatch({ trigger, tokens }: LikelyTrigger, { text, tokens: all, places }: Reading): TriggerMatch {
  const said = tokens.map((at) => text.slice(all[at]?.start, all[at]?.end)).filter((words) => !words.includes('#'))
  return {
    trigger,
    matched: [...new Set(said)],
    patterns: ['likely'],
    clauses: [...new Set(tokens.map((at) => places[at]?.clause ?? 0))],
  }
}

function checkOf(
  trigger: string,
  signs: readonly FoundEvent[] = [],
  guess: LikelyTrigger | undefined,
): SuggestedCheck {
  const sign = Math.max(0, ...signs.map(({ score }) => score))
  const score = Math.min(0.99, (guess?.probability ?? 0) + SIGN_WEIGHT * sign)
  const patterns = signs.map(({ event, defused }) => [event.id, ...defused].join('/'))
  return { trigger, score, patterns: patterns.length > 0 ? patterns : ['likely'] }
}

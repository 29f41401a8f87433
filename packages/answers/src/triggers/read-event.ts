import type { Place } from '../language/clauses.ts'
import type { Quantity } from '../language/quantities.ts'
import type { Token } from '../language/tokens.ts'
import type { CompiledDefuser, CompiledEvent, CompiledTriggers } from './compile-triggers.ts'
import type { Hit, PhraseHits } from './phrase-table.ts'

/** A question with its tokens, quantities and phrases. */
export interface Reading {
  readonly compiled: CompiledTriggers
  readonly text: string
  readonly tokens: readonly Token[]
  readonly quantities: readonly (readonly Quantity[])[]
  readonly places: readonly Place[]
  readonly hits: PhraseHits
}

/** An event that the question states, and how certainly: 1 is certain. */
export interface FoundEvent {
  readonly event: CompiledEvent
  readonly score: number
  readonly hits: readonly Hit[]
  /** The defusers that reduced its certainty. */
  readonly defused: readonly string[]
}

/** The number of words before an event in which a negation applies to it. */
const NEGATION_REACH = 5
/** The number of words before another slot of a pattern in which a negation applies to that slot. */
const NEAR_REACH = 2
/** The longest hit, in words. */
const MAX_HIT_LENGTH = 12
/** The additional width of a window that may cross the end of a sentence. */
const QUESTION_SLACK = 20
/** The largest distance between the words of an event that may cross the end of a sentence. */
const MAX_REACH = 90
/** These bound the work on repetitive texts. */
const MAX_ANCHORS = 30
const MAX_CANDIDATES = 60

/** Finds the most certain statement of an event in a question; undefined if there is none. */
export function readEvent(
  event: CompiledEvent,
  reading: Reading,
  negators: ReadonlySet<number>,
): FoundEvent | undefined {
  if (!event.slots.every((slot) => reading.hits.has(slot))) return undefined
  const slots = event.slots.map((slot) => reading.hits.of(slot))
  let best: FoundEvent | undefined
  for (const anchor of (slots[0] ?? []).slice(0, MAX_ANCHORS)) {
    const hits = [anchor]
    for (const others of slots.slice(1)) {
      const near = nearest(others, hits, event, reading)
      if (!near) break
      hits.push(near)
    }
    if (hits.length < slots.length) continue
    const isDenied =
      negates(anchor, hits, reading, { negators, reach: NEGATION_REACH }) || isAnsweredNo(anchor, reading)
    if (event.polarity === 'denied' && !isDenied) continue
    if (event.polarity === 'affirmed') {
      const isSlotDenied = hits.some((hit) => negates(hit, hits, reading, { negators, reach: NEAR_REACH }))
      if (isDenied || isSlotDenied || (!event.saysNot && hasNegator(anchor, negators))) continue
    }
    const defusers = event.defusers.filter((defuser) => defuses(defuser, hits, reading))
    const score = Math.min(event.score ?? 1, ...defusers.map(({ leaves }) => leaves))
    if (score > (best?.score ?? 0)) best = { event, score, hits, defused: defusers.map(({ id }) => id) }
    if (best?.score === (event.score ?? 1)) return best
  }
  return best
}

/** Finds the hit that is nearest to the event and within its window, and does not overlap hits of other slots. */
function nearest(
  candidates: readonly Hit[],
  taken: readonly Hit[],
  { window, within }: CompiledEvent,
  { places }: Reading,
): Hit | undefined {
  const [anchor] = taken as [Hit]
  let [best, least] = [undefined as Hit | undefined, within === 'question' ? window + QUESTION_SLACK : window]
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

/** Selects the candidates within a window on either side of the event, from left to right. */
function firstWithin(
  candidates: readonly Hit[],
  anchor: Hit,
  window: number,
  within: CompiledEvent['within'],
): readonly Hit[] {
  const reach = within === 'question' ? MAX_REACH : window
  let [low, high] = [0, candidates.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((candidates[middle]?.start ?? 0) < anchor.start - reach - MAX_HIT_LENGTH) low = middle + 1
    else high = middle
  }
  let end = low
  while (
    end < candidates.length &&
    end - low < MAX_CANDIDATES &&
    (candidates[end]?.start ?? 0) <= anchor.end + reach
  )
    end += 1
  return candidates.slice(low, end)
}

/** Finds the tokens that negate the words after them. */
export function negatedTokens({ compiled, hits }: Reading): ReadonlySet<number> {
  const exceptions = hits.of(compiled.notNegators)
  return new Set(
    hits
      .of(compiled.negators)
      .map(({ end }) => end - 1)
      .filter((at) => !exceptions.some(({ start, end }) => start <= at && at < end)),
  )
}

/** Tells whether a gap of a hit contains a negation: "I never paid anybody". */
function hasNegator({ start, end }: Hit, negators: ReadonlySet<number>): boolean {
  for (let at = start; at < end; at += 1) if (negators.has(at)) return true
  return false
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

const NO = new Set(['no', 'none', 'never', 'nothing'])
/** The most words of an item in a list of answers: "arrests or citations no", "police contact: none". */
const MAX_ITEM_LENGTH = 6

/** Tells whether a hit is an item of a list and its answer is no. */
function isAnsweredNo({ start, end }: Hit, { places, tokens, text }: Reading): boolean {
  const clause = places[start]?.clause
  let after = end
  while (after < start + MAX_ITEM_LENGTH && places[after]?.clause === clause) after += 1
  if (places[after]?.clause === clause) return false
  const isLastNo = after - 1 >= end && NO.has(tokens[after - 1]?.word ?? '')
  if (isLastNo) return !/^(?:or|if|say|said|yes)$/.test(tokens[after - 2]?.word ?? '')
  const [last, next] = [tokens[after - 1], tokens[after]]
  return NO.has(next?.word ?? '') && text.slice(last?.end, next?.start).includes(':')
}

function defuses(
  { words, within, unless }: CompiledDefuser,
  hits: readonly Hit[],
  { hits: all, places }: Reading,
): boolean {
  if (!all.has(words)) return false
  const found = all.of(words)
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
  return !all.of(unless).some(({ start }) => clauses.has(places[start]?.clause))
}

import type { TokenLocation } from '../language/clauses.ts'
import type { Quantity } from '../language/quantities.ts'
import type { Token } from '../language/tokens.ts'
import type { CompiledDefuser, CompiledEvent, CompiledTriggers } from './compile-triggers.ts'
import type { Hit, PhraseHits } from './find-phrases.ts'

/** A question with its tokens, quantities and phrases. */
export interface ParsedQuestion {
  readonly compiled: CompiledTriggers
  /** The question, with `#` in place of the digits of long numbers. */
  readonly text: string
  readonly tokens: readonly Token[]
  readonly quantities: readonly (readonly Quantity[])[]
  readonly locations: readonly TokenLocation[]
  readonly hits: PhraseHits
}

/** An event that the question states, perhaps with a reduced score. */
export interface FoundEvent {
  readonly event: CompiledEvent
  /** Above 0. A certain event has the score 1. */
  readonly score: number
  /** The hit of each slot. The hit of the first slot, the anchor, is the event itself. */
  readonly hits: readonly Hit[]
  /** The ids of the defusers that reduced the score. */
  readonly defuserIds: readonly string[]
}

/** The number of words before an event in which a negation applies to it. */
const NEGATION_REACH = 5
/** The number of words before any slot of a pattern in which a negation applies to that slot. */
const SLOT_NEGATION_REACH = 2
/** A hit that begins up to this many words before the window is considered too, because its end can be in the window. */
const MAX_WORDS_BEFORE_WINDOW = 12
/** The additional width, in words, of a window that can cross the end of a sentence. */
const QUESTION_SLACK = 20
/**
 * The number of words on either side of an event in which hits are considered if they can be in another sentence. It exceeds the
 * widest window that a trigger file allows, 60 words, with `QUESTION_SLACK`.
 */
const MAX_REACH = 90
/** The maximum number of hits of the first slot that are considered. Bounds the work on repetitive texts. */
const MAX_ANCHORS = 30
/** The same for the hits of another slot near one anchor. */
const MAX_CANDIDATES = 60

/** Finds the statement of an event with the highest score in a question; undefined if no statement has a score above 0. */
export function readEvent(
  event: CompiledEvent,
  parsedQuestion: ParsedQuestion,
  negators: ReadonlySet<number>,
): FoundEvent | undefined {
  if (!event.slots.every((slot) => parsedQuestion.hits.has(slot))) return undefined
  const slots = event.slots.map((slot) => parsedQuestion.hits.of(slot))
  let best: FoundEvent | undefined
  for (const anchor of (slots[0] ?? []).slice(0, MAX_ANCHORS)) {
    const hits = [anchor]
    for (const candidates of slots.slice(1)) {
      const nearestHit = findNearestHit(candidates, hits, event, parsedQuestion)
      if (!nearestHit) break
      hits.push(nearestHit)
    }
    if (hits.length < slots.length) continue
    const isDenied =
      isNegated(anchor, hits, parsedQuestion, { negators, reach: NEGATION_REACH }) ||
      isAnsweredNo(anchor, parsedQuestion)
    if (event.polarity === 'denied' && !isDenied) continue
    if (event.polarity === 'affirmed') {
      const isSlotDenied = hits.some((hit) =>
        isNegated(hit, hits, parsedQuestion, { negators, reach: SLOT_NEGATION_REACH }),
      )
      if (isDenied || isSlotDenied || hasNegatorInGap(anchor, slots[0] ?? [], event, negators)) continue
    }
    const defusers = event.defusers.filter((defuser) => isDefusedBy(defuser, hits, parsedQuestion))
    const score = Math.min(event.score ?? 1, ...defusers.map(({ leaves }) => leaves))
    if (score > (best?.score ?? 0)) best = { event, score, hits, defuserIds: defusers.map(({ id }) => id) }
    if (best?.score === (event.score ?? 1)) return best
  }
  return best
}

/** Finds the hit that is nearest to the first slot and within the window, and does not overlap hits of other slots. */
function findNearestHit(
  candidates: readonly Hit[],
  hitsOfOtherSlots: readonly Hit[],
  { window, within }: CompiledEvent,
  { locations }: ParsedQuestion,
): Hit | undefined {
  const [anchor] = hitsOfOtherSlots as [Hit]
  let nearestHit: Hit | undefined
  let minDistance = within === 'question' ? window + QUESTION_SLACK : window
  for (const hit of selectCandidates(candidates, anchor, window, within)) {
    if (hitsOfOtherSlots.some(({ start, end }) => hit.start < end && start < hit.end)) continue
    const [left, right] = hit.start < anchor.start ? [hit, anchor] : [anchor, hit]
    const [from, to] = [locations[left.end - 1], locations[right.start]]
    if (!from || !to || (within === 'sentence' && from.sentence !== to.sentence)) continue
    const distance = to.position - from.position - 1
    if (distance < minDistance || (distance === minDistance && nearestHit === undefined)) {
      nearestHit = hit
      minDistance = distance
    }
  }
  return nearestHit
}

/** Selects the candidates within reach on either side of the event, from left to right, `MAX_CANDIDATES` at most. */
function selectCandidates(
  candidates: readonly Hit[],
  anchor: Hit,
  window: number,
  within: CompiledEvent['within'],
): readonly Hit[] {
  const reach = within === 'question' ? MAX_REACH : window
  let [low, high] = [0, candidates.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((candidates[middle]?.start ?? 0) < anchor.start - reach - MAX_WORDS_BEFORE_WINDOW) low = middle + 1
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

/** Finds the indexes of the tokens that negate the words after them. */
export function findNegators({ compiled, hits }: ParsedQuestion): ReadonlySet<number> {
  const exceptions = hits.of(compiled.notNegators)
  return new Set(
    hits
      .of(compiled.negators)
      .map(({ end }) => end - 1)
      .filter((index) => !exceptions.some(({ start, end }) => start <= index && index < end)),
  )
}

/**
 * Returns whether a gap of an anchor matches a negation, as in "I never paid anybody". If the pattern itself has a negation, a
 * negation counts as in a gap only if the words after it also match ("I never voted").
 */
function hasNegatorInGap(
  { start, end }: Hit,
  anchors: readonly Hit[],
  { hasNegation }: CompiledEvent,
  negators: ReadonlySet<number>,
): boolean {
  for (let index = start; index < end; index += 1) {
    if (!negators.has(index)) continue
    if (!hasNegation || anchors.some((other) => other.end === end && other.start > index)) return true
  }
  return false
}

/** Words over which a negation reaches: "no arrests or other problems", "nobody was ever deported". */
const CARRYING_WORDS = new Set(['any', 'ever', 'or', 'nor', 'other', 'either'])

/** Returns whether a negation precedes a hit in its clause, within `reach` words and `CARRYING_WORDS`, and is in no hit of the event. */
function isNegated(
  { start }: Hit,
  hits: readonly Hit[],
  { locations, tokens }: ParsedQuestion,
  { negators, reach }: { negators: ReadonlySet<number>; reach: number },
): boolean {
  const clause = locations[start]?.clause
  let wordsLeft = reach
  for (let index = start - 1; wordsLeft > 0 && locations[index]?.clause === clause; index -= 1) {
    if (negators.has(index) && !hits.some((hit) => hit.start <= index && index < hit.end)) return true
    if (!CARRYING_WORDS.has(tokens[index]?.word ?? '')) wordsLeft -= 1
  }
  return false
}

const NEGATIVE_ANSWERS = new Set(['no', 'none', 'never', 'nothing'])
/** The maximum number of words of an item in a list of answers: "arrests or citations no", "police contact: none". */
const MAX_ITEM_LENGTH = 6

/** Returns whether a hit is an item of a list and its answer is no. */
function isAnsweredNo({ start, end }: Hit, { locations, tokens, text }: ParsedQuestion): boolean {
  const clause = locations[start]?.clause
  let after = end
  while (after < start + MAX_ITEM_LENGTH && locations[after]?.clause === clause) after += 1
  if (locations[after]?.clause === clause) return false
  const isLastNo = after - 1 >= end && NEGATIVE_ANSWERS.has(tokens[after - 1]?.word ?? '')
  // The last word of "yes or no", "if no" or "they said no" is not the person's answer.
  if (isLastNo) return !/^(?:or|if|say|said|yes)$/.test(tokens[after - 2]?.word ?? '')
  const [last, next] = [tokens[after - 1], tokens[after]]
  return NEGATIVE_ANSWERS.has(next?.word ?? '') && text.slice(last?.end, next?.start).includes(':')
}

/** Returns whether a defuser's words are near an event, and no words in the event's clauses disable the defuser. */
function isDefusedBy(
  { words, within, unless }: CompiledDefuser,
  hits: readonly Hit[],
  { hits: allHits, locations }: ParsedQuestion,
): boolean {
  if (!allHits.has(words)) return false
  const [anchor] = hits as [Hit]
  const { clause, sentence } = locations[anchor.start] as TokenLocation
  const isNear = ({ start }: Hit) => {
    if (within === 'question') return true
    if (within === 'sentence') return locations[start]?.sentence === sentence
    return locations[start]?.clause === clause && (within === 'clause' || start <= anchor.start)
  }
  if (!allHits.of(words).some(isNear)) return false
  if (unless === undefined) return true
  const clauses = new Set(hits.map(({ start }) => locations[start]?.clause))
  return !allHits.of(unless).some(({ start }) => clauses.has(locations[start]?.clause))
}

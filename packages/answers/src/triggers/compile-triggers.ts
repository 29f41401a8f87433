import { loadGuides } from '@plainpath/guides'
import { createOneMistakeCorrector } from '../language/spelling.ts'
import type { CorrectSpelling } from '../language/tokens.ts'
import { createPhraseTable, type PhraseTable } from './phrase-table.ts'
import { type GeneralDefuser, loadSharedWords } from './shared-words.ts'
import type { TriggerFile } from './trigger-file.ts'

type Pattern = TriggerFile['patterns'][number]
type Defuser = TriggerFile['defusers'][number]

/** A pattern or a weak pattern of a trigger. Symbols of the phrase table stand for its expressions. */
export interface CompiledEvent {
  readonly id: string
  readonly trigger: TriggerFile
  /** The first slot is the event itself; the others must be near it. */
  readonly slots: readonly number[]
  /** True if the expression of the first slot contains a negation. */
  readonly hasNegation: boolean
  readonly polarity: Pattern['polarity']
  /** The maximum number of words between the first slot and another. */
  readonly window: number
  readonly within: Pattern['within']
  /** The score of a weak pattern. Absent for a pattern, whose score is 1. */
  readonly score?: number
  readonly defusers: readonly CompiledDefuser[]
}

export interface CompiledDefuser {
  readonly id: string
  /** The symbol of the words that defuse an event. */
  readonly words: number
  readonly within: GeneralDefuser['within']
  /** The symbol of the words that disable the defuser. */
  readonly unless?: number
  /** The score that remains to a defused event. */
  readonly leaves: number
}

export interface CompiledTriggers {
  readonly table: PhraseTable
  readonly correctSpelling: CorrectSpelling
  readonly events: readonly CompiledEvent[]
  /** The symbol of the phrases that negate the words after them. */
  readonly negators: number
  /** The symbol of the phrases whose words do not negate, although they contain a negator. */
  readonly notNegators: number
}

/** `NEGATORS` and `NOT_NEGATORS` are classes of the lexicon. */
const NEGATORS = '{negator}'
/** Matches a negation that a slot spells out, such as `never filed`. */
const NEGATION = /\b(?:not|never|no|nobody|nothing|without|nor|none)\b/
const NOT_NEGATORS = '{not-a-negation}'

const compiledByList = new WeakMap<readonly TriggerFile[], CompiledTriggers>()

/**
 * Compiles triggers for matching, once for each list.
 *
 * @throws {Error} if an expression is invalid
 */
export function compileTriggers(triggers: readonly TriggerFile[]): CompiledTriggers {
  const cachedTriggers = compiledByList.get(triggers)
  if (cachedTriggers) return cachedTriggers
  const compiledTriggers = compile(triggers)
  compiledByList.set(triggers, compiledTriggers)
  return compiledTriggers
}

function compile(triggers: readonly TriggerFile[]): CompiledTriggers {
  const shared = loadSharedWords()
  const expressions = triggers.flatMap(({ patterns, weak, defusers }) => [
    ...[...patterns, ...weak].flatMap(({ slots }) => slots),
    ...defusers.map(({ words }) => words),
  ])
  const generalExpressions = shared.defusers.flatMap(({ words, unless }) =>
    unless ? [words, unless] : [words],
  )
  const table = createPhraseTable(shared.classes, [
    ...expressions,
    ...generalExpressions,
    NEGATORS,
    NOT_NEGATORS,
  ])
  // The table contains every expression that is looked up, so -1 does not occur.
  const getSymbol = (expression: string) => table.symbols.get(expression) ?? -1
  const generalDefusers = shared.defusers.map(
    ({ id, words, within, unless, leaves }): CompiledDefuser => ({
      id,
      words: getSymbol(words),
      within,
      leaves,
      ...(unless && { unless: getSymbol(unless) }),
    }),
  )
  const compileOwnDefuser = ({ id, words, within }: Defuser): CompiledDefuser => ({
    id,
    words: getSymbol(words),
    within,
    leaves: 0,
  })
  const events = triggers.flatMap((trigger): CompiledEvent[] => [
    ...trigger.patterns.map(({ id, slots, polarity, window, within, despite }) => ({
      id,
      trigger,
      slots: slots.map(getSymbol),
      hasNegation: NEGATION.test(slots[0] ?? ''),
      polarity,
      window,
      within,
      defusers: [
        ...generalDefusers.filter((defuser) => !despite.includes(defuser.id)),
        ...trigger.defusers.filter((defuser) => defuser.of?.includes(id) ?? true).map(compileOwnDefuser),
      ],
    })),
    ...trigger.weak.map(({ id, slots, polarity, window, within, score }) => ({
      id,
      trigger,
      slots: slots.map(getSymbol),
      hasNegation: NEGATION.test(slots[0] ?? ''),
      polarity,
      window,
      within,
      score,
      defusers: [],
    })),
  ])
  const correctSpelling = createOneMistakeCorrector(table.vocabulary, listGuideWords())
  return {
    table,
    correctSpelling,
    events,
    negators: getSymbol(NEGATORS),
    notNegators: getSymbol(NOT_NEGATORS),
  }
}

/** Lists the words of the guides, which are correct even if no pattern uses them. */
function listGuideWords(): ReadonlySet<string> {
  const text = loadGuides()
    .map(({ body }) => body)
    .join(' ')
  return new Set(text.toLowerCase().match(/[a-z]+/g))
}

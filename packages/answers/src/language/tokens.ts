import { EVERYDAY_WORDS } from './everyday-words.ts'
import { findLemmas } from './lemmas.ts'

/** A word of a question, in the spelling that patterns use. */
export interface Token {
  readonly word: string
  /** The keys that patterns match: the word itself, and `lemma~` for each of its possible lemmas. */
  readonly keys: readonly string[]
  /** Offsets in the question, in UTF-16 units. */
  readonly start: number
  readonly end: number
  /** The break before the word: 0 for none, 1 for a new clause, 2 for a new sentence. */
  readonly breakBefore: 0 | 1 | 2
}

/** Corrects a misspelled word; returns any other word unchanged. */
export type CorrectSpelling = (word: string) => string

const keepSpelling: CorrectSpelling = (word) => word

// The alternatives match `I.C.E.` | `2026-11-23` | `11/23` | `I-751` and `h1b` | `4` | `don't` | any sign. Matching takes linear time.
const QUESTION_PART =
  /(?<![\p{L}\p{N}.])\p{L}(?:\.\p{L}){2,}(?![\p{L}\p{N}])\.?|\d{4}-\d\d-\d\d(?!\d)|(?<![\d/])\d{1,2}\/\d{1,2}(?:\/(?:\d{4}|\d{2}))?(?![\d/])|(?<![\p{L}\p{N}])[a-z]{1,4}-?\d{1,4}[a-z]?(?![\p{L}\p{N}])|\d+(?:[.,]\d+)*|[\p{L}\p{M}]+(?:['’‘´`′][\p{L}\p{M}]+)*|[^\s\p{L}\p{N}]/giu
const SENTENCE_ENDS = new Set(['.', '?', '!', ';', '¿', '¡', '…', '•', '|'])
const CLAUSE_ENDS = new Set([',', ':', '(', ')', '[', ']', '-', '–', '—', '/', '"', '“', '”', '*'])

/** Words that begin a clause. */
const CONJUNCTIONS = new Set([
  'but',
  'because',
  'also',
  'so',
  'then',
  'if',
  'when',
  'while',
  'although',
  'since',
])
/** Words that begin a clause only if one of `CLAUSE_STARTS` follows. */
const JOINING_WORDS = new Set(['and', 'or', 'now', 'that'])
/** Subjects, question words and verbs with which a clause goes on after a joining word. */
const CLAUSE_STARTS = new Set(
  'i we he she they it my our his her the this that you now there somebody someone nobody who what how can do does is will am are then want'.split(
    ' ',
  ),
)

/** Splits a question into words. Takes time linear in the question's length. */
export function readTokens(
  question: string,
  correctSpelling: CorrectSpelling = keepSpelling,
): readonly Token[] {
  const tokens: Token[] = []
  const wordsByText = new Map<string, readonly Pick<Token, 'word' | 'keys'>[]>()
  let pendingBreak: 0 | 1 | 2 = 0
  let lastEnd = 0
  for (const { 0: raw, index: start } of question.matchAll(QUESTION_PART)) {
    if (question.slice(lastEnd, start).includes('\n')) pendingBreak = 2
    const end = start + raw.length
    lastEnd = end
    if (/[\p{L}\p{N}]/u.test(raw)) {
      const words =
        wordsByText.get(raw) ??
        normalizeWords(raw, correctSpelling).map((word) => ({ word, keys: listPatternKeys(word) }))
      wordsByText.set(raw, words)
      for (const word of words) {
        tokens.push({ ...word, start, end, breakBefore: pendingBreak })
        pendingBreak = 0
      }
    } else if (SENTENCE_ENDS.has(raw) || /\p{Extended_Pictographic}/u.test(raw)) pendingBreak = 2
    else if (CLAUSE_ENDS.has(raw) && pendingBreak < 2) pendingBreak = 1
  }
  return tokens.map((token, index) => ({ ...token, breakBefore: findBreakBefore(tokens, index) }))
}

function findBreakBefore(tokens: readonly Token[], index: number): 0 | 1 | 2 {
  const { word, breakBefore: punctuation } = tokens[index] as Token
  if (index === 0) return 2
  if (punctuation > 0) return punctuation
  if (CONJUNCTIONS.has(word)) return 1
  return JOINING_WORDS.has(word) && CLAUSE_STARTS.has(tokens[index + 1]?.word ?? '') ? 1 : 0
}

/** Returns the word in the spelling of patterns; several words for a short form of them. A date stays unchanged. */
function normalizeWords(raw: string, correctSpelling: CorrectSpelling): readonly string[] {
  if (/^\d+[-/]\d/.test(raw)) return [raw]
  const plain = raw
    // Before the normalization, because it decomposes an acute accent to a space and a mark.
    .replace(/['’‘´`′ʼ-]/g, '')
    .replace(/(?<=\p{L})\./gu, '')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
  const word = EVERYDAY_WORDS.has(plain) ? plain : correctSpelling(plain)
  return (EVERYDAY_WORDS.get(word) ?? word).split(' ')
}

function listPatternKeys(word: string): readonly string[] {
  return [word, ...findLemmas(word).map((lemma) => `${lemma}~`)]
}

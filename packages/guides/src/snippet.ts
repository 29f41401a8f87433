import { sentencesOf } from './reading-grade.ts'
import { termsOf, wordsOf } from './search-terms.ts'

const LONGEST = 240

interface Sentence {
  readonly terms: ReadonlySet<string>
  /** It, and what follows it in its paragraph while there is room; plain text. */
  readonly text: string
}

/** Chooses from a text the sentence that holds the most of the terms it is given, the first of equals. */
export function snippetsOf(blocks: readonly string[]): (terms: readonly string[]) => string {
  let sentences: readonly Sentence[] | undefined
  return (terms) => {
    sentences ??= blocks.flatMap(sentencesIn)
    let best: { text: string; found: number } = { text: '', found: -1 }
    for (const { text, terms: held } of sentences) {
      const found = terms.filter((term) => held.has(term)).length
      if (found > best.found) best = { text, found }
    }
    return best.text
  }
}

function sentencesIn(block: string): Sentence[] {
  const sentences = sentencesOf(block)
  return sentences.map((sentence, at) => ({
    terms: new Set(termsOf(wordsOf(sentence))),
    text: shortened(sentences.slice(at)),
  }))
}

function shortened([first = '', ...others]: readonly string[]): string {
  let text = first
  for (const next of others) {
    if (text.length + next.length + 1 > LONGEST) break
    text += ` ${next}`
  }
  return text.length <= LONGEST ? text : `${text.slice(0, text.lastIndexOf(' ', LONGEST - 2))} …`
}

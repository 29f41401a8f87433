import type { Ended } from '@plainpath/revocation'
import type { Introspection } from './introspection.ts'

export type ActiveAnswer = Extract<Introspection, { active: true }>

interface Kept {
  readonly answer: ActiveAnswer
  /** By the member's clock. */
  readonly until: number
}

/** Answers in memory under the hash of their token; the ones unused longest go when there are too many. */
export interface KeptAnswers {
  readonly size: number
  find(hash: string, now: number): ActiveAnswer | undefined
  keep(hash: string, answer: ActiveAnswer, until: number): void
  forget(ended: Ended): void
}

export function keptAnswers(most: number): KeptAnswers {
  const kept = new Map<string, Kept>()
  return {
    get size() {
      return kept.size
    },
    find(hash, now) {
      const found = kept.get(hash)
      if (!found) return undefined
      kept.delete(hash)
      if (now >= found.until) return undefined
      // A Map lists what was put in last at the end.
      kept.set(hash, found)
      return found.answer
    },
    keep(hash, answer, until) {
      kept.delete(hash)
      kept.set(hash, { answer, until })
      if (kept.size <= most) return
      for (const [oldest] of kept) return void kept.delete(oldest)
    },
    forget(ended) {
      if (ended.kind === 'token') kept.delete(ended.hash)
      else if (ended.kind === 'everything') kept.clear()
      else for (const [hash, { answer }] of kept) if (answer.clientId === ended.id) kept.delete(hash)
    },
  }
}

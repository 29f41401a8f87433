import { readFileSync } from 'node:fs'
import { wordsOf } from '@plainpath/guides'
import { parse } from 'yaml'
import { z } from 'zod'

const Phrases = z.array(z.coerce.string().min(1)).min(1)

const ScopeFile = z.strictObject({
  groups: z.record(z.string(), Phrases),
  rules: z.array(
    z.strictObject({
      id: z.string(),
      reason: z.enum(['other-country', 'other-subject', 'no-guide', 'asks-to-deceive']),
      /** A key of `official-links.yaml`. */
      link: z.string().optional(),
      /** The rule does not hold once this guide is published. */
      unlessGuide: z.string().optional(),
      says: Phrases,
      with: z.array(Phrases).default([]),
      unless: Phrases.optional(),
    }),
  ),
})

export type OutOfScopeReason = z.infer<typeof ScopeFile>['rules'][number]['reason'] | 'not-understood'

export interface ScopeRule {
  readonly id: string
  readonly reason: Exclude<OutOfScopeReason, 'not-understood'>
  readonly link: string | undefined
  readonly unlessGuide: string | undefined
  /** Whether the rule holds for words joined by one space, with one before and one after. */
  readonly holds: (words: string) => boolean
}

export interface ScopeRules {
  readonly rules: readonly ScopeRule[]
  /** Whether the words place a question in US immigration. */
  readonly isImmigration: (words: string) => boolean
}

/** A question as rules compare it: words of one space each, with one before and one after. */
export const scopeWords = (question: string): string => ` ${wordsOf(question).join(' ')} `

let read: ScopeRules | undefined

/** The rules of `data/scope.yaml`; read once. */
export function loadScopeRules(): ScopeRules {
  if (read !== undefined) return read
  const file = ScopeFile.parse(parse(readFileSync(new URL('../../data/scope.yaml', import.meta.url), 'utf8')))
  const matcher = (phrases: readonly string[]) => anyOf(phrases, file.groups)
  const immigration = matcher(file.groups['immigration'] ?? [])
  read = {
    isImmigration: (words) => immigration.test(words),
    rules: file.rules.map(({ says, with: lists, unless, ...rule }) => {
      const said = matcher(says)
      const needed = lists.map(matcher)
      const excluded = unless && matcher(unless)
      return {
        id: rule.id,
        reason: rule.reason,
        link: rule.link,
        unlessGuide: rule.unlessGuide,
        holds: (words) =>
          said.test(words) && needed.every((list) => list.test(words)) && excluded?.test(words) !== true,
      }
    }),
  }
  return read
}

/** One expression for a list of phrases. Each begins and ends at a space and gaps are bounded, so that matching is linear. */
function anyOf(phrases: readonly string[], groups: Readonly<Record<string, readonly string[]>>): RegExp {
  const source = (phrase: string): string =>
    phrase
      .split(' .. ')
      .map((part) =>
        part
          .split(' ')
          .map((word) => {
            if (word.startsWith('@')) return `(?:${(groups[word.slice(1)] ?? []).map(source).join('|')})`
            return wordsOf(word.replaceAll('*', '')).join(' ') + (word.endsWith('*') ? '[^ ]*' : '')
          })
          .join(' '),
      )
      .join('(?: [^ ]+){0,4}? ')
  return new RegExp(` (?:${phrases.map(source).join('|')})(?= )`)
}

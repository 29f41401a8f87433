import { readdirSync, readFileSync } from 'node:fs'
import { splitWords } from '@plainpath/guides'
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
      /** The rule does not apply once this guide is published. */
      unlessGuide: z.string().optional(),
      /** The rule's phrases are common, so it matches only if no phrase shows that the question is about US immigration. */
      weak: z.boolean().default(false),
      /** The rule takes precedence over triggers that are not urgent. */
      firm: z.boolean().default(false),
      /** The question must contain one of these phrases. */
      says: Phrases,
      /** The question must also contain a phrase of each of these lists. */
      with: z.array(Phrases).default([]),
      /** Phrases that exempt a question from the rule. */
      unless: Phrases.optional(),
    }),
  ),
})

/** A file in `scope`: more phrases for groups, more rules, and phrases that exempt questions from a rule of any file. */
const ScopePart = z.strictObject({
  groups: ScopeFile.shape.groups.default({}),
  rules: ScopeFile.shape.rules.default([]),
  exceptions: z.record(z.string(), Phrases).default({}),
})

const readYamlFile = (name: string): unknown =>
  parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'))

/** Reads the rules in `data/scope.yaml`, then those of the files in `scope`, sorted by file name. */
function readScope(): z.infer<typeof ScopePart> {
  const names = readdirSync(new URL('../../scope/', import.meta.url)).toSorted()
  const parts = [
    ScopePart.parse(ScopeFile.parse(readYamlFile('data/scope.yaml'))),
    ...names.map((name) => ScopePart.parse(readYamlFile(`scope/${name}`))),
  ]
  const joinPhrases = (key: 'groups' | 'exceptions') => {
    const phrases: Record<string, string[]> = {}
    for (const part of parts)
      for (const [name, addedPhrases] of Object.entries(part[key]))
        phrases[name] = [...(phrases[name] ?? []), ...addedPhrases]
    return phrases
  }
  const scope = {
    groups: joinPhrases('groups'),
    rules: parts.flatMap(({ rules }) => rules),
    exceptions: joinPhrases('exceptions'),
  }
  const ids = new Set(scope.rules.map(({ id }) => id))
  const unknownIds = Object.keys(scope.exceptions).filter((id) => !ids.has(id))
  if (unknownIds.length > 0) throw new Error(`exceptions of unknown scope rules: ${unknownIds.join(', ')}`)
  return scope
}

export type OutOfScopeReason = z.infer<typeof ScopeFile>['rules'][number]['reason'] | 'not-understood'

interface ScopeRule {
  readonly id: string
  readonly reason: Exclude<OutOfScopeReason, 'not-understood'>
  readonly link: string | undefined
  readonly unlessGuide: string | undefined
  readonly weak: boolean
  readonly firm: boolean
  /** Returns whether the rule matches words in the form that `toScopeWords` returns. */
  readonly matches: (words: string) => boolean
}

export interface ScopeRules {
  /** The joined contents of the files, from which the answers version is computed. */
  readonly data: unknown
  readonly rules: readonly ScopeRule[]
  /** Returns whether words in the form that `toScopeWords` returns are about US immigration. */
  readonly isAboutImmigration: (words: string) => boolean
  /** Returns whether words contain a phrase, such as a form number, that leaves no doubt about that. */
  readonly isCertain: (words: string) => boolean
}

/** Converts a question to the form that rules match: its words, separated by one space, with a space at each end. */
export const toScopeWords = (question: string): string => ` ${splitWords(question).join(' ')} `

let loadedRules: ScopeRules | undefined

/** Loads the rules in `data/scope.yaml` and in `scope`, once per process. */
export function loadScopeRules(): ScopeRules {
  if (loadedRules !== undefined) return loadedRules
  const scope = readScope()
  const compile = (phrases: readonly string[]) => compilePhrases(phrases, scope.groups)
  const immigrationPhrases = compile(scope.groups['immigration'] ?? [])
  // `certain` phrases leave no doubt that a question is about US immigration. `citizens` are phrases of people who are citizens
  // by birth, and `forRelatives` those with which they ask for a relative.
  const certainPhrases = compile(scope.groups['certain'] ?? [])
  const citizenPhrases = compile(scope.groups['citizens'] ?? [])
  const relativePhrases = compile(scope.groups['forRelatives'] ?? [])
  loadedRules = {
    data: scope,
    isAboutImmigration: (words) => immigrationPhrases.test(words),
    isCertain: (words) => certainPhrases.test(words),
    rules: scope.rules.map(({ says, with: requiredLists, unless, ...rule }) => {
      const statedPhrases = compile(says)
      const requiredPhrases = requiredLists.map(compile)
      const excludedPhrases = unless && compile(unless)
      const exceptions = scope.exceptions[rule.id]
      const exemptedPhrases = exceptions && compile(exceptions)
      return {
        id: rule.id,
        reason: rule.reason,
        link: rule.link,
        unlessGuide: rule.unlessGuide,
        weak: rule.weak,
        firm: rule.firm,
        matches(words) {
          if (!statedPhrases.test(words) || !requiredPhrases.every((phrases) => phrases.test(words)))
            return false
          if (exemptedPhrases?.test(words) === true) return false
          if (rule.reason === 'other-subject' && certainPhrases.test(words)) return false
          // If a citizen does not ask about a relative, neither `unless` nor words of immigration exempt the question from the rule.
          const isAboutCitizen =
            rule.reason === 'other-subject' && citizenPhrases.test(words) && !relativePhrases.test(words)
          if (isAboutCitizen) return true
          return excludedPhrases?.test(words) !== true && !(rule.weak && immigrationPhrases.test(words))
        },
      }
    }),
  }
  return loadedRules
}

/**
 * Compiles phrases to one expression. In a phrase, `word*` is a word with this beginning, ` .. ` a gap of up to four words, and
 * `@name` a phrase of a group. Phrases begin and end at a space, and gaps are bounded, so matching takes linear time.
 */
function compilePhrases(
  phrases: readonly string[],
  groups: Readonly<Record<string, readonly string[]>>,
): RegExp {
  const toPattern = (phrase: string): string =>
    phrase
      .split(' .. ')
      .map((part) =>
        part
          .split(' ')
          .map((word) => {
            if (word.startsWith('@')) return `(?:${(groups[word.slice(1)] ?? []).map(toPattern).join('|')})`
            return splitWords(word.replaceAll('*', '')).join(' ') + (word.endsWith('*') ? '[^ ]*' : '')
          })
          .join(' '),
      )
      .join('(?: [^ ]+){0,4}? ')
  return new RegExp(` (?:${phrases.map(toPattern).join('|')})(?= )`)
}

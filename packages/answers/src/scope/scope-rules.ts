import { readdirSync, readFileSync } from 'node:fs'
import { splitWords, stemWord } from '@plainpath/guides'
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
      /** Its phrases are common, so it holds only if no other phrase shows that the question is about US immigration. */
      weak: z.boolean().default(false),
      /** It takes precedence over triggers that are not urgent. */
      firm: z.boolean().default(false),
      says: Phrases,
      with: z.array(Phrases).default([]),
      unless: Phrases.optional(),
    }),
  ),
})

/** A part of the rules: more phrases for groups, more rules, and phrases that exempt a question from a rule of any file. */
const ScopePart = z.strictObject({
  groups: ScopeFile.shape.groups.default({}),
  rules: ScopeFile.shape.rules.default([]),
  exceptions: z.record(z.string(), Phrases).default({}),
})

/** The words of each subject, separated by spaces. */
const Topics = z.record(z.string(), z.string())

const yamlFile = (name: string): unknown =>
  parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'))

/** Reads the rules of `data/scope.yaml`, then those of the files in `scope`, in the order of their names. */
function readScope(): z.infer<typeof ScopePart> {
  const names = readdirSync(new URL('../../scope/', import.meta.url)).toSorted()
  const parts = [
    ScopePart.parse(ScopeFile.parse(yamlFile('data/scope.yaml'))),
    ...names.map((name) => ScopePart.parse(yamlFile(`scope/${name}`))),
  ]
  const joinPhrases = (key: 'groups' | 'exceptions') => {
    const phrases: Record<string, string[]> = {}
    for (const part of parts)
      for (const [name, more] of Object.entries(part[key]))
        phrases[name] = [...(phrases[name] ?? []), ...more]
    return phrases
  }
  const scope = {
    groups: joinPhrases('groups'),
    rules: parts.flatMap(({ rules }) => rules),
    exceptions: joinPhrases('exceptions'),
  }
  const ids = new Set(scope.rules.map(({ id }) => id))
  const unknown = Object.keys(scope.exceptions).filter((id) => !ids.has(id))
  if (unknown.length > 0) throw new Error(`exceptions of unknown scope rules: ${unknown.join(', ')}`)
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
  /** Tells whether the rule holds. The words are joined by one space, with one before and one after. */
  readonly holds: (words: string) => boolean
}

export interface ScopeRules {
  /** The files themselves, from which a version is computed. */
  readonly data: unknown
  readonly rules: readonly ScopeRule[]
  /** Counts the distinct phrases that show that the words are about US immigration. */
  readonly immigrationPhrases: (words: string) => number
  /** Counts the distinct phrases that are common both in questions about immigration and in questions about other subjects. */
  readonly nearPhrases: (words: string) => number
  /** Finds the subject without a guide that shares the most words, and their number. */
  readonly otherTopic: (words: string) => { readonly topic: string; readonly words: number }
}

/** Converts a question to the form that rules match: its words joined by one space, with one before and one after. */
export const scopeWords = (question: string): string => ` ${splitWords(question).join(' ')} `

let loadedRules: ScopeRules | undefined

/** Loads the rules of `data/scope.yaml` and of the files in `scope`, once per process. */
export function loadScopeRules(): ScopeRules {
  if (loadedRules !== undefined) return loadedRules
  const file = readScope()
  const matcher = (phrases: readonly string[]) => compilePhrases(phrases, file.groups)
  const immigration = matcher(file.groups['immigration'] ?? [])
  const near = matcher(file.groups['near'] ?? [])
  const otherTopics = Topics.parse(yamlFile('data/other-topics.yaml'))
  const topics = Object.entries(otherTopics).map(
    ([topic, words]) => [topic, new Set(words.split(/\s+/).map(stemWord))] as const,
  )
  const forms = matcher(file.groups['forms'] ?? [])
  const citizens = matcher(file.groups['citizens'] ?? [])
  const forRelatives = matcher(file.groups['forRelatives'] ?? [])
  loadedRules = {
    data: [file, otherTopics],
    immigrationPhrases: (words) => countDistinctMatches(words, immigration),
    nearPhrases: (words) => countDistinctMatches(words, near),
    otherTopic(words) {
      const stems = new Set(words.trim().split(' ').map(stemWord))
      let most = { topic: '', words: 0 }
      for (const [topic, topicWords] of topics) {
        let count = 0
        for (const stem of stems) if (topicWords.has(stem)) count += 1
        if (count > most.words) most = { topic, words: count }
      }
      return most
    },
    rules: file.rules.map(({ says, with: lists, unless, ...rule }) => {
      const stated = matcher(says)
      const required = lists.map(matcher)
      const excluded = unless && matcher(unless)
      const exceptions = file.exceptions[rule.id]
      const exempted = exceptions && matcher(exceptions)
      return {
        id: rule.id,
        reason: rule.reason,
        link: rule.link,
        unlessGuide: rule.unlessGuide,
        weak: rule.weak,
        firm: rule.firm,
        holds(words) {
          if (!stated.test(words) || !required.every((list) => list.test(words))) return false
          if (exempted?.test(words) === true) return false
          if (rule.reason === 'other-subject' && forms.test(words)) return false
          const isAboutCitizen =
            rule.reason === 'other-subject' && citizens.test(words) && !forRelatives.test(words)
          if (isAboutCitizen) return true
          return excluded?.test(words) !== true && !(rule.weak && immigration.test(words))
        },
      }
    }),
  }
  return loadedRules
}

/** Compiles phrases to one expression. Each begins and ends at a space, and gaps are bounded, so that matching is linear. */
function compilePhrases(
  phrases: readonly string[],
  groups: Readonly<Record<string, readonly string[]>>,
): RegExp {
  const source = (phrase: string): string =>
    phrase
      .split(' .. ')
      .map((part) =>
        part
          .split(' ')
          .map((word) => {
            if (word.startsWith('@')) return `(?:${(groups[word.slice(1)] ?? []).map(source).join('|')})`
            return splitWords(word.replaceAll('*', '')).join(' ') + (word.endsWith('*') ? '[^ ]*' : '')
          })
          .join(' '),
      )
      .join('(?: [^ ]+){0,4}? ')
  return new RegExp(` (?:${phrases.map(source).join('|')})(?= )`)
}

const countDistinctMatches = (words: string, expression: RegExp): number =>
  new Set([...words.matchAll(new RegExp(expression, 'g'))].map(([found]) => found)).size

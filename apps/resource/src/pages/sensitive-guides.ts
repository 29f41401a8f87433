/**
 * The guides on abuse, crime victims, detention and related subjects. Being seen with one can harm a person, so their pages have
 * the quick exit and a neutral title, and browsers must not store them.
 */
const SENSITIVE_GUIDES: ReadonlySet<string> = new Set([
  'asylum-basics',
  'fiance-visa',
  'find-legal-help',
  'removal-proceedings-basics',
  'remove-conditions',
  'special-immigrant-juveniles',
  'u-visa-basics',
  'vawa-basics',
])

export const isSensitiveGuide = (slug: string): boolean => SENSITIVE_GUIDES.has(slug)

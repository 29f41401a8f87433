/**
 * The guides on abuse, crime victims, detention and related subjects. A person may be harmed if somebody sees that they read such a
 * guide. Therefore, its page has the quick exit and a neutral title, and browsers must not store the page.
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

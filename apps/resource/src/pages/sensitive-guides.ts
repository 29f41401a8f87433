/**
 * Guides on abuse, on victims of crimes and on detention: who is seen reading one may be harmed. Their pages have the quick
 * exit and a neutral title, and no browser stores them.
 */
const SENSITIVE: ReadonlySet<string> = new Set([
  'asylum-basics',
  'fiance-visa',
  'find-legal-help',
  'removal-proceedings-basics',
  'remove-conditions',
  'special-immigrant-juveniles',
  'u-visa-basics',
  'vawa-basics',
])

export const isSensitiveGuide = (slug: string): boolean => SENSITIVE.has(slug)

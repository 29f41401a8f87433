/** The words after a host that an agent has proven to control. `cleanAgentName` removes them from unverified names. */
export const DOMAIN_CHECKED = '(domain checked)'
export const DOMAIN_MEANING = 'It has shown us that it controls this domain. We did not check who runs it.'

/** Characters that a reader does not see within a word. Some of them count as letters, such as the Hangul fillers. */
const INVISIBLE = String.raw`\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}`

/** Matches the words of `DOMAIN_CHECKED`, even with hidden characters or accents in them. */
const DOMAIN_CHECKED_WORDS = new RegExp(
  ['domain', 'checked']
    .map((word) => [...word].join(`[${INVISIBLE}]*`))
    .join(String.raw`[\P{L}${INVISIBLE}]*`),
  'giu',
)

/**
 * Replaces the words of `DOMAIN_CHECKED` in an unverified name with `…`, so that the name cannot pass for a verified domain.
 * Returns a name without these words unchanged.
 */
export function cleanAgentName(name: string): string {
  const hasWords = (text: string) => text.search(DOMAIN_CHECKED_WORDS) !== -1
  let withoutAccents = name.normalize('NFKD')
  if (!hasWords(withoutAccents)) return name
  // Repeats, because the words can also stand around those that were replaced.
  while (hasWords(withoutAccents)) withoutAccents = withoutAccents.replaceAll(DOMAIN_CHECKED_WORDS, '…')
  return withoutAccents
}

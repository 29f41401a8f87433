/** The words after a host that an agent has proven to control. `cleanAgentName` removes them from unverified names. */
export const DOMAIN_CHECKED = '(domain checked)'
export const DOMAIN_MEANING = 'It has shown us that it controls this domain. We did not check who runs it.'

/** Matches the words of `DOMAIN_CHECKED`, even with hidden characters or accents in them. */
const DOMAIN_CHECKED_WORDS = new RegExp(
  ['domain', 'checked'].map((word) => [...word].join('[\\p{Cf}\\p{M}]*')).join('[^\\p{L}]*'),
  'giu',
)

/** Replaces the words of `DOMAIN_CHECKED` in an unverified name with `…`, so that the name cannot pass for a verified domain. */
export function cleanAgentName(name: string): string {
  const withoutAccents = name.normalize('NFKD')
  return withoutAccents.search(DOMAIN_CHECKED_WORDS) === -1
    ? name
    : withoutAccents.replaceAll(DOMAIN_CHECKED_WORDS, '…')
}

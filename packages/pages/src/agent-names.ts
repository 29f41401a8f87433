/** Stands after a host that an agent has proven to control, and nowhere else. */
export const DOMAIN_CHECKED = '(domain checked)'
export const DOMAIN_MEANING = 'It has shown us that it controls this domain. We did not check who runs it.'

/** The words of `DOMAIN_CHECKED`, also with hidden characters or accents in them. */
const MARK = new RegExp(
  ['domain', 'checked'].map((word) => [...word].join('[\\p{Cf}\\p{M}]*')).join('[^\\p{L}]*'),
  'giu',
)

/** Returns the unverified name of an agent as people are shown it: without the words that mark a verified domain. */
export function shownName(name: string): string {
  const plain = name.normalize('NFKD')
  return plain.search(MARK) === -1 ? name : plain.replaceAll(MARK, '…')
}

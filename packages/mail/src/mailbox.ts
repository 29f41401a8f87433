import { canonicalEmail } from '@plainpath/domain'

const GMAIL = new Set(['gmail.com', 'googlemail.com'])

/**
 * The mailbox that an address reaches, for counting only: without the plus-tag, and for Gmail without the dots. Mail
 * itself goes to the address as typed.
 */
export function mailboxOf(address: string): { mailbox: string; domain: string } {
  const canonical = canonicalEmail(address)
  if (canonical === undefined) throw new Error('a mail is stored for what is no address')
  const at = canonical.lastIndexOf('@')
  const typedDomain = canonical.slice(at + 1)
  const domain = GMAIL.has(typedDomain) ? 'gmail.com' : typedDomain
  const local = canonical.slice(0, at)
  // A local part that begins with its plus is all tag.
  const untagged = local.replace(/(?<=.)\+.*$/u, '')
  return { mailbox: `${domain === 'gmail.com' ? untagged.replaceAll('.', '') : untagged}@${domain}`, domain }
}

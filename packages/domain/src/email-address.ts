import { domainToUnicode } from 'node:url'
import { z } from 'zod'

/**
 * Normalises an address so that two spellings of one mailbox are equal: trimmed, NFC, lower-cased, the domain in its IDNA
 * (UTS 46) ASCII form. Plus-tags stay, since some providers treat them as different mailboxes.
 *
 * @returns undefined for an address that we do not accept: quoted local parts, IP literals, control or invisible
 *   characters, a domain without a dot, more than 254 octets in all or 64 before the `@` (RFC 5321 §4.5.3.1).
 */
export function canonicalEmail(typed: string): string | undefined {
  const address = typed.trim().normalize('NFC')
  if (!address.isWellFormed() || octets(address) > 254) return undefined
  const at = address.lastIndexOf('@')
  const local = address.slice(0, at)
  if (at < 1 || !LOCAL_PART.test(local) || octets(local) > 64) return undefined
  const domain = asciiDomain(address.slice(at + 1))
  if (domain === undefined) return undefined
  const canonical = `${local.toLowerCase().normalize('NFC')}@${domain}`
  return octets(canonical) > 254 ? undefined : canonical
}

const octets = (text: string) => new TextEncoder().encode(text).length

/** Dot-atoms of RFC 5321 and their UTF-8 extension (RFC 6531); nothing unassigned, private or invisible. */
const ATOM = String.raw`(?:[A-Za-z0-9!#$%&'*+/=?^_\x60{|}~-]|(?!\p{Default_Ignorable_Code_Point})[^\x00-\x7F\p{C}\p{Z}])+`
/** Without `=?`, which begins an encoded word (RFC 2047): some mailers decode it to another address. */
const LOCAL_PART = new RegExp(`^(?!.*=\\?)${ATOM}(?:\\.${ATOM})*$`, 'u')
const TYPED_DOMAIN = /^(?:(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{N}\p{M}.。．｡-])+$/u
const ASCII_DOMAIN =
  /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?:[a-z]{2,63}|xn--[a-z0-9-]{1,59})$/

function asciiDomain(typed: string): string | undefined {
  if (!TYPED_DOMAIN.test(typed)) return undefined
  const url = URL.parse(`http://${typed}/`)
  if (url === null || !ASCII_DOMAIN.test(url.hostname)) return undefined
  // The URL parser accepts labels such as `xn--a`, which decode to nothing.
  const undecodable = domainToUnicode(url.hostname)
    .split('.')
    .some((label) => label.startsWith('xn--'))
  return undecodable ? undefined : url.hostname
}

/** An address as a person typed it, trimmed. Mail is sent to this spelling. */
export const EmailAddress = z
  .string()
  .trim()
  .max(254, 'must be at most 254 characters')
  .refine((typed) => canonicalEmail(typed) !== undefined, 'must be an e-mail address such as ana@example.org')
  .meta({ format: 'email' })

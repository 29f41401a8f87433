import { domainToUnicode } from 'node:url'
import { z } from 'zod'

/** In octets (RFC 5321 §4.5.3.1.3), and also the maximum in characters of a typed address. */
const MAX_LENGTH = 254

/**
 * Normalises an address, so that different spellings of a mailbox become equal: trims it, converts it to NFC and lower case, and
 * the domain to ASCII (IDNA, UTS 46). Keeps plus-tags, because some providers treat them as different mailboxes.
 *
 * @returns undefined for an address that we do not accept. Examples are a quoted local part, an IP address, control or invisible
 *   characters, a domain without a dot, more than 254 octets in total, and more than 64 before the `@` (RFC 5321 §4.5.3.1)
 */
export function canonicalizeEmail(typedAddress: string): string | undefined {
  const trimmed = typedAddress.trim()
  // Checked first, because normalising many combining characters takes quadratic time.
  if (trimmed.length > MAX_LENGTH) return undefined
  const address = trimmed.normalize('NFC')
  if (!address.isWellFormed() || countOctets(address) > MAX_LENGTH) return undefined
  const atIndex = address.lastIndexOf('@')
  const localPart = address.slice(0, atIndex)
  if (atIndex < 1 || !LOCAL_PART.test(localPart) || countOctets(localPart) > 64) return undefined
  const domain = toAsciiDomain(address.slice(atIndex + 1))
  if (domain === undefined) return undefined
  const canonical = `${localPart.toLowerCase().normalize('NFC')}@${domain}`
  return countOctets(canonical) > MAX_LENGTH ? undefined : canonical
}

const countOctets = (text: string) => Buffer.byteLength(text)

/** An atom of RFC 5321 with its UTF-8 extension (RFC 6531), without unassigned, private or invisible characters. */
const ATOM = String.raw`(?:[A-Za-z0-9!#$%&'*+/=?^_\x60{|}~-]|(?!\p{Default_Ignorable_Code_Point})[^\x00-\x7F\p{C}\p{Z}])+`
/** Excludes `=?`, which begins an encoded word (RFC 2047), because some mailers decode it to another address. */
const LOCAL_PART = new RegExp(`^(?!.*=\\?)${ATOM}(?:\\.${ATOM})*$`, 'u')
/** Matches visible letters, digits, marks, hyphens and dots. UTS 46 converts the three East Asian dots to `.`. */
const TYPED_DOMAIN = /^(?:(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{N}\p{M}.。．｡-])+$/u
/** Matches two or more labels of at most 63 characters. The last is of letters or begins with `xn--`: no IP address matches. */
const ASCII_DOMAIN =
  /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?:[a-z]{2,63}|xn--[a-z0-9-]{1,59})$/

function toAsciiDomain(typedDomain: string): string | undefined {
  if (!TYPED_DOMAIN.test(typedDomain)) return undefined
  const url = URL.parse(`http://${typedDomain}/`)
  if (url === null || !ASCII_DOMAIN.test(url.hostname)) return undefined
  // The URL parser accepts labels such as `xn--a`, which decode to nothing.
  const hasUndecodableLabel =
    url.hostname.includes('xn--') &&
    domainToUnicode(url.hostname)
      .split('.')
      .some((label) => label.startsWith('xn--'))
  return hasUndecodableLabel ? undefined : url.hostname
}

/** An address as a person typed it, trimmed. Mail goes to this spelling. */
export const EmailAddress = z
  .string()
  .trim()
  .max(MAX_LENGTH, `must be at most ${MAX_LENGTH} characters`)
  .refine(
    (address) => canonicalizeEmail(address) !== undefined,
    'must be an e-mail address such as ana@example.org',
  )
  .meta({ format: 'email' })

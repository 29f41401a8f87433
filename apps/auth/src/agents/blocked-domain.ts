import { type AgentId, err, getVerifiedDomain, ok, type Result } from '@plainpath/domain'
import { z } from 'zod'
import { Actor } from '../audit/audit-chain.ts'

/** A host name in lower case, without a trailing dot. A label has at most 63 characters (RFC 1035 §2.3.4). */
const HOST_NAME = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const MAX_HOST_NAME_LENGTH = 253

/** An entry in the audit log of blocked domains, in the form that is hashed. */
export const BlockEntry = z.strictObject({
  at: z.iso.datetime(),
  by: Actor,
  step: z.enum(['block', 'unblock']),
  domain: z.string(),
  reason: z.string(),
})
export type BlockEntry = z.infer<typeof BlockEntry>

/**
 * Parses a domain that an operator typed. Removes spaces around it and one trailing dot, and converts it to lower case. Names in
 * non-Latin scripts are converted to ASCII, as in URLs (UTS #46). A single label and an IPv4 address are accepted too.
 */
export function parseDomain(text: string): Result<string, 'no-domain'> {
  const host = URL.parse(`https://${text.trim().replace(/\.$/, '')}/`)
  // The URL is longer if the text contains more than a host, such as a path or a user name.
  if (!host || host.href !== `https://${host.hostname}/`) return err('no-domain')
  return host.hostname.length <= MAX_HOST_NAME_LENGTH && HOST_NAME.test(host.hostname)
    ? ok(host.hostname)
    : err('no-domain')
}

/** Returns the host of a URL client and every domain above it, without a trailing dot; none for a registered agent. */
export function listDomainAndParents(id: AgentId): readonly string[] {
  const labels = getVerifiedDomain(id)?.replace(/\.$/, '').split('.') ?? []
  return labels.map((_label, index) => labels.slice(index).join('.'))
}

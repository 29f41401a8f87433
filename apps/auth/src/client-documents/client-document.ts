import {
  type AgentId,
  type AgentKey,
  ASSERTION_ALGORITHMS,
  err,
  ok,
  PRIVATE_JWK_MEMBERS,
  type Result,
  RULES,
  SentJwk,
  toAgentKey,
} from '@plainpath/domain'
import { z } from 'zod'
import { computeKeyThumbprint } from '../clients/key-thumbprint.ts'

/** The part of a Client ID Metadata Document that this server stores. A few other members are checked, but not stored. */
export interface ClientDocument {
  /** One to three usable public keys. A key without a kid in the document gets its thumbprint as kid. */
  readonly keys: readonly AgentKey[]
  /** `dpop_bound_access_tokens` */
  readonly dpopBound: boolean
  /** How long the document may be cached: five minutes to a day. */
  readonly lifetimeMs: number
}

/**
 * The reason why a document cannot be used.
 *
 * - `unusable` covers every failure before the document is known to name this client, and a failed fetch of its
 *   `jwks_uri`, so callers cannot probe URLs.
 * - `other-client`: the document of an app does not have its URL as `client_id`. Callers get the same response as for `unusable`.
 * - `member`: a member of the client's own document is invalid.
 * - `busy`: too many fetches are in flight; a later request may succeed.
 */
export type DocumentFault = { readonly kind: 'unusable' | 'other-client' | 'busy' } | MemberFault

export interface MemberFault {
  readonly kind: 'member'
  readonly member: string
  /** A fixed text that continues the name of the member ("must be …"). It does not quote the document. */
  readonly detail: string
}

/**
 * Fetches the document of a client, with its keys.
 *
 * @param address the caller's address, by which fetches are limited
 * @param options.isNew true if no client is stored for the URL
 */
export type FetchClientDocument = FetchMetadataDocument<ClientDocument>

/** Like `FetchClientDocument`, for another type of document. */
export type FetchMetadataDocument<Document> = (
  url: AgentId,
  address: string,
  options: { readonly isNew: boolean },
) => Promise<Result<Document, DocumentFault>>

/** The value of `jwks`, or the URL of the key set. */
export type KeySetSource = { readonly jwks: unknown } | { readonly uri: URL }

/** A valid document of the client, before its keys are read. */
interface ParsedDocument {
  readonly dpopBound: boolean
  readonly keySet: KeySetSource
}

const Document = z.looseObject({ client_id: z.string() })

/** The rules for members other than `client_id` and the keys. The first broken rule is reported. */
const MEMBER_RULES: readonly {
  readonly member: string
  readonly accepts: (value: unknown) => boolean
  readonly detail: string
}[] = [
  ...['client_secret', 'client_secret_expires_at'].map((member) => ({
    member,
    accepts: (value: unknown) => value === undefined,
    detail:
      'must be absent: anybody can read this document. Sign assertions with a key instead (private_key_jwt)',
  })),
  {
    member: 'token_endpoint_auth_method',
    accepts: (value) => value === 'private_key_jwt',
    detail: 'must be private_key_jwt',
  },
  {
    member: 'grant_types',
    accepts: (value) => Array.isArray(value) && value.includes('client_credentials'),
    detail: 'must be a list with client_credentials',
  },
  {
    member: 'dpop_bound_access_tokens',
    accepts: (value) => value === undefined || typeof value === 'boolean',
    detail: 'must be true or false, or left out',
  },
]

/** Parses the document that was fetched from `url`. Its own `client_id` must be that URL, character by character. */
export function parseClientDocument(json: unknown, url: AgentId): Result<ParsedDocument, DocumentFault> {
  const parsed = Document.safeParse(json)
  if (!parsed.success || parsed.data.client_id !== url) return err({ kind: 'unusable' })
  const document = parsed.data
  const brokenRule = MEMBER_RULES.find(({ member, accepts }) => !accepts(document[member]))
  if (brokenRule) return refuseMember(brokenRule.member, brokenRule.detail)
  const keySet = findKeySet(document, url)
  return keySet.ok
    ? ok({ dpopBound: document['dpop_bound_access_tokens'] === true, keySet: keySet.value })
    : keySet
}

/** Finds the key set of a document: its `jwks`, or its `jwks_uri`, which must have the origin of the document. */
export function findKeySet(
  { jwks, jwks_uri: uri }: Readonly<Record<string, unknown>>,
  url: AgentId,
): Result<KeySetSource, MemberFault> {
  if (jwks !== undefined && uri !== undefined)
    return refuseMember('jwks_uri', 'must be left out beside jwks (RFC 7591 §2)')
  if (uri === undefined) return ok({ jwks })
  const parsedUri = typeof uri === 'string' ? URL.parse(uri) : null
  return parsedUri && hasSameOrigin(parsedUri, url) && parsedUri.href === uri
    ? ok({ uri: parsedUri })
    : refuseMember(
        'jwks_uri',
        'must be an https URL of the same origin as client_id, in canonical form, without credentials or fragment',
      )
}

const hasSameOrigin = (uri: URL, url: AgentId) =>
  uri.origin === new URL(url).origin && !uri.username && !uri.password && !uri.href.includes('#')

const KeySet = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) })
type FetchedKey = z.infer<typeof KeySet>['keys'][number]

const ACCEPTED_KEYS = 'EC P-256 or OKP Ed25519, for signatures'

/**
 * Parses the usable keys of a key set (RFC 7517 §5). Keys of other kinds are for other services and are ignored. A
 * private or symmetric key is a fault, because it has become public.
 *
 * @param member the member of the document that contains the set or names its URL
 */
export async function parseKeySet(
  json: unknown,
  member: 'jwks' | 'jwks_uri',
): Promise<Result<readonly AgentKey[], MemberFault>> {
  const keySet = KeySet.safeParse(json)
  if (!keySet.success)
    return refuseMember(member, `must lead to a key set with public keys: ${ACCEPTED_KEYS}`)
  if (keySet.data.keys.some(isSecretKey))
    return refuseMember(
      member,
      'must hold no private and no symmetric key: make a new key pair, and publish its public half only',
    )
  const candidates = [...keySet.data.keys.entries()].filter(([, key]) => canSignAssertions(key))
  if (candidates.length === 0 || candidates.length > RULES.agentKeys)
    return refuseMember(member, `must hold 1 to ${RULES.agentKeys} public keys: ${ACCEPTED_KEYS}`)
  const usableKeys: SentJwk[] = []
  for (const [index, candidate] of candidates) {
    const key = SentJwk.safeParse(candidate)
    if (!key.success)
      return refuseMember(member, `has a mistake in key ${index + 1}: ${describeMistake(key.error)}`)
    usableKeys.push(key.data)
  }
  const keys = await Promise.all(
    usableKeys.map(async (key) => toAgentKey(key, key.kid ?? (await computeKeyThumbprint(key)))),
  )
  return new Set(keys.map(({ kid }) => kid)).size === keys.length
    ? ok(keys)
    : refuseMember(
        member,
        'must not hold two keys with the same kid: give each key its own, or leave kid out',
      )
}

/** Describes the first mistake in a key by its member and the rule that it breaks, without quoting a value. */
const describeMistake = ({ issues: [issue] }: z.ZodError): string =>
  `${issue?.path[0]?.toString() ?? 'it'} ${issue?.code === 'custom' || issue?.code === 'invalid_format' ? issue.message : 'has the wrong type'}`

const isSecretKey = (key: FetchedKey): boolean =>
  key.kty === 'oct' || [...PRIVATE_JWK_MEMBERS, 'priv'].some((name) => Object.hasOwn(key, name))

const canSignAssertions = ({ kty, crv, use, key_ops: operations, alg }: FetchedKey): boolean =>
  ((kty === 'EC' && crv === 'P-256') || (kty === 'OKP' && crv === 'Ed25519')) &&
  (use == null || use === 'sig') &&
  (operations == null || (Array.isArray(operations) && operations.includes('verify'))) &&
  (alg == null || ASSERTION_ALGORITHMS.some((accepted) => accepted === alg))

const refuseMember = (member: string, detail: string) => err({ kind: 'member', member, detail } as const)

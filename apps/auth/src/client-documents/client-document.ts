import {
  type AgentId,
  type AgentKey,
  ASSERTION_ALGORITHMS,
  agentKey,
  err,
  ok,
  PRIVATE_JWK_MEMBERS,
  type Result,
  RULES,
  SentJwk,
} from '@plainpath/domain'
import { z } from 'zod'
import { keyThumbprint } from '../clients/key-thumbprint.ts'

/** What this server uses of a Client ID Metadata Document. The rest of it is never read, stored or logged. */
export interface ClientDocument {
  /** Usable public keys, one to three, each with its kid (the thumbprint where the document has none). */
  readonly keys: readonly AgentKey[]
  /** `dpop_bound_access_tokens` */
  readonly dpopBound: boolean
  /** How long the document may be cached: five minutes to a day. */
  readonly lifetimeMs: number
}

/**
 * Why there is no document. `unusable` covers every failure until the document has proved to be this client's, so that
 * nobody learns what is at a URL; also that of its `jwks_uri`. After that, `member` names what is wrong in it; `detail` is a fixed
 * text that continues the name ("must be …") and quotes nothing. `busy`: too many fetches are in flight; the same request may
 * succeed later.
 */
export type DocumentFault = { readonly kind: 'unusable' } | { readonly kind: 'busy' } | MemberFault

export interface MemberFault {
  readonly kind: 'member'
  readonly member: string
  readonly detail: string
}

/**
 * Fetches the document of a client, with its keys.
 *
 * @param address of the caller, for its bound
 * @param options.isNew whether no client is stored for the URL
 */
export type FetchClientDocument = FetchDocumentOf<ClientDocument>

/** The same for documents that are read in another way. */
export type FetchDocumentOf<Document> = (
  url: AgentId,
  address: string,
  options: { readonly isNew: boolean },
) => Promise<Result<Document, DocumentFault>>

/** The value of `jwks`, or the URL to fetch it from. */
export type KeySetPlace = { readonly jwks: unknown } | { readonly uri: URL }

/** A document that is the client's and fits this server, but for its keys. */
interface ParsedDocument {
  readonly dpopBound: boolean
  readonly keySet: KeySetPlace
}

const Document = z.looseObject({ client_id: z.string() })

/** The members that this server reads, in the order in which they are reported. Redirect URIs are for other services. */
const RULES_OF_MEMBERS: readonly {
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

/** Reads the document that was fetched from `url`. Its own `client_id` must be that URL, character by character. */
export function parseClientDocument(json: unknown, url: AgentId): Result<ParsedDocument, DocumentFault> {
  const parsed = Document.safeParse(json)
  if (!parsed.success || parsed.data.client_id !== url) return err({ kind: 'unusable' })
  const document = parsed.data
  const broken = RULES_OF_MEMBERS.find(({ member, accepts }) => !accepts(document[member]))
  if (broken) return memberFault(broken.member, broken.detail)
  const keySet = findKeySet(document, url)
  return keySet.ok
    ? ok({ dpopBound: document['dpop_bound_access_tokens'] === true, keySet: keySet.value })
    : keySet
}

/** Finds the key set of a document: its `jwks`, or what its `jwks_uri` names, which must be of the same origin. */
export function findKeySet(
  { jwks, jwks_uri: uri }: Readonly<Record<string, unknown>>,
  url: AgentId,
): Result<KeySetPlace, MemberFault> {
  if (jwks !== undefined && uri !== undefined)
    return memberFault('jwks_uri', 'must be left out beside jwks (RFC 7591 §2)')
  if (uri === undefined) return ok({ jwks })
  const parsedUri = typeof uri === 'string' ? URL.parse(uri) : null
  return parsedUri && isOfOrigin(parsedUri, url) && parsedUri.href === uri
    ? ok({ uri: parsedUri })
    : memberFault(
        'jwks_uri',
        'must be an https URL of the same origin as client_id, in canonical form, without credentials or fragment',
      )
}

const isOfOrigin = (uri: URL, url: AgentId) =>
  uri.origin === new URL(url).origin && !uri.username && !uri.password && !uri.href.includes('#')

const KeySet = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) })
type ReadKey = z.infer<typeof KeySet>['keys'][number]

const KINDS = 'EC P-256 or OKP Ed25519, for signatures'

/**
 * Reads the usable keys of a key set (RFC 7517 §5). Keys of other kinds are for other services, and are ignored; a private or
 * symmetric key is never: it is public now.
 *
 * @param member the member of the document that holds the set or names its URL
 */
export async function parseKeySet(
  json: unknown,
  member: 'jwks' | 'jwks_uri',
): Promise<Result<readonly AgentKey[], MemberFault>> {
  const set = KeySet.safeParse(json)
  if (!set.success) return memberFault(member, `must lead to a key set with public keys: ${KINDS}`)
  if (set.data.keys.some(isSecret))
    return memberFault(
      member,
      'must hold no private and no symmetric key: make a new key pair, and publish its public half only',
    )
  const candidates = [...set.data.keys.entries()].filter(([, key]) => isForAssertions(key))
  if (candidates.length === 0 || candidates.length > RULES.agentKeys)
    return memberFault(member, `must hold 1 to ${RULES.agentKeys} public keys: ${KINDS}`)
  const sent: SentJwk[] = []
  for (const [index, candidate] of candidates) {
    const key = SentJwk.safeParse(candidate)
    if (!key.success)
      return memberFault(member, `has a mistake in key ${index + 1}: ${describeMistake(key.error)}`)
    sent.push(key.data)
  }
  const keys = await Promise.all(
    sent.map(async (key) => agentKey(key, key.kid ?? (await keyThumbprint(key)))),
  )
  return new Set(keys.map(({ kid }) => kid)).size === keys.length
    ? ok(keys)
    : memberFault(member, 'must not hold two keys with the same kid: give each key its own, or leave kid out')
}

/** Names a member of our schema and the rule that it breaks: never a member or value of the key itself. */
const describeMistake = ({ issues: [issue] }: z.ZodError): string =>
  `${issue?.path[0]?.toString() ?? 'it'} ${issue?.code === 'custom' || issue?.code === 'invalid_format' ? issue.message : 'has the wrong type'}`

const isSecret = (key: ReadKey): boolean =>
  key.kty === 'oct' || [...PRIVATE_JWK_MEMBERS, 'priv'].some((name) => Object.hasOwn(key, name))

const isForAssertions = ({ kty, crv, use, key_ops: operations, alg }: ReadKey): boolean =>
  ((kty === 'EC' && crv === 'P-256') || (kty === 'OKP' && crv === 'Ed25519')) &&
  (use == null || use === 'sig') &&
  (operations == null || (Array.isArray(operations) && operations.includes('verify'))) &&
  (alg == null || ASSERTION_ALGORITHMS.some((known) => known === alg))

const memberFault = (member: string, detail: string) => err({ kind: 'member', member, detail } as const)

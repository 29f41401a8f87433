/*
 * Reads the metadata of an app (RFC 7591 §2) from a registration or from its Client ID Metadata Document, and
 * normalises it. Chat hosts send values that we do not support, and omit members such as `application_type`,
 * which a strict server would require for their redirect URIs.
 */
import { type AgentId, AgentName, err, ok, type Result } from '@plainpath/domain'
import { z } from 'zod'
import { type DocumentFault, findKeySet, type KeySetSource } from '../client-documents/client-document.ts'
import type { AppClient } from './app-client.ts'
import { type ChatHosts, validateRedirectUri } from './chat-hosts.ts'

/** The stored part of an app's metadata. Some of the other members are checked; none of them is stored. */
export type AppMetadata = Pick<AppClient, 'redirectUris' | 'name' | 'applicationType' | 'authMethod' | 'keys'>

/** The grant and response types of every app, regardless of its metadata. */
export const APP_GRANT_TYPES = ['authorization_code', 'refresh_token'] as const
export const APP_RESPONSE_TYPES = ['code'] as const

/** More than any known host sends: VS Code sends four. */
const MAX_REDIRECT_URIS = 10

/** Why a registration is refused. */
export interface RegistrationFault {
  readonly code: 'invalid-redirect-uri' | 'invalid-client-metadata'
  /** A JSON pointer to the invalid member. */
  readonly pointer: string
  /** A fixed text that continues the name of the member ("must be …"). It does not quote the metadata. */
  readonly detail: string
}

const Metadata = z.looseObject({})

/** If the app sends one of these members, it must be a list that contains this value. Other values have no effect. */
const REQUIRED_VALUES = [
  ['grant_types', 'authorization_code'],
  ['response_types', 'code'],
] as const

const MISSING_URIS_DETAIL =
  'must hold 1 to 10 redirect URIs, since this is for apps that people connect from. Agents with credentials of their own register at /api/agent/register'
const NOT_LISTED_DETAIL =
  'is not an address that apps may connect from. A program uses http on 127.0.0.1, [::1] or localhost, with any port and no query. For the address of a web site, ask the operator of this service to list it'

/**
 * The authentication methods that a registration may send. The server registers `none` in place of each, and the response says
 * so (RFC 7591 §3.2.1).
 */
const REGISTRATION_AUTH_METHODS: readonly unknown[] = [
  undefined,
  null,
  'none',
  'client_secret_basic',
  'client_secret_post',
]

/** Reads a registration. Every redirect URI must be acceptable. */
export function parseRegistration(json: unknown, hosts: ChatHosts): Result<AppMetadata, RegistrationFault> {
  const invalid = (pointer: string, detail: string) =>
    err({ code: 'invalid-client-metadata', pointer, detail } as const)
  const parsed = Metadata.safeParse(json)
  if (!parsed.success) return invalid('#', 'must be a JSON object')
  const members = parsed.data
  const uris = readUris(members['redirect_uris'])
  if (!uris)
    return err({ code: 'invalid-redirect-uri', pointer: '#/redirect_uris', detail: MISSING_URIS_DETAIL })
  const refusedIndex = uris.findIndex((uri) => !validateRedirectUri(uri, hosts).ok)
  if (refusedIndex >= 0)
    return err({
      code: 'invalid-redirect-uri',
      pointer: `#/redirect_uris/${refusedIndex}`,
      detail: NOT_LISTED_DETAIL,
    })
  for (const [member, value] of REQUIRED_VALUES)
    if (!isAbsentOrIncludes(members[member], value))
      return invalid(`#/${member}`, `must contain ${value}, or be left out`)
  if (!REGISTRATION_AUTH_METHODS.includes(members['token_endpoint_auth_method']))
    return invalid(
      '#/token_endpoint_auth_method',
      'must be none. An app with keys publishes a document and uses its URL as client_id',
    )
  const name = AgentName.nullish().safeParse(members['client_name'])
  if (!name.success)
    return invalid(
      '#/client_name',
      name.error.issues[0]?.code === 'custom' ? name.error.issues[0].message : 'must be a string',
    )
  return ok({ ...describeApp(uris, name.data), authMethod: 'none', keys: [] })
}

/** A valid document of an app, before its keys are read. */
interface ParsedAppDocument extends Omit<AppMetadata, 'authMethod' | 'keys'> {
  /** Where to read the keys of the app; absent for a public client. */
  readonly keySet?: KeySetSource
}

const refuseMember = (member: string, detail: string) => err({ kind: 'member', member, detail } as const)

/**
 * Reads the document that was fetched from `url`. Its `client_id` must equal that URL, character by character. Redirect URIs
 * that are not acceptable are ignored, so a host can add one before we list it, but at least one must be acceptable.
 *
 * A document that lists `none` among its supported methods belongs to a public client, even if it prefers another
 * method. An app that signs with an algorithm that we do not know can then connect.
 */
export function parseAppDocument(
  json: unknown,
  url: AgentId,
  hosts: ChatHosts,
): Result<ParsedAppDocument, DocumentFault> {
  const parsed = Metadata.safeParse(json)
  if (!parsed.success || parsed.data['client_id'] !== url) return err({ kind: 'other-client' })
  const members = parsed.data
  for (const member of ['client_secret', 'client_secret_expires_at'])
    if (members[member] !== undefined) return refuseMember(member, 'must be absent')
  for (const [member, value] of REQUIRED_VALUES)
    if (!isAbsentOrIncludes(members[member], value)) return refuseMember(member, `must contain ${value}`)
  const uris = readUris(members['redirect_uris'])?.filter((uri) => validateRedirectUri(uri, hosts).ok) ?? []
  if (uris.length === 0)
    return refuseMember('redirect_uris', 'must hold an address that apps may connect from')
  const method = members['token_endpoint_auth_method'] ?? 'none'
  const { token_endpoint_auth_methods_supported: supportedMethods } = members
  const isPublic = method === 'none' || (Array.isArray(supportedMethods) && supportedMethods.includes('none'))
  if (!isPublic && method !== 'private_key_jwt')
    return refuseMember('token_endpoint_auth_method', 'must be none or private_key_jwt')
  const description = describeApp(uris, AgentName.safeParse(members['client_name']).data)
  if (isPublic) return ok(description)
  const keySet = findKeySet(members, url)
  return keySet.ok ? ok({ ...description, keySet: keySet.value }) : keySet
}

const readUris = (value: unknown): readonly string[] | undefined => {
  const uris = z.array(z.string()).min(1).max(MAX_REDIRECT_URIS).safeParse(value)
  return uris.success ? uris.data : undefined
}

const isAbsentOrIncludes = (list: unknown, value: string) =>
  list == null || (Array.isArray(list) && list.includes(value))

/**
 * Builds the metadata of an app without its authentication. The application type is `native` if one of its redirect URIs is not
 * https. Hosts omit `application_type`, and its default, `web`, allows neither such URIs nor loopback URIs with other ports.
 *
 * @param name an empty name counts as absent
 */
const describeApp = (uris: readonly string[], name: string | null | undefined) => ({
  redirectUris: [...new Set(uris)],
  ...(name && { name }),
  applicationType: uris.every((uri) => uri.startsWith('https:')) ? ('web' as const) : ('native' as const),
})

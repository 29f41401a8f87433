/*
 * Reads the metadata of an app (RFC 7591 §2), from a registration or from its Client ID Metadata Document, and normalises it:
 * hosts send more than we offer, and leave out what would make their own redirect URIs acceptable to a strict server.
 */
import { type AgentId, AgentName, err, ok, type Result } from '@plainpath/domain'
import { z } from 'zod'
import { type DocumentFault, findKeySet, type KeySetPlace } from '../client-documents/client-document.ts'
import type { AppClient } from './app-client.ts'
import { type ChatHosts, judgeRedirectUri } from './chat-hosts.ts'

/** What is stored of an app's metadata. Everything else in it is ignored. */
export type AppMetadata = Pick<AppClient, 'redirectUris' | 'name' | 'applicationType' | 'authMethod' | 'keys'>

/** What every app is registered for, whatever else it asks for. */
export const APP_GRANT_TYPES = ['authorization_code', 'refresh_token'] as const
export const APP_RESPONSE_TYPES = ['code'] as const

/** More than any host sends: VS Code sends four. */
const MAX_REDIRECT_URIS = 10

/** `pointer` is a JSON pointer to the member; `detail` is a fixed text that continues it and quotes nothing. */
export interface RegistrationFault {
  readonly code: 'invalid-redirect-uri' | 'invalid-client-metadata'
  readonly pointer: string
  readonly detail: string
}

const Metadata = z.looseObject({})

/** Lists that must contain a value, where they are sent. The rest of a list is for other servers. */
const NEEDED = [
  ['grant_types', 'authorization_code'],
  ['response_types', 'code'],
] as const

const MISSING_URIS =
  'must hold 1 to 10 redirect URIs, since this is for apps that people connect from. Agents with credentials of their own register at /api/agent/register'
const NOT_LISTED =
  'is no address that apps may connect from. A program uses http on 127.0.0.1, [::1] or localhost, with any port and no query. For the address of a web site, ask the operator of this service to list it'

/** The methods that a request may name. Each is replaced by `none`, which the response says (RFC 7591 §3.2.1). */
const REPLACED_METHODS: readonly unknown[] = [
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
  const sent = parsed.data
  const uris = readUris(sent['redirect_uris'])
  if (!uris) return err({ code: 'invalid-redirect-uri', pointer: '#/redirect_uris', detail: MISSING_URIS })
  const refused = uris.findIndex((uri) => !judgeRedirectUri(uri, hosts).ok)
  if (refused >= 0)
    return err({ code: 'invalid-redirect-uri', pointer: `#/redirect_uris/${refused}`, detail: NOT_LISTED })
  for (const [member, value] of NEEDED)
    if (!includes(sent[member], value)) return invalid(`#/${member}`, `must contain ${value}, or be left out`)
  if (!REPLACED_METHODS.includes(sent['token_endpoint_auth_method']))
    return invalid(
      '#/token_endpoint_auth_method',
      'must be none. An app with keys publishes a document and uses its URL as client_id',
    )
  const name = AgentName.nullish().safeParse(sent['client_name'])
  if (!name.success)
    return invalid(
      '#/client_name',
      name.error.issues[0]?.code === 'custom' ? name.error.issues[0].message : 'must be a string',
    )
  return ok({ ...describe(uris, name.data), authMethod: 'none', keys: [] })
}

/** A document that is an app's and fits this server, but for its keys. */
interface ParsedAppDocument extends Omit<AppMetadata, 'authMethod' | 'keys'> {
  /** Where the keys are that authenticate it; absent for a public client. */
  readonly keySet?: KeySetPlace
}

const memberFault = (member: string, detail: string) => err({ kind: 'member', member, detail } as const)

/**
 * Reads the document that was fetched from `url`. Its own `client_id` must be that URL, character by character. Redirect URIs
 * that are not acceptable are left out, so that a host can add one before we know it; one must be left.
 *
 * A document that lists `none` among the methods that it supports is of a public client, whichever it prefers: an app that
 * signs with an algorithm that we do not know can then connect.
 */
export function parseAppDocument(
  json: unknown,
  url: AgentId,
  hosts: ChatHosts,
): Result<ParsedAppDocument, DocumentFault> {
  const parsed = Metadata.safeParse(json)
  if (!parsed.success || parsed.data['client_id'] !== url) return err({ kind: 'unusable' })
  const sent = parsed.data
  for (const member of ['client_secret', 'client_secret_expires_at'])
    if (sent[member] !== undefined) return memberFault(member, 'must be absent')
  for (const [member, value] of NEEDED)
    if (!includes(sent[member], value)) return memberFault(member, `must contain ${value}`)
  const uris = readUris(sent['redirect_uris'])?.filter((uri) => judgeRedirectUri(uri, hosts).ok) ?? []
  if (uris.length === 0)
    return memberFault('redirect_uris', 'must hold an address that apps may connect from')
  const method = sent['token_endpoint_auth_method'] ?? 'none'
  const { token_endpoint_auth_methods_supported: methods } = sent
  const isPublic = method === 'none' || (Array.isArray(methods) && methods.includes('none'))
  if (!isPublic && method !== 'private_key_jwt')
    return memberFault('token_endpoint_auth_method', 'must be none or private_key_jwt')
  const described = describe(uris, AgentName.safeParse(sent['client_name']).data)
  if (isPublic) return ok(described)
  const keySet = findKeySet(sent, url)
  return keySet.ok ? ok({ ...described, keySet: keySet.value }) : keySet
}

const readUris = (value: unknown): readonly string[] | undefined => {
  const uris = z.array(z.string()).min(1).max(MAX_REDIRECT_URIS).safeParse(value)
  return uris.success ? uris.data : undefined
}

const includes = (list: unknown, value: string) =>
  list == null || (Array.isArray(list) && list.includes(value))

/**
 * @param name empty counts as absent
 * @returns an app as `native` if one of its redirect URIs is not https: hosts leave `application_type` out, whose default,
 *   `web`, has no such URIs and no loopback URI with another port
 */
const describe = (uris: readonly string[], name: string | null | undefined) => ({
  redirectUris: [...new Set(uris)],
  ...(name && { name }),
  applicationType: uris.every((uri) => uri.startsWith('https:')) ? ('web' as const) : ('native' as const),
})

/*
 * The list of chat apps and IDEs from which people can connect. An authorization code is sent only to an address on the
 * list, or to a program on the person's own computer.
 */
import { readFileSync } from 'node:fs'
import { AgentId, err, ok, type Result } from '@plainpath/domain'
import { z } from 'zod'

/** Labels that no host may have: metrics use them for programs on loopback and for refused registrations. */
const RESERVED_LABELS = new Set(['loopback', 'refused'])

/** Returns true for a URI that a parser does not change, and that contains none of `#`, `\`, `@` and whitespace. */
const isCanonical = (uri: string) => URL.parse(uri)?.href === uri && !/[#\\\s@]/.test(uri)

const MAX_URI_LENGTH = 255

/** An https URL, or a URL with the custom scheme of a program. `http` is for loopback, which needs no entry. */
const RedirectUri = z
  .string()
  .max(MAX_URI_LENGTH)
  .refine(
    (uri) => isCanonical(uri) && !/^(?:http|javascript|data|blob|file|about|vbscript):/.test(uri),
    'must be an https URL or one of a custom scheme, in canonical form',
  )

const RedirectUriPrefix = z
  .string()
  .max(MAX_URI_LENGTH)
  .refine(
    (prefix) => isCanonical(prefix) && /^https:\/\/[^/?]+\/[^?]+\/$/.test(prefix),
    'must be an https URL with a path that ends in a slash',
  )

/** A copy of a Client ID Metadata Document, used when the document cannot be fetched. */
const DocumentCopy = z.strictObject({
  /** The day on which the document was last copied from its URL. */
  copied: z.iso.date(),
  metadata: z.looseObject({ client_id: AgentId.refine((id) => id.startsWith('https://'), 'must be a URL') }),
})

const ChatHost = z.strictObject({
  /** The label in metrics and in the output of `auth hosts list`. It must not change, because it identifies a metric. */
  label: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,29}$/)
    .refine((label) => !RESERVED_LABELS.has(label)),
  name: z.string().min(1).max(60),
  redirectUris: z.array(RedirectUri).readonly(),
  /** The prefixes of a host that creates a redirect URI for each connection. One path segment follows a prefix. */
  redirectUriPrefixes: z.array(RedirectUriPrefix).readonly(),
  /** The source of the entry, and the day on which it was last checked. */
  source: z.string().min(1),
  checked: z.iso.date(),
  documents: z.array(DocumentCopy).readonly(),
})

const hasDuplicates = (values: readonly string[]) => new Set(values).size !== values.length

const ChatHostsFile = z
  .strictObject({ hosts: z.array(ChatHost).readonly() })
  .refine(
    ({ hosts }) =>
      !hasDuplicates(hosts.map(({ label }) => label)) &&
      !hasDuplicates(
        hosts.flatMap(({ redirectUris, redirectUriPrefixes }) => [...redirectUris, ...redirectUriPrefixes]),
      ) &&
      !hasDuplicates(hosts.flatMap(({ documents }) => documents.map(({ metadata }) => metadata.client_id))),
    'must not contain a label, redirect URI or client_id twice',
  )

/** A chat app or IDE, with the addresses that it uses. A host without an address uses loopback. */
export type ChatHost = Readonly<z.infer<typeof ChatHost>>
export type ChatHosts = readonly ChatHost[]

/**
 * Parses the file of `AUTH_CHAT_HOSTS_FILE`.
 *
 * @throws {Error} that names the first mistake and quotes nothing
 */
export function parseChatHosts(text: string): ChatHosts {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw new Error('is not JSON')
  }
  const parsed = ChatHostsFile.safeParse(json)
  if (parsed.success) return parsed.data.hosts
  const [issue] = parsed.error.issues
  const mistake = issue?.code === 'custom' ? issue.message : 'has the wrong form'
  throw new Error(`is not a list of chat hosts: /${issue?.path.join('/')} ${mistake}`)
}

/** The list that comes with this release. It is used unless `AUTH_CHAT_HOSTS_FILE` is set. */
export const DEFAULT_CHAT_HOSTS = parseChatHosts(
  readFileSync(new URL('../../chat-hosts.json', import.meta.url), 'utf8'),
)

/** The host to which a redirect URI leads. */
export interface RedirectTarget {
  /** The label of the host, or `loopback`. */
  readonly label: string
  /** The host of a site with its port, if any; a custom scheme with its host; or the loopback host. */
  readonly host: string
  /** `web`: a web site. `program`: a program with its own scheme. `loopback`: any program on the person's computer. */
  readonly kind: 'web' | 'program' | 'loopback'
}

export type RedirectUriFault = 'not-listed'

/**
 * Matches a loopback URI with or without a port, as RFC 8252 §7.3 requires, and with a path of plain segments. Other
 * forms have several spellings, which a browser might interpret differently from us.
 */
const LOOPBACK_URI = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::([1-9]\d{0,4}))?((?:\/[\w.~-]*)*)$/
const MAX_PORT = 65_535
const DOT_SEGMENT = /\/\.\.?(?:\/|$)/
/** Matches the part that may follow a prefix: one path segment that does not begin with a dot. */
const SEGMENT_AFTER_PREFIX = /^[\w~-][\w.~-]{0,199}$/

/**
 * Decides whether an authorization code may be sent to a redirect URI. On loopback, any port and any path of plain
 * segments are accepted. Any other URI must equal a listed URI, or be a listed prefix followed by one path segment. The
 * comparison is character by character: a different case, port, path, query, user or final dot makes a different address.
 *
 * @returns the host to which the URI leads
 */
export function validateRedirectUri(uri: string, hosts: ChatHosts): Result<RedirectTarget, RedirectUriFault> {
  const [, loopback, port, path = ''] = LOOPBACK_URI.exec(uri) ?? []
  if (loopback !== undefined)
    return Number(port ?? 1) <= MAX_PORT && !DOT_SEGMENT.test(path) && uri.length <= MAX_URI_LENGTH
      ? ok({ label: 'loopback', host: loopback, kind: 'loopback' })
      : err('not-listed')
  const matchingHost = hosts.find(
    ({ redirectUris, redirectUriPrefixes }) =>
      redirectUris.includes(uri) ||
      redirectUriPrefixes.some(
        (prefix) => uri.startsWith(prefix) && SEGMENT_AFTER_PREFIX.test(uri.slice(prefix.length)),
      ),
  )
  if (!matchingHost) return err('not-listed')
  const { protocol, host } = new URL(uri)
  return protocol === 'https:'
    ? ok({ label: matchingHost.label, host, kind: 'web' })
    : ok({ label: matchingHost.label, host: `${protocol}//${host}`, kind: 'program' })
}

/** Lists every label that `validateRedirectUri` can return. */
export const listRedirectLabels = (hosts: ChatHosts): readonly string[] => [
  ...hosts.map(({ label }) => label),
  'loopback',
]

/** Finds the label under which metrics count a client: the label of its first redirect URI at a host, or else `loopback`. */
export function findClientLabel(redirectUris: readonly string[], hosts: ChatHosts): string {
  const labels = redirectUris.flatMap((uri) => {
    const target = validateRedirectUri(uri, hosts)
    return target.ok ? [target.value.label] : []
  })
  return labels.find((label) => label !== 'loopback') ?? 'loopback'
}

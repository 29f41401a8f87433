import { type LocatedOperation, scopesOf } from './reference-document.ts'

/** Stands for the id that an earlier response gave. */
const EXAMPLE_ID = '6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10'
const BEARER = '-H "Authorization: Bearer $token"'
const FORM = 'application/x-www-form-urlencoded'

/** Texts to search for in a try, by operation. */
const TRY_QUERY: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  listGuides: { q: 'work permit' },
}

/** Returns where an operation is read without credentials, and with which query; undefined if it cannot be. */
export function anonymousRead(
  { operation, method, address }: LocatedOperation,
  exampleSlug: string,
): { path: string; query: Readonly<Record<string, string>> } | undefined {
  if (method !== 'GET' || operation.security.length > 0) return undefined
  const { pathname } = new URL(address.replace('{slug}', exampleSlug))
  return { path: pathname, query: TRY_QUERY[operation.operationId] ?? {} }
}

/**
 * Commands for a POSIX shell, one for each example of the body, each as its options, between which a line may break. `$id`,
 * `$secret` and `$token` are the reader's.
 */
export function curlCommands(
  { operation, method, address }: LocatedOperation,
  exampleSlug: string,
): string[][] {
  const url = quoted(address.replace('{slug}', exampleSlug).replace('{id}', EXAMPLE_ID))
  const needsClient = operation.security.some((scheme) => 'client' in scheme)
  const needsToken = scopesOf(operation).length > 0
  const start = ['curl -sS', ...(needsClient ? ['-u "$id:$secret"'] : []), ...(needsToken ? [BEARER] : [])]
  const [body] = Object.entries(operation.requestBody?.content ?? {})
  // curl takes GET for granted, and POST where there is a body.
  const verb = method === (body ? 'POST' : 'GET') ? [] : [`-X ${method}`]
  if (!body) return [[...start, ...verb, url]]
  const [type, { examples = {} }] = body
  const data =
    type === FORM ? formData : (value: unknown) => [`-H 'Content-Type: ${type}'`, `-d ${json(value)}`]
  return Object.values(examples).map(({ value }) => [...start, ...verb, ...data(value), url])
}

const formData = (value: unknown): string[] =>
  Object.entries(value as Record<string, string>).map(([name, text]) =>
    text.startsWith('ppt_') ? `-d "${name}=$token"` : `--data-urlencode ${quoted(`${name}=${text}`)}`,
  )

const json = (value: unknown) => singleQuoted(JSON.stringify(value))

/** Bare where a shell reads it as it is. */
const quoted = (text: string) => (/^[\w.:/=@-]+$/.test(text) ? text : singleQuoted(text))

const singleQuoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

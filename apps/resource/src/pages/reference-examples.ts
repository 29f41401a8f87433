import { type LocatedOperation, listRequiredScopes } from './reference-document.ts'

/** An id as an earlier response would contain it. */
const EXAMPLE_ID = '6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10'
const BEARER_OPTION = '-H "Authorization: Bearer $token"'
const FORM_TYPE = 'application/x-www-form-urlencoded'

/** The query parameters with which the form of an operation is filled in, by operation ID. */
const EXAMPLE_QUERIES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  listGuides: { q: 'work permit' },
}

/** Returns the path and an example query of a GET operation that needs no credentials; undefined for any other operation. */
export function findAnonymousRead(
  { operation, method, urlTemplate }: LocatedOperation,
  exampleSlug: string,
): { path: string; query: Readonly<Record<string, string>> } | undefined {
  if (method !== 'GET' || operation.security.length > 0) return undefined
  const { pathname } = new URL(urlTemplate.replace('{slug}', exampleSlug))
  return { path: pathname, query: EXAMPLE_QUERIES[operation.operationId] ?? {} }
}

/**
 * Formats commands for a POSIX shell: a command for each example body, or one command for an operation without a body. Each
 * command is a list of options, because a line may break between two options. The reader sets `$id`, `$secret` and `$token`.
 */
export function formatCurlCommands(
  { operation, method, urlTemplate }: LocatedOperation,
  exampleSlug: string,
): string[][] {
  const url = quoteIfNeeded(urlTemplate.replace('{slug}', exampleSlug).replace('{id}', EXAMPLE_ID))
  const needsClient = operation.security.some((scheme) => 'client' in scheme)
  const needsToken = listRequiredScopes(operation).length > 0
  const firstOptions = [
    'curl -sS',
    ...(needsClient ? ['-u "$id:$secret"'] : []),
    ...(needsToken ? [BEARER_OPTION] : []),
  ]
  const [firstContent] = Object.entries(operation.requestBody?.content ?? {})
  // curl sends GET by default, and POST if there is a body.
  const methodOption = method === (firstContent ? 'POST' : 'GET') ? [] : [`-X ${method}`]
  if (!firstContent) return [[...firstOptions, ...methodOption, url]]
  const [type, { examples = {} }] = firstContent
  const formatData =
    type === FORM_TYPE
      ? formatFormData
      : (value: unknown) => [`-H 'Content-Type: ${type}'`, `-d ${quoteJson(value)}`]
  return Object.values(examples).map(({ value }) => [
    ...firstOptions,
    ...methodOption,
    ...formatData(value),
    url,
  ])
}

/** Formats the fields of a form as options. An example token becomes the reader's `$token`. */
const formatFormData = (value: unknown): string[] =>
  Object.entries(value as Record<string, string>).map(([name, text]) =>
    text.startsWith('ppt_') ? `-d "${name}=$token"` : `--data-urlencode ${quoteIfNeeded(`${name}=${text}`)}`,
  )

const quoteJson = (value: unknown) => quote(JSON.stringify(value))

/** Quotes a string for a shell if it contains a character that may have a special meaning. */
const quoteIfNeeded = (text: string) => (/^[\w.:/=@-]+$/.test(text) ? text : quote(text))

const quote = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

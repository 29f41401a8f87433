export interface CurlRequest {
  readonly method: string
  readonly address: string
  /** True when the client's id and secret are needed. */
  readonly credentials: boolean
  /** True when a token is needed. */
  readonly token: boolean
  readonly body?: { readonly type: string; readonly examples: readonly unknown[] } | undefined
}

const BEARER = '-H "Authorization: Bearer $token"'
const FORM = 'application/x-www-form-urlencoded'

/** Lines for a POSIX shell, one for each example of the body; `$id`, `$secret` and `$token` are the reader's. */
export function curlCommands({ method, address, credentials, token, body }: CurlRequest): string[] {
  const start = ['curl', '-sS', ...(credentials ? ['-u "$id:$secret"'] : []), ...(token ? [BEARER] : [])]
  if (!body) return [[...start, ...(method === 'GET' ? [] : ['-X', method]), quoted(address)].join(' ')]
  const data =
    body.type === FORM
      ? formData
      : (value: unknown) => [`-H 'Content-Type: ${body.type}'`, `-d ${json(value)}`]
  // curl takes POST for granted where there is a body.
  const verb = method === 'POST' ? [] : ['-X', method]
  return body.examples.map((value) => [...start, ...verb, ...data(value), quoted(address)].join(' '))
}

const formData = (value: unknown): string[] =>
  Object.entries(value as Record<string, string>).map(([name, text]) =>
    text.startsWith('ppt_') ? `-d "${name}=$token"` : `--data-urlencode ${quoted(`${name}=${text}`)}`,
  )

const json = (value: unknown) => singleQuoted(JSON.stringify(value))

/** Bare where a shell reads it as it is. */
const quoted = (text: string) => (/^[\w.:/=@-]+$/.test(text) ? text : singleQuoted(text))

const singleQuoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

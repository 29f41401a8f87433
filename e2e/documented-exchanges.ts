/** A request and its response in a document. */
export interface DocumentedExchange {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly status: number
  /** The media type of the response; undefined when it has no body. */
  readonly type: string | undefined
  readonly shown: unknown
  /** The headers of the response. */
  readonly shownHeaders: Readonly<Record<string, string>>
}

/** Returns the pairs of `http` blocks in the order of the document, with the `json` blocks before each. */
export function documentedExchanges(
  markdown: string,
): { readonly exchange: DocumentedExchange; readonly json: readonly unknown[] }[] {
  const exchanges: { exchange: DocumentedExchange; json: readonly unknown[] }[] = []
  let json: unknown[] = []
  let request: string | undefined
  for (const [, kind, block = ''] of markdown.matchAll(/^```(http|json)\n([\s\S]*?)\n```$/gm)) {
    if (kind === 'json') json.push(JSON.parse(block))
    else if (request === undefined) request = block
    else {
      exchanges.push({ exchange: readExchange(request, block), json })
      request = undefined
      json = []
    }
  }
  if (request !== undefined) throw new Error(`a request without a response: ${request}`)
  return exchanges
}

/** Parses a block with a request line, headers, and a body after an empty line. */
export function readRequest(block: string) {
  const { line, headers, body } = readBlock(block)
  const [method = '', url = ''] = line.split(' ')
  return { method, url, headers, body }
}

function readExchange(request: string, response: string): DocumentedExchange {
  const received = readBlock(response)
  return {
    ...readRequest(request),
    status: Number(received.line.split(' ')[1]),
    type: received.headers['Content-Type'],
    shownHeaders: received.headers,
    shown: received.body === undefined ? undefined : JSON.parse(received.body),
  }
}

function readBlock(block: string) {
  const [head = '', ...rest] = block.split('\n\n')
  const [line = '', ...fields] = head.split('\n')
  const headers: Record<string, string> = Object.fromEntries(
    fields.map((field) => field.split(/: (.*)/).slice(0, 2) as [string, string]),
  )
  return { line, headers, body: rest.length > 0 ? rest.join('\n\n') : undefined }
}

/** Returns the paths of all members, including those of nested objects. The elements of a list count as one. */
export function memberNames(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return []
  const names = Array.isArray(value)
    ? value.flatMap((element) => memberNames(element, `${path}[]`))
    : Object.entries(value).flatMap(([name, member]) => [
        `${path}.${name}`,
        ...memberNames(member, `${path}.${name}`),
      ])
  return [...new Set(names)].sort()
}

/** Maps each string in a documented value to the string that the service returned in its place. */
export function matchStrings(
  shown: unknown,
  real: unknown,
  matches = new Map<string, string>(),
): Map<string, string> {
  if (typeof shown === 'string' && typeof real === 'string') return matches.set(shown, real)
  if (typeof shown !== 'object' || typeof real !== 'object' || !shown || !real) return matches
  for (const [name, member] of Object.entries(shown))
    matchStrings(member, (real as Record<string, unknown>)[name], matches)
  return matches
}

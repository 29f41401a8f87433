/*
 * Parses the requests and responses that a Markdown document shows, so that tests can compare them with those of the service.
 */

/** A request and its response in a document. */
export interface DocumentedExchange {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly status: number
  /** The `Content-Type` of the response. Undefined if the document shows none. */
  readonly type: string | undefined
  readonly responseHeaders: Readonly<Record<string, string>>
  /** The parsed JSON body of the response. Undefined if the document shows none. */
  readonly responseBody: unknown
}

/**
 * Parses the pairs of `http` blocks, a request and its response, in the order of the document. `json` contains the
 * parsed `json` blocks since the previous pair.
 *
 * @throws {Error} if the last request has no response
 */
export function parseExchanges(
  markdown: string,
): { readonly exchange: DocumentedExchange; readonly json: readonly unknown[] }[] {
  const exchanges: { exchange: DocumentedExchange; json: readonly unknown[] }[] = []
  let json: unknown[] = []
  let request: string | undefined
  for (const [, kind, block = ''] of markdown.matchAll(/^```(http|json)\n([\s\S]*?)\n```$/gm)) {
    if (kind === 'json') json.push(JSON.parse(block))
    else if (request === undefined) request = block
    else {
      exchanges.push({ exchange: parseExchange(request, block), json })
      request = undefined
      json = []
    }
  }
  if (request !== undefined) throw new Error(`a request without a response: ${request}`)
  return exchanges
}

/** Parses a block with a request line, headers, and a body after an empty line. */
export function parseRequest(block: string) {
  const { line, headers, body } = parseBlock(block)
  const [method = '', url = ''] = line.split(' ')
  return { method, url, headers, body }
}

function parseExchange(request: string, response: string): DocumentedExchange {
  const { line: statusLine, headers, body } = parseBlock(response)
  return {
    ...parseRequest(request),
    status: Number(statusLine.split(' ')[1]),
    type: headers['Content-Type'],
    responseHeaders: headers,
    responseBody: body === undefined ? undefined : JSON.parse(body),
  }
}

/** Parses the first line, the headers, and the body after the first empty line. The body is undefined if there is none. */
function parseBlock(block: string) {
  const [head = '', ...bodyParts] = block.split('\n\n')
  const [line = '', ...fields] = head.split('\n')
  const headers: Record<string, string> = Object.fromEntries(
    fields.map((field) => field.split(/: (.*)/).slice(0, 2) as [string, string]),
  )
  return { line, headers, body: bodyParts.length > 0 ? bodyParts.join('\n\n') : undefined }
}

/**
 * Returns the sorted paths of all members, including those of nested objects. The elements of a list share one path,
 * such as `.guides[]`.
 */
export function listMemberPaths(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return []
  const paths = Array.isArray(value)
    ? value.flatMap((element) => listMemberPaths(element, `${path}[]`))
    : Object.entries(value).flatMap(([name, member]) => [
        `${path}.${name}`,
        ...listMemberPaths(member, `${path}.${name}`),
      ])
  return [...new Set(paths)].sort()
}

/** Maps each string in a documented value to the string at the same place in the real value, if there is one. */
export function matchStrings(
  documented: unknown,
  real: unknown,
  matches = new Map<string, string>(),
): Map<string, string> {
  if (typeof documented === 'string' && typeof real === 'string') return matches.set(documented, real)
  if (typeof documented !== 'object' || typeof real !== 'object' || !documented || !real) return matches
  for (const [name, member] of Object.entries(documented))
    matchStrings(member, (real as Record<string, unknown>)[name], matches)
  return matches
}

import { z } from 'zod'
import { type PreparedResponse, prepareResponse } from './prepared-response.ts'
import { defineRoute, type RequestFacts, type Route, type RouteLimits } from './route.ts'

/** A document that is the same for every request, except that a query may select a part of it. */
interface StaticDocument {
  readonly path: `/${string}`
  /** `Content-Type`, sent unchanged. */
  readonly contentType: string
  /** Further media types that `Accept` may choose for the same bytes. */
  readonly alsoAs?: readonly string[]
  /** A function if the content can change while the app runs; called for each request. */
  readonly content: string | (() => string)
  readonly headers?: Readonly<Record<string, string>>
  /** Parses the query to the content of the part that it selects; to undefined for the whole document. */
  readonly part?: z.ZodType<string | undefined>
}

/**
 * Creates routes that serve documents to anybody, cacheable for 300 s, with ETag, 304 and HEAD. An `Accept` that excludes
 * every media type gets the first one: a client that requests a discovery document can read it.
 */
export const documentRoutes = (documents: readonly StaticDocument[], limits: RouteLimits): Route[] =>
  documents.map(({ path, contentType, alsoAs, content, headers, part = WHOLE }) => {
    const prepared = prepareLatest(contentType, typeof content === 'string' ? () => content : content)
    return defineRoute({
      method: 'get',
      path,
      operationId: `document ${path}`,
      summary: 'A discovery document',
      access: 'open',
      limits,
      cache: 'public',
      request: { query: part },
      responses: { 200: z.string() },
      handle: ({ request, query }) => ({
        status: 200,
        ...(headers && { headers: { ...headers } }),
        prepared: {
          // Prepared for each request: a cache of parts would have no bound.
          ...(query === undefined ? prepared() : prepareResponse(contentType, query)),
          type: alsoAs ? chooseType(request, contentType, alsoAs) : contentType,
        },
      }),
    })
  })

/** Ignores the query. */
const WHOLE = z.unknown().transform(() => undefined)

/** Prepares the response on the first request, and again when the content has changed. */
function prepareLatest(type: string, content: () => string): () => PreparedResponse {
  let last: { content: string; prepared: PreparedResponse } | undefined
  return () => {
    const current = content()
    if (last?.content !== current) last = { content: current, prepared: prepareResponse(type, current) }
    return last.prepared
  }
}

/** Chooses a media type by `Accept`. Types are compared without parameters, which `Accept` seldom names. */
function chooseType(request: RequestFacts, contentType: string, alsoAs: readonly string[]): string {
  const [first = contentType] = contentType.split(';')
  const accepted = request.accepts(first, ...alsoAs)
  return accepted === undefined || accepted === first ? contentType : accepted
}

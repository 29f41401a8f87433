import { z } from 'zod'
import { type PreparedResponse, prepareResponse } from './prepared-response.ts'
import { defineRoute, type RequestFacts, type Route, type RouteLimits } from './route.ts'

/** Bytes that depend on no request. */
interface StaticDocument {
  readonly path: `/${string}`
  /** The `Content-Type`, sent exactly so. */
  readonly contentType: string
  /** Further media types under which the same bytes come when `Accept` asks for them. */
  readonly alsoAs?: readonly string[]
  /** A function where it can change while the app runs; it is asked for each request. */
  readonly content: string | (() => string)
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Serves documents to anybody, for 300 s, with ETag, 304 and HEAD. An `Accept` that excludes every form is answered
 * with the first: whoever looks for a document can read it.
 */
export const documentRoutes = (documents: readonly StaticDocument[], limits: RouteLimits): Route[] =>
  documents.map(({ path, contentType, alsoAs, content, headers }) => {
    const prepared = latest(contentType, typeof content === 'string' ? () => content : content)
    return defineRoute({
      method: 'get',
      path,
      operationId: `document ${path}`,
      summary: 'A discovery document',
      access: 'open',
      limits,
      cache: 'public',
      responses: { 200: z.string() },
      handle: ({ request }) => ({
        status: 200,
        ...(headers && { headers: { ...headers } }),
        prepared: { ...prepared(), type: alsoAs ? chosen(request, contentType, alsoAs) : contentType },
      }),
    })
  })

/** Prepares at the first request, and again once the content has changed. */
function latest(type: string, content: () => string): () => PreparedResponse {
  let known: { content: string; prepared: PreparedResponse } | undefined
  return () => {
    const now = content()
    if (known?.content !== now) known = { content: now, prepared: prepareResponse(type, now) }
    return known.prepared
  }
}

/** Media types are offered without their parameters, which `Accept` seldom names. */
function chosen(request: RequestFacts, contentType: string, alsoAs: readonly string[]): string {
  const [first = contentType] = contentType.split(';')
  const accepted = request.accepts(first, ...alsoAs)
  return accepted === undefined || accepted === first ? contentType : accepted
}

import { z } from 'zod'
import type { LimitPolicy } from '../limits/limit-store.ts'
import { type PreparedResponse, prepareResponse } from './prepared-response.ts'
import { defineRoute, type RequestFacts, type Route, type RouteLimits } from './route.ts'

/** A document that is the same for every request, except that the query may select a part. */
interface StaticDocument {
  readonly path: `/${string}`
  /** `Content-Type`, sent unchanged. */
  readonly contentType: string
  /** Other media types that `Accept` may choose for the same bytes. */
  readonly otherTypes?: readonly string[]
  /** A function if the content can change while the app runs. It is called for each request. */
  readonly content: string | (() => string)
  readonly headers?: Readonly<Record<string, string>>
  /** Parses the query into a function that creates the selected part, or into undefined for the whole document. */
  readonly part?: z.ZodType<(() => string) | undefined>
}

/**
 * Creates routes that serve documents to anybody, cacheable for 300 s, with ETag, 304 and HEAD. If `Accept` excludes
 * every media type, `contentType` is sent, because a client that requests a discovery document can read it.
 *
 * @param partLimits policies that count the address of a request for a part, in addition to `limits`. A part is created and compressed
 *   for each request, because queries can select too many different parts to cache them.
 */
export const createDocumentRoutes = (
  documents: readonly StaticDocument[],
  limits: RouteLimits,
  partLimits: readonly LimitPolicy[] = [],
): Route[] =>
  documents.map(({ path, contentType, otherTypes, content, headers, part = IGNORED_QUERY }) => {
    const prepareWhole = prepareLatest(contentType, typeof content === 'string' ? () => content : content)
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
      async handle({ request, query: createPart }) {
        if (createPart) for (const policy of partLimits) await request.takeForAddress(policy)
        return {
          status: 200,
          ...(headers && { headers: { ...headers } }),
          prepared: {
            ...(createPart ? prepareResponse(contentType, createPart()) : prepareWhole()),
            type: otherTypes ? chooseType(request, contentType, otherTypes) : contentType,
          },
        }
      },
    })
  })

/** Ignores the query. */
const IGNORED_QUERY = z.unknown().transform(() => undefined)

/** Creates a function that prepares the response on the first request, and again when the content has changed. */
function prepareLatest(type: string, content: () => string): () => PreparedResponse {
  let latest: { content: string; prepared: PreparedResponse } | undefined
  return () => {
    const currentContent = content()
    if (latest?.content !== currentContent)
      latest = { content: currentContent, prepared: prepareResponse(type, currentContent) }
    return latest.prepared
  }
}

/** Chooses a media type by `Accept`. Compares types without parameters, which `Accept` rarely names. */
function chooseType(request: RequestFacts, contentType: string, otherTypes: readonly string[]): string {
  const [bareType = contentType] = contentType.split(';')
  const acceptedType = request.accepts(bareType, ...otherTypes)
  return acceptedType === undefined || acceptedType === bareType ? contentType : acceptedType
}

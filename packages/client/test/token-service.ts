import { type FakeService, type ReceivedRequest, startFakeService } from './fake-service.ts'

export const SECRET = 'pps_secret'
export const GUIDE_PATH = '/api/guides/work-permit'

/** Creates the body of an error response: a problem with an additional member, `extra`. */
export const createProblem = (code: string) => ({ code, detail: 'What to do.', request_id: 'r-1', extra: 1 })
/** Creates an error response. @param retryAfter the header `Retry-After`, in seconds; by default absent */
export const createRefusal = (status: number, code: string, retryAfter?: string) => ({
  status,
  headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
  body: createProblem(code),
})

/**
 * Starts a service that issues the tokens `ppt_1`, `ppt_2` and so on. It responds with 404 to any path without a reply.
 *
 * @param replies replace the default replies, by path
 */
export async function startTokenService(
  replies: Readonly<
    Record<string, (request: ReceivedRequest, service: FakeService) => object | Promise<object>>
  > = {},
): Promise<FakeService> {
  let tokenCount = 0
  const defaultReplies: typeof replies = {
    '/api/agent/register': () => ({ status: 201, body: { client_id: 'agt_1', client_secret: SECRET } }),
    '/oauth/token': () => ({ body: { access_token: `ppt_${(tokenCount += 1)}`, expires_in: 3600 } }),
    '/api/agent/assertion': () => ({ body: { identity_assertion: 'a.b.c' } }),
    '/api/contact': () => ({ status: 202, body: { id: '1' } }),
    [GUIDE_PATH]: () => ({ body: { slug: 'work-permit' } }),
  }
  const service: FakeService = await startFakeService(
    (request) =>
      (replies[request.path] ?? defaultReplies[request.path])?.(request, service) ?? { status: 404 },
  )
  return service
}

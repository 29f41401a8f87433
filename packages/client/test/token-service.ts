import { type FakeService, type Received, startFakeService } from './fake-service.ts'

export const SECRET = 'pps_secret'
export const GUIDE = '/api/guides/work-permit'

/** Creates the body of a refusal. */
export const problem = (code: string) => ({ code, detail: 'What to do.', request_id: 'r-1', extra: 1 })
/** Creates a refusal. */
export const refusal = (status: number, code: string, retryAfter?: string) => ({
  status,
  headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
  body: problem(code),
})

/** A service whose tokens are numbered, with other replies for some paths. */
export async function startTokenService(
  replies: Readonly<
    Record<string, (request: Received, service: FakeService) => object | Promise<object>>
  > = {},
): Promise<FakeService> {
  let tokens = 0
  const usual: typeof replies = {
    '/api/agent/register': () => ({ status: 201, body: { client_id: 'agt_1', client_secret: SECRET } }),
    '/oauth/token': () => ({ body: { access_token: `ppt_${(tokens += 1)}`, expires_in: 3600 } }),
    '/api/agent/assertion': () => ({ body: { identity_assertion: 'a.b.c' } }),
    '/api/contact': () => ({ status: 202, body: { id: '1' } }),
    [GUIDE]: () => ({ body: { slug: 'work-permit' } }),
  }
  const service: FakeService = await startFakeService(
    (request) => (replies[request.path] ?? usual[request.path])?.(request, service) ?? { status: 404 },
  )
  return service
}

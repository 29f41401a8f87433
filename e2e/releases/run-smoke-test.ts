import { basic, createSender, form, type HttpRequest, json } from '../send.ts'

/** The addresses of both apps of one release, and the origin that they serve. */
export interface ReleaseUrls {
  readonly auth: string
  readonly resource: string
  readonly origin: string
}

/**
 * Runs the operations that every release has: register, request a token, read guides with and without the token, join the
 * waitlist twice, revoke the token, and check that the token is refused.
 *
 * @returns the operations that failed, each with the status that it got
 */
export async function runSmokeTest(urls: ReleaseUrls): Promise<string[]> {
  const { host } = new URL(urls.origin)
  using auth = createSender(urls.auth)
  using resource = createSender(urls.resource)
  const failures: string[] = []
  /** Sends a request, and records a failure if its status is not `expected`. Returns the parsed body, or `{}` if it is not JSON. */
  async function sendAndCheckStatus(
    name: string,
    expected: number,
    sender: typeof auth,
    request: HttpRequest,
  ) {
    // The apps accept only the host of their origin.
    const response = await sender.send({ ...request, headers: { ...request.headers, host } })
    if (response.status !== expected) failures.push(`${name}: ${response.status}`)
    return response.headers.get('content-type')?.includes('json')
      ? (JSON.parse(response.text) as Record<string, string>)
      : {}
  }
  const agent = await sendAndCheckStatus('register', 201, auth, {
    method: 'POST',
    path: '/api/agent/register',
  })
  const credentials = basic(agent['client_id'] ?? '', agent['client_secret'] ?? '')
  const createAgentRequest = (path: string, fields: Record<string, string>): HttpRequest => {
    const content = form(fields)
    return { method: 'POST', path, ...content, headers: { ...content.headers, ...credentials } }
  }
  const tokenRequest = createAgentRequest('/oauth/token', { grant_type: 'client_credentials' })
  // Without a token, the next step fails too.
  const { access_token: token = 'none' } = await sendAndCheckStatus('token', 200, auth, tokenRequest)
  const guidesRequest = { path: '/api/guides', headers: { authorization: `Bearer ${token}` } }
  await sendAndCheckStatus('guides with the token', 200, resource, guidesRequest)
  await sendAndCheckStatus('guides', 200, resource, { path: '/api/guides' })
  const joinRequest = {
    method: 'POST',
    path: '/api/waitlist',
    ...json({ email: `somebody.${crypto.randomUUID()}@example.org` }),
  }
  await sendAndCheckStatus('join', 201, resource, joinRequest)
  await sendAndCheckStatus('join again', 200, resource, joinRequest)
  await sendAndCheckStatus('revoke', 200, auth, createAgentRequest('/oauth/revoke', { token }))
  await sendAndCheckStatus('guides with the revoked token', 401, resource, guidesRequest)
  return failures
}

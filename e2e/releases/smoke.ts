import { basic, createSender, form, type HttpRequest, json } from '../send.ts'

/** The addresses of both apps of one release, and the origin that they serve. */
export interface ReleaseUrls {
  readonly auth: string
  readonly resource: string
  readonly origin: string
}

/**
 * Runs the operations that every release has: register, request a token, read guides with and without it, join the waitlist, and
 * revoke the token.
 *
 * @returns the operations that failed, each with its status
 */
export async function smoke(urls: ReleaseUrls): Promise<string[]> {
  const { host } = new URL(urls.origin)
  using auth = createSender(urls.auth)
  using resource = createSender(urls.resource)
  const failures: string[] = []
  async function step(name: string, expected: number, sender: typeof auth, request: HttpRequest) {
    const response = await sender.send({ ...request, headers: { ...request.headers, host } })
    if (response.status !== expected) failures.push(`${name}: ${response.status}`)
    return response.headers.get('content-type')?.includes('json')
      ? (JSON.parse(response.text) as Record<string, string>)
      : {}
  }
  const agent = await step('register', 201, auth, { method: 'POST', path: '/api/agent/register' })
  const credentials = basic(agent['client_id'] ?? '', agent['client_secret'] ?? '')
  const createAgentRequest = (path: string, fields: Record<string, string>): HttpRequest => {
    const request = form(fields)
    return { method: 'POST', path, ...request, headers: { ...request.headers, ...credentials } }
  }
  const grant = createAgentRequest('/oauth/token', { grant_type: 'client_credentials' })
  const { access_token: token = 'none' } = await step('token', 200, auth, grant)
  const tokenRead = { path: '/api/guides', headers: { authorization: `Bearer ${token}` } }
  await step('guides with the token', 200, resource, tokenRead)
  await step('guides', 200, resource, { path: '/api/guides' })
  const joinRequest = {
    method: 'POST',
    path: '/api/waitlist',
    ...json({ email: `somebody.${crypto.randomUUID()}@example.org` }),
  }
  await step('join', 201, resource, joinRequest)
  await step('join again', 200, resource, joinRequest)
  await step('revoke', 200, auth, createAgentRequest('/oauth/revoke', { token }))
  await step('guides with the revoked token', 401, resource, tokenRead)
  return failures
}

import { basic, createSender, form, type HttpRequest, json } from '../send.ts'

/** Where both apps of one release are reached, and the origin they serve. */
export interface ReleaseUrls {
  readonly auth: string
  readonly resource: string
  readonly origin: string
}

/**
 * What every release can do: register, get a token, use it, read guides, join the waitlist, revoke.
 *
 * @returns what it could not, each with its status
 */
export async function smoke(urls: ReleaseUrls): Promise<string[]> {
  const { host } = new URL(urls.origin)
  using auth = createSender(urls.auth)
  using resource = createSender(urls.resource)
  const failures: string[] = []
  async function step(name: string, expected: number, to: typeof auth, sent: HttpRequest) {
    const response = await to.send({ ...sent, headers: { ...sent.headers, host } })
    if (response.status !== expected) failures.push(`${name}: ${response.status}`)
    return response.headers.get('content-type')?.includes('json')
      ? (JSON.parse(response.text) as Record<string, string>)
      : {}
  }
  const agent = await step('register', 201, auth, { method: 'POST', path: '/api/agent/register' })
  const credentials = basic(agent['client_id'] ?? '', agent['client_secret'] ?? '')
  const asAgent = (path: string, fields: Record<string, string>): HttpRequest => {
    const sent = form(fields)
    return { method: 'POST', path, ...sent, headers: { ...sent.headers, ...credentials } }
  }
  const grant = asAgent('/oauth/token', { grant_type: 'client_credentials' })
  const { access_token: token = 'none' } = await step('token', 200, auth, grant)
  const withToken = { path: '/api/guides', headers: { authorization: `Bearer ${token}` } }
  await step('guides with the token', 200, resource, withToken)
  await step('guides', 200, resource, { path: '/api/guides' })
  const join = {
    method: 'POST',
    path: '/api/waitlist',
    ...json({ email: `somebody.${crypto.randomUUID()}@example.org` }),
  }
  await step('join', 201, resource, join)
  await step('join again', 200, resource, join)
  await step('revoke', 200, auth, asAgent('/oauth/revoke', { token }))
  await step('guides with the revoked token', 401, resource, withToken)
  return failures
}

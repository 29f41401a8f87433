import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type System, startSystem } from './start-system.ts'

/*
 * What an agent and a person do from start to end, with both apps in this process. `e2e/system/journey.ts` tests an agent through
 * the gateway, with several processes.
 */

let system: System
beforeAll(async () => {
  system = await startSystem()
})
afterAll(() => system[Symbol.asyncDispose]())

const ALLOW_HTTP = { [oauth.allowInsecureRequests]: true } as const

async function register(): Promise<{ client_id: string; client_secret: string }> {
  const response = await fetch(`${system.origin}/api/agent/register`, { method: 'POST' })
  expect(response.status).toBe(201)
  return (await response.json()) as { client_id: string; client_secret: string }
}

async function discover(): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(system.origin)
  const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...ALLOW_HTTP })
  return oauth.processDiscoveryResponse(issuer, response)
}

async function issueToken(
  agent: { client_id: string; client_secret: string },
  parameters: Record<string, string> = {},
) {
  const server = await discover()
  const client = { client_id: agent.client_id }
  const response = await oauth.clientCredentialsGrantRequest(
    server,
    client,
    oauth.ClientSecretBasic(agent.client_secret),
    new URLSearchParams(parameters),
    ALLOW_HTTP,
  )
  return oauth.processClientCredentialsResponse(server, client, response)
}

const get = (path: string, token?: string) =>
  fetch(`${system.origin}${path}`, { headers: token ? { authorization: `Bearer ${token}` } : {} })

describe('with oauth4webapi, an agent', () => {
  test('registers, gets a token, reads guides, and cannot use the token once it is revoked', async () => {
    const agent = await register()
    const token = await issueToken(agent)
    expect(token).toMatchObject({
      token_type: 'bearer',
      expires_in: 3600,
      scope: 'guides:read waitlist:write',
    })
    expect(token.access_token).toMatch(/^ppt_[A-Za-z0-9_-]{43}$/)

    const list = (await (await get('/api/guides', token.access_token)).json()) as {
      guides: { slug: string }[]
    }
    expect(list.guides.length).toBeGreaterThanOrEqual(5)
    const guide = await get(`/api/guides/${list.guides[0]?.slug}`, token.access_token)
    expect(await guide.json()).toMatchObject({ slug: list.guides[0]?.slug, language: 'en', reviewed: null })

    const server = await discover()
    const revocationResponse = await oauth.revocationRequest(
      server,
      { client_id: agent.client_id },
      oauth.ClientSecretPost(agent.client_secret),
      token.access_token,
      ALLOW_HTTP,
    )
    await oauth.processRevocationResponse(revocationResponse)
    expect((await get('/api/guides', token.access_token)).status).toBe(401)
    expect((await get('/api/guides')).status).toBe(200)
  })

  test('finds the authorization server from a challenge', async () => {
    const refusal = await get('/api/guides', 'ppt_wrong')
    expect(refusal.status).toBe(401)
    const challenge = parseChallenge(refusal.headers.get('www-authenticate') ?? '')
    const metadata = await fetch(challenge['resource_metadata'] ?? '')
    const resource = new URL(`${system.origin}/api`)
    const document = await oauth.processResourceDiscoveryResponse(resource, metadata)
    expect(document.authorization_servers).toEqual([system.origin])
    expect((await discover()).issuer).toBe(system.origin)
  })

  test('deletes itself, which invalidates its tokens', async () => {
    const agent = await register()
    const { access_token } = await issueToken(agent)
    expect((await get('/api/guides', access_token)).status).toBe(200)
    const basic = Buffer.from(`${agent.client_id}:${agent.client_secret}`).toString('base64')
    const deletion = await fetch(`${system.origin}/api/agent`, {
      method: 'DELETE',
      headers: { authorization: `Basic ${basic}` },
    })
    expect(deletion.status).toBe(204)
    expect((await get('/api/guides', access_token)).status).toBe(401)
    await expect(issueToken(agent)).rejects.toMatchObject({ status: 401 })
  })

  test('is granted only the scopes that it may have', async () => {
    const agent = await register()
    expect((await issueToken(agent, { scope: 'guides:read contact:write' })).scope).toBe('guides:read')
    await expect(issueToken(agent, { scope: 'contact:write' })).rejects.toMatchObject({
      error: 'invalid_scope',
    })
  })

  test('gets a token, with the default scopes, only for a known resource', async () => {
    const agent = await register()
    await expect(issueToken(agent, { resource: 'https://other.example/api' })).rejects.toMatchObject({
      error: 'invalid_target',
    })
    expect((await issueToken(agent, { resource: `${system.origin}/api` })).scope).toBe(
      'guides:read waitlist:write',
    )
  })
})

const join = (email: string) =>
  fetch(`${system.origin}/api/waitlist`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email }),
  })

test('a person joins the waitlist once, however the e-mail address is written', async () => {
  const firstJoin = await join('Ana.Lopez@Example.ORG')
  expect(firstJoin.status).toBe(201)
  expect(await firstJoin.json()).toMatchObject({
    status: 'joined',
    referralUrl: expect.stringContaining(`${system.origin}/?ref=`),
  })
  const secondJoin = await join('  ana.lopez@example.org ')
  expect(secondJoin.status).toBe(200)
  expect(await secondJoin.json()).toEqual({ status: 'already_joined' })
})

test('no log line contains a token, a secret, an e-mail or IP address, or a query string', async () => {
  const agent = await register()
  const { access_token } = await issueToken(agent)
  await get('/api/guides?limit=1&probe=canary-in-query', access_token)
  for (const email of ['canary-address@example.org', 'Ana.Lopez@Example.ORG'])
    expect((await join(email)).ok).toBe(true)
  const logged = system.logged.join('').toLowerCase()
  const addresses = ['canary-address', 'ana.lopez', '127.0.0.1']
  for (const canary of [access_token, agent.client_secret, 'canary-in-query', ...addresses]) {
    expect(logged).not.toContain(canary.toLowerCase())
  }
  expect(logged).toContain('/oauth/token')
})

/** Parses the parameters of a challenge in `WWW-Authenticate`. */
function parseChallenge(header: string): Record<string, string> {
  const parameters = [...header.matchAll(/(\w+)="([^"]*)"/g)].map(
    ([, name = '', value = '']) => [name, value] as const,
  )
  return Object.fromEntries(parameters)
}

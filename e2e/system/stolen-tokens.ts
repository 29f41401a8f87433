import { expect, test } from 'vitest'
import { createAgentKey } from '../agent-key.ts'
import { createKeyRequests, type KeyHolder } from '../key-holder.ts'
import { form, type Sender } from '../send.ts'
import type { System } from './open-system.ts'

/** The only origin in the apps' CORS settings. */
const SCRIPT_ORIGIN = 'https://app.example'
export const scriptSettings = { AUTH_CORS_ORIGINS: SCRIPT_ORIGIN, RESOURCE_CORS_ORIGINS: SCRIPT_ORIGIN }

/** Creates a sender to the public listener of each process of an app, with the `Host` header of the gateway. */
export const createListenerSenders = (system: System, app: 'auth' | 'resource'): readonly Sender[] =>
  system.stack[app].map(({ ports }) => {
    const sender = system.client({ url: `http://127.0.0.1:${ports.public}` })
    const { host } = new URL(system.origin)
    const send: Sender['send'] = (sent) => sender.send({ ...sent, headers: { host, ...sent.headers } })
    return { ...sender, send }
  })

interface StolenToken {
  readonly token: string
  /** Another token that is bound to the same key. */
  readonly otherToken: string
  /** A token of the same agent that is bound to no key. */
  readonly bearerToken: string
  /** The headers of a request that was accepted. */
  readonly acceptedHeaders: Record<string, string>
  /** The URL of that request. */
  readonly url: string
  /** Signs a proof with the token's key, for a GET of `url` and for no token. `parts` replaces these members. */
  signProof(parts: { method?: string; url?: string; token?: string }): string
}

/** Ways in which a thief presents a token. They also cover a bearer token that is presented as a bound one. */
const THEFTS: readonly {
  readonly what: string
  /** The expected `error` of the challenge. */
  readonly error: string
  headers(stolen: StolenToken): Record<string, string>
}[] = [
  {
    what: 'presents it as a bearer token',
    error: 'invalid_token',
    headers: ({ token }) => ({ authorization: `Bearer ${token}` }),
  },
  {
    what: 'presents it as a bearer token with a proof of its key',
    error: 'invalid_token',
    headers: ({ token, signProof }) => ({ authorization: `Bearer ${token}`, dpop: signProof({ token }) }),
  },
  {
    what: 'presents it without a proof',
    error: 'invalid_dpop_proof',
    headers: ({ token }) => ({ authorization: `DPoP ${token}` }),
  },
  {
    what: 'signs proofs with another key',
    error: 'invalid_dpop_proof',
    headers: ({ token, url }) => ({
      authorization: `DPoP ${token}`,
      dpop: createAgentKey().signProof({ method: 'GET', url, token }),
    }),
  },
  {
    what: 'has a proof for another token of the same key',
    error: 'invalid_dpop_proof',
    headers: ({ token, otherToken, signProof }) => ({
      authorization: `DPoP ${token}`,
      dpop: signProof({ token: otherToken }),
    }),
  },
  {
    what: 'has a proof without the hash of the token',
    error: 'invalid_dpop_proof',
    headers: ({ token, signProof }) => ({ authorization: `DPoP ${token}`, dpop: signProof({}) }),
  },
  {
    what: 'has a proof for another address',
    error: 'invalid_dpop_proof',
    headers: ({ token, url, signProof }) => ({
      authorization: `DPoP ${token}`,
      dpop: signProof({ token, url: `${url}/work-permit` }),
    }),
  },
  {
    what: 'has a proof for another method',
    error: 'invalid_dpop_proof',
    headers: ({ token, signProof }) => ({
      authorization: `DPoP ${token}`,
      dpop: signProof({ token, method: 'POST' }),
    }),
  },
  {
    what: 'has a proof that was used',
    error: 'invalid_dpop_proof',
    headers: ({ acceptedHeaders }) => acceptedHeaders,
  },
  {
    what: 'signs a proof for a bearer token',
    error: 'invalid_token',
    headers: ({ bearerToken, signProof }) => ({
      authorization: `DPoP ${bearerToken}`,
      dpop: signProof({ token: bearerToken }),
    }),
  },
]

interface Running {
  readonly system: System
  /** Publishes the document of an agent with a key of its own. */
  publishAgent(): KeyHolder
  newToken(holder: KeyHolder, isBound: boolean, sender: Sender): Promise<string>
}

/** Tests that a bound token cannot be used without its key, and that scripts of an allowed site can use DPoP. */
export function describeStolenTokens(running: () => Running): void {
  test('each process of the API refuses a stolen token with the expected challenge', async () => {
    const { system, publishAgent, newToken } = running()
    const agent = publishAgent()
    const sender = system.client({ from: '127.0.0.30' })
    const [token, otherToken] = [await newToken(agent, true, sender), await newToken(agent, true, sender)]
    const bearerToken = await newToken(agent, false, sender)
    const address = '/api/guides'
    const url = `${system.origin}${address}`
    const requests = createKeyRequests(system.origin)
    const presentToken = () => requests.createTokenHeaders(agent, token, address, { isBound: true })
    for (const api of [...createListenerSenders(system, 'resource'), sender]) {
      const acceptedHeaders = presentToken()
      expect((await api.send({ path: address, headers: acceptedHeaders })).status).toBe(200)
      const stolen: StolenToken = {
        token,
        otherToken,
        bearerToken,
        acceptedHeaders,
        url,
        signProof: (parts) => agent.key.signProof({ method: 'GET', url, ...parts }),
      }
      for (const { what, error, headers } of THEFTS) {
        const refusal = await api.send({ path: address, headers: headers(stolen) })
        // Soft assertions let the test check the other ways after a failure.
        expect.soft(refusal.status, what).toBe(401)
        expect
          .soft(refusal.headers.get('www-authenticate'), what)
          .toMatch(new RegExp(`^DPoP realm="plainpath", error="${error}", algs="ES256 EdDSA Ed25519"`))
      }
      expect((await api.send({ path: address, headers: presentToken() })).status).toBe(200)
    }
  })

  test('scripts of an allowed site may send proofs, and read the headers of refusals, through the gateway', async () => {
    const { system, publishAgent } = running()
    const sender = system.client({ from: '127.0.0.31' })
    const origin = SCRIPT_ORIGIN
    const sendPreflight = (path: string, method: string) =>
      sender.send({
        method: 'OPTIONS',
        path,
        headers: {
          origin,
          'access-control-request-method': method,
          'access-control-request-headers': 'authorization,dpop',
        },
      })
    const readList = (response: { headers: Headers }, name: string) =>
      (response.headers.get(`access-control-${name}`) ?? '').split(', ')
    for (const [path, method, allowed] of [
      ['/oauth/token', 'POST', origin],
      ['/api/guides', 'GET', '*'],
      ['/api/contact', 'POST', origin],
    ] as const) {
      const response = await sendPreflight(path, method)
      expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([204, allowed])
      expect(readList(response, 'allow-headers')).toEqual(expect.arrayContaining(['Authorization', 'DPoP']))
    }
    const agent = publishAgent()
    const authFields = createKeyRequests(system.origin).createAuthFields(agent)
    const grant = form({ grant_type: 'client_credentials', ...authFields })
    const dpop = agent.key.signProof({ method: 'POST', url: `${system.origin}/oauth/token` })
    const nonceRefusal = await sender.send({
      method: 'POST',
      path: '/oauth/token',
      ...grant,
      headers: { ...grant.headers, origin, dpop },
    })
    expect(JSON.parse(nonceRefusal.text)).toMatchObject({ error: 'use_dpop_nonce' })
    expect(nonceRefusal.headers.get('dpop-nonce')).toMatch(/^[\w-]{43}$/)
    expect(nonceRefusal.headers.get('access-control-allow-origin')).toBe(origin)
    expect(readList(nonceRefusal, 'expose-headers')).toContain('DPoP-Nonce')
    const refusal = await sender.send({
      path: '/api/guides',
      headers: { origin, authorization: `DPoP ppt_${'A'.repeat(43)}` },
    })
    expect(refusal.status).toBe(401)
    expect(readList(refusal, 'expose-headers')).toContain('WWW-Authenticate')
  })
}

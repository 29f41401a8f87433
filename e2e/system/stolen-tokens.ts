import { expect, test } from 'vitest'
import { createAgentKey } from '../agent-key.ts'
import { type KeyHolder, keyRequests } from '../key-holder.ts'
import { form, type Sender } from '../send.ts'
import type { System } from './open-system.ts'

/** The site whose scripts may write. */
const SCRIPT_ORIGIN = 'https://app.example'
export const scriptSettings = { AUTH_CORS_ORIGINS: SCRIPT_ORIGIN, RESOURCE_CORS_ORIGINS: SCRIPT_ORIGIN }

/** Returns the public listener of each process of an app, as the gateway reaches it. */
export const publicListeners = (system: System, app: 'auth' | 'resource'): readonly Sender[] =>
  system.stack[app].map(({ ports }) => {
    const sender = system.client({ url: `http://127.0.0.1:${ports.public}` })
    const { host } = new URL(system.origin)
    const send: Sender['send'] = (sent) => sender.send({ ...sent, headers: { host, ...sent.headers } })
    return { ...sender, send }
  })

interface StolenToken {
  readonly token: string
  /** Another token that is bound to the same key, and one that is bound to none. */
  readonly otherToken: string
  readonly bearer: string
  /** The headers of a request that was accepted. */
  readonly acceptedHeaders: Record<string, string>
  /** The URL of the request. */
  readonly url: string
  /** Signs a proof with the key of the token. `parts` overrides the members of the accepted request. */
  prove(parts: { method?: string; url?: string; token?: string }): string
}

/** The ways to present a stolen token that is bound to the key of another client. */
const THEFTS: readonly {
  readonly what: string
  /** The `error` of the challenge. */
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
    headers: ({ token, prove }) => ({ authorization: `Bearer ${token}`, dpop: prove({ token }) }),
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
      dpop: createAgentKey().proof({ method: 'GET', url, token }),
    }),
  },
  {
    what: 'has a proof for another token of the same key',
    error: 'invalid_dpop_proof',
    headers: ({ token, otherToken, prove }) => ({
      authorization: `DPoP ${token}`,
      dpop: prove({ token: otherToken }),
    }),
  },
  {
    what: 'has a proof without the hash of the token',
    error: 'invalid_dpop_proof',
    headers: ({ token, prove }) => ({ authorization: `DPoP ${token}`, dpop: prove({}) }),
  },
  {
    what: 'has a proof for another address',
    error: 'invalid_dpop_proof',
    headers: ({ token, url, prove }) => ({
      authorization: `DPoP ${token}`,
      dpop: prove({ token, url: `${url}/work-permit` }),
    }),
  },
  {
    what: 'has a proof for another method',
    error: 'invalid_dpop_proof',
    headers: ({ token, prove }) => ({
      authorization: `DPoP ${token}`,
      dpop: prove({ token, method: 'POST' }),
    }),
  },
  {
    what: 'has a proof that was used',
    error: 'invalid_dpop_proof',
    headers: ({ acceptedHeaders }) => acceptedHeaders,
  },
  {
    what: 'makes a proof for a bearer token',
    error: 'invalid_token',
    headers: ({ bearer, prove }) => ({ authorization: `DPoP ${bearer}`, dpop: prove({ token: bearer }) }),
  },
]

interface Running {
  readonly system: System
  /** Publishes the document of an agent with a key of its own. */
  publish(): KeyHolder
  newToken(holder: KeyHolder, isBound: boolean, sender: Sender): Promise<string>
}

/** Tests that a client without the key of a bound token cannot use it, even if it recorded requests that presented it. */
export function describeStolenTokens(running: () => Running): void {
  test('a stolen token is useless: each process of the API refuses it with the same challenge', async () => {
    const { system, publish, newToken } = running()
    const agent = publish()
    const sender = system.client({ from: '127.0.0.30' })
    const [token, otherToken] = [await newToken(agent, true, sender), await newToken(agent, true, sender)]
    const bearer = await newToken(agent, false, sender)
    const address = '/api/guides'
    const url = `${system.origin}${address}`
    const requests = keyRequests(system.origin)
    const presentToken = () => requests.present(agent, token, address, { isBound: true })
    for (const api of [...publicListeners(system, 'resource'), sender]) {
      const acceptedHeaders = presentToken()
      expect((await api.send({ path: address, headers: acceptedHeaders })).status).toBe(200)
      const stolen: StolenToken = {
        token,
        otherToken,
        bearer,
        acceptedHeaders,
        url,
        prove: (parts) => agent.key.proof({ method: 'GET', url, ...parts }),
      }
      for (const { what, error, headers } of THEFTS) {
        const refusal = await api.send({ path: address, headers: headers(stolen) })
        // Soft assertions check all rows, so that one failure does not hide another.
        expect.soft(refusal.status, what).toBe(401)
        expect
          .soft(refusal.headers.get('www-authenticate'), what)
          .toMatch(new RegExp(`^DPoP realm="plainpath", error="${error}", algs="ES256 EdDSA Ed25519"`))
      }
      expect((await api.send({ path: address, headers: presentToken() })).status).toBe(200)
    }
  })

  test('scripts of other sites may send proofs, and read what a refusal says, through the gateway', async () => {
    const { system, publish } = running()
    const sender = system.client({ from: '127.0.0.31' })
    const origin = SCRIPT_ORIGIN
    const preflight = (path: string, method: string) =>
      sender.send({
        method: 'OPTIONS',
        path,
        headers: {
          origin,
          'access-control-request-method': method,
          'access-control-request-headers': 'authorization,dpop',
        },
      })
    const list = (response: { headers: Headers }, name: string) =>
      (response.headers.get(`access-control-${name}`) ?? '').split(', ')
    for (const [path, method, allowed] of [
      ['/oauth/token', 'POST', origin],
      ['/api/guides', 'GET', '*'],
      ['/api/contact', 'POST', origin],
    ] as const) {
      const response = await preflight(path, method)
      expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([204, allowed])
      expect(list(response, 'allow-headers')).toEqual(expect.arrayContaining(['Authorization', 'DPoP']))
    }
    const agent = publish()
    const grant = form({ grant_type: 'client_credentials', ...keyRequests(system.origin).fields(agent) })
    const dpop = agent.key.proof({ method: 'POST', url: `${system.origin}/oauth/token` })
    const nonceRefusal = await sender.send({
      method: 'POST',
      path: '/oauth/token',
      ...grant,
      headers: { ...grant.headers, origin, dpop },
    })
    expect(JSON.parse(nonceRefusal.text)).toMatchObject({ error: 'use_dpop_nonce' })
    expect(nonceRefusal.headers.get('dpop-nonce')).toMatch(/^[\w-]{43}$/)
    expect(nonceRefusal.headers.get('access-control-allow-origin')).toBe(origin)
    expect(list(nonceRefusal, 'expose-headers')).toContain('DPoP-Nonce')
    const refusal = await sender.send({
      path: '/api/guides',
      headers: { origin, authorization: `DPoP ppt_${'A'.repeat(43)}` },
    })
    expect(refusal.status).toBe(401)
    expect(list(refusal, 'expose-headers')).toContain('WWW-Authenticate')
  })
}

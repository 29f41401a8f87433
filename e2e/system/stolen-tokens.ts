import { expect, test } from 'vitest'
import { createAgentKey } from '../agent-key.ts'
import { createKeyRequests, type KeyHolder } from '../key-holder.ts'
import { form, type Sender } from '../send.ts'
import type { System } from './open-system.ts'

/** The only origin in the apps' CORS settings. */
const SCRIPT_ORIGIN = 'https://app.example'
/** Settings that allow scripts of `SCRIPT_ORIGIN`. */
export const SCRIPT_SETTINGS = { AUTH_CORS_ORIGINS: SCRIPT_ORIGIN, RESOURCE_CORS_ORIGINS: SCRIPT_ORIGIN }

/** Creates a sender to the public listener of each process of an app, with the `Host` header of the gateway. */
export const createListenerSenders = (system: System, app: 'auth' | 'resource'): readonly Sender[] =>
  system.stack[app].map(({ ports }) => {
    const sender = system.createSender({ url: `http://127.0.0.1:${ports.public}` })
    const { host } = new URL(system.origin)
    const send: Sender['send'] = (request) =>
      sender.send({ ...request, headers: { host, ...request.headers } })
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
  /** Signs a proof with the token's key. Without `parts`, the proof is for a GET of `url` and for no token. */
  signProof(parts: { method?: string; url?: string; token?: string }): string
}

/** Ways in which a thief presents a token. The last one presents a bearer token as a bound one. */
const THEFTS: readonly {
  readonly description: string
  /** The expected `error` of the challenge. */
  readonly error: string
  createHeaders(stolen: StolenToken): Record<string, string>
}[] = [
  {
    description: 'presents it as a bearer token',
    error: 'invalid_token',
    createHeaders: ({ token }) => ({ authorization: `Bearer ${token}` }),
  },
  {
    description: 'presents it as a bearer token with a proof of its key',
    error: 'invalid_token',
    createHeaders: ({ token, signProof }) => ({
      authorization: `Bearer ${token}`,
      dpop: signProof({ token }),
    }),
  },
  {
    description: 'presents it without a proof',
    error: 'invalid_dpop_proof',
    createHeaders: ({ token }) => ({ authorization: `DPoP ${token}` }),
  },
  {
    description: 'signs proofs with another key',
    error: 'invalid_dpop_proof',
    createHeaders: ({ token, url }) => ({
      authorization: `DPoP ${token}`,
      dpop: createAgentKey().signProof({ method: 'GET', url, token }),
    }),
  },
  {
    description: 'has a proof for another token of the same key',
    error: 'invalid_dpop_proof',
    createHeaders: ({ token, otherToken, signProof }) => ({
      authorization: `DPoP ${token}`,
      dpop: signProof({ token: otherToken }),
    }),
  },
  {
    description: 'has a proof without the hash of the token',
    error: 'invalid_dpop_proof',
    createHeaders: ({ token, signProof }) => ({ authorization: `DPoP ${token}`, dpop: signProof({}) }),
  },
  {
    description: 'has a proof for another address',
    error: 'invalid_dpop_proof',
    createHeaders: ({ token, url, signProof }) => ({
      authorization: `DPoP ${token}`,
      dpop: signProof({ token, url: `${url}/work-permit` }),
    }),
  },
  {
    description: 'has a proof for another method',
    error: 'invalid_dpop_proof',
    createHeaders: ({ token, signProof }) => ({
      authorization: `DPoP ${token}`,
      dpop: signProof({ token, method: 'POST' }),
    }),
  },
  {
    description: 'has a proof that was used',
    error: 'invalid_dpop_proof',
    createHeaders: ({ acceptedHeaders }) => acceptedHeaders,
  },
  {
    description: 'signs a proof for a bearer token',
    error: 'invalid_token',
    createHeaders: ({ bearerToken, signProof }) => ({
      authorization: `DPoP ${bearerToken}`,
      dpop: signProof({ token: bearerToken }),
    }),
  },
]

/** What the tests of this file need from the file that calls them. */
interface Fixture {
  readonly system: System
  /** Publishes the document of an agent with a key of its own. */
  publishAgent(): KeyHolder
  /** Requests a token. If `isBound`, the request has a proof of the key, and the token is bound to it. */
  issueToken(holder: KeyHolder, isBound: boolean, sender: Sender): Promise<string>
}

/** Tests that a bound token cannot be used without its key, and that scripts of an allowed site can use DPoP. */
export function describeStolenTokens(getFixture: () => Fixture): void {
  test('a stolen token is refused with the expected challenge by each process of the API and through the gateway', async () => {
    const { system, publishAgent, issueToken } = getFixture()
    const agent = publishAgent()
    const sender = system.createSender({ from: '127.0.0.30' })
    const [token, otherToken] = [await issueToken(agent, true, sender), await issueToken(agent, true, sender)]
    const bearerToken = await issueToken(agent, false, sender)
    const path = '/api/guides'
    const url = `${system.origin}${path}`
    const requests = createKeyRequests(system.origin)
    const presentToken = () => requests.createTokenHeaders(agent, token, path, { isBound: true })
    for (const api of [...createListenerSenders(system, 'resource'), sender]) {
      const acceptedHeaders = presentToken()
      expect((await api.send({ path, headers: acceptedHeaders })).status).toBe(200)
      const stolen: StolenToken = {
        token,
        otherToken,
        bearerToken,
        acceptedHeaders,
        url,
        signProof: (parts) => agent.key.signProof({ method: 'GET', url, ...parts }),
      }
      for (const { description, error, createHeaders } of THEFTS) {
        const refusal = await api.send({ path, headers: createHeaders(stolen) })
        // Soft assertions let the test check the other ways after a failure.
        expect.soft(refusal.status, description).toBe(401)
        expect
          .soft(refusal.headers.get('www-authenticate'), description)
          .toMatch(new RegExp(`^DPoP realm="plainpath", error="${error}", algs="ES256 EdDSA Ed25519"`))
      }
      expect((await api.send({ path, headers: presentToken() })).status).toBe(200)
    }
  })

  test('scripts of an allowed site may send proofs, and read the headers of refusals, through the gateway', async () => {
    const { system, publishAgent } = getFixture()
    const sender = system.createSender({ from: '127.0.0.31' })
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
    for (const [path, method, allowedOrigin] of [
      ['/oauth/token', 'POST', origin],
      ['/api/guides', 'GET', '*'],
      ['/api/contact', 'POST', origin],
    ] as const) {
      const response = await sendPreflight(path, method)
      expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([
        204,
        allowedOrigin,
      ])
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
    // 32 bytes in base64url.
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

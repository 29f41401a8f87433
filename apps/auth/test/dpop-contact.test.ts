import { JWT_BEARER_GRANT } from '@plainpath/metadata'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  asAgent,
  GRANT,
  getToken,
  introspect,
  isActive,
  json,
  type Registered,
  register,
} from './agent-client.ts'
import { claimMailbox, getAssertion } from './claim-mailbox.ts'
import {
  dpopProof,
  honestProof,
  INVALID_PROOF,
  nonceOf,
  PROOF_REQUIRED,
  requestBound,
  signProof,
  thumbprintOf,
  tokenIn,
  USE_NONCE,
} from './dpop-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { expectRefusal, type Refusal } from './expect-refusal.ts'
import { type KeyPair, newKey, seconds } from './key-agent.ts'
import { TOKEN_PLACES } from './open-auth-stores.ts'
import { securityEventsIn } from './security-events-in.ts'
import { send } from './send.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'

describe.for(TOKEN_PLACES)('DPoP with the jwt-bearer grant, tokens in %s:', (tokens) => {
  let auth: RunningAuth
  let otherInstance: RunningAuth
  let agent: Registered
  let key: KeyPair
  let other: KeyPair
  beforeAll(async () => {
    auth = await startAuth({ tokens, env: { AUTH_CORS_ORIGINS: 'https://app.example' } })
    otherInstance = await startInstance(auth.stores)
    agent = await register(auth)
    ;[key, other] = [await newKey(), await newKey()]
    await getToken(auth, agent)
  })
  afterAll(async () => {
    await expectNothingInClear(auth)
    await otherInstance[Symbol.asyncDispose]()
    await auth[Symbol.asyncDispose]()
  })

  const proofOf = (claims = {}) => dpopProof(auth, key, claims)
  const bind = async (by = agent, fields: Record<string, string> = GRANT, at = auth) =>
    tokenIn(auth, await requestBound(at, by, await proofOf(), fields))
  const introspected = async (token: string, at = auth) =>
    (await introspect(at, token)).payload.token_introspection
  const activeAt = (token: string) => Promise.all([isActive(auth, token), isActive(otherInstance, token)])

  describe('the jwt-bearer grant', () => {
    const ALL = 'guides:read waitlist:write contact:write'
    const confirmed = async () => {
      const by = await register(auth)
      await claimMailbox(auth, by)
      return { by, fields: { grant_type: JWT_BEARER_GRANT, assertion: await getAssertion(auth, by) } }
    }
    const describeAgent = async (by: Registered) =>
      JSON.parse((await send(auth.url, { path: '/api/agent', headers: asAgent(by) })).text) as Record<
        string,
        unknown
      >
    const unbind = (by: Registered, at = auth) =>
      send(at.url, { method: 'DELETE', path: '/api/agent/dpop-required-scopes', headers: asAgent(by) })

    test('binds its tokens, once for each proof', async () => {
      const { by, fields } = await confirmed()
      const proof = await proofOf()
      const guides = { ...fields, scope: 'guides:read' }
      const response = await requestBound(auth, by, proof, guides)
      expect(JSON.parse(response.text)).toMatchObject({ token_type: 'DPoP', scope: 'guides:read' })
      expect(await introspected(tokenIn(auth, response))).toMatchObject({
        active: true,
        token_type: 'DPoP',
        identity_type: 'verified_email',
        cnf: { jkt: await thumbprintOf(key) },
      })
      await expectRefusal(auth, () => requestBound(otherInstance, by, proof, guides), {
        ...INVALID_PROOF,
        says: 'used before',
      })
      const fresh = await proofOf()
      const responses = await Promise.all(
        [auth, otherInstance, auth].map((at) => requestBound(at, by, fresh, guides)),
      )
      expect(responses.map(({ status }) => status).toSorted()).toEqual([200, 400, 400])
      expect(await describeAgent(by)).not.toHaveProperty('dpop_required_scopes')
    })

    test.for([
      ['no nonce', { nonce: undefined }, USE_NONCE],
      ['another method', { htm: 'GET' }, INVALID_PROOF],
      ['an old iat', { iat: seconds() - 90 }, INVALID_PROOF],
    ] as [string, object, Refusal][])('refuses %s', async ([_why, claims, refusal]) => {
      const { by, fields } = await confirmed()
      const proof = await proofOf(claims)
      await expectRefusal(auth, () => requestBound(auth, by, proof, fields), refusal)
      const forged = await signProof(honestProof(auth, other, await nonceOf(auth)), key)
      await expectRefusal(auth, () => requestBound(auth, by, forged, fields), {
        ...INVALID_PROOF,
        says: 'signature',
      })
      tokenIn(auth, await requestBound(auth, by, await proofOf(), fields))
    })

    test('requires a proof of a client that registered dpop_bound_access_tokens', async () => {
      const body = json({ dpop_bound_access_tokens: true })
      const response = await send(auth.url, { method: 'POST', path: '/api/agent/register', ...body })
      const by = JSON.parse(response.text) as Registered
      auth.confidential.add(by.client_secret)
      await claimMailbox(auth, by)
      const fields = { grant_type: JWT_BEARER_GRANT, assertion: await getAssertion(auth, by) }
      await expectRefusal(auth, () => requestBound(auth, by, undefined, fields), PROOF_REQUIRED)
      expect(await activeAt(await bind(by, fields))).toEqual([true, true])
    })

    test('requires a proof for contact:write once a bound token had that scope, until the client allows bearer tokens again', async () => {
      const { by, fields } = await confirmed()
      const bearer = tokenIn(auth, await requestBound(otherInstance, by, undefined, fields))
      expect(await activeAt(bearer)).toEqual([true, true])
      const linesBefore = auth.logged.length
      const bound = await bind(by, fields)
      expect(await introspected(bound)).toMatchObject({ active: true, scope: ALL })
      expect([await activeAt(bearer), await activeAt(bound)]).toEqual([
        [false, false],
        [true, true],
      ])
      expect((await describeAgent(by))['dpop_required_scopes']).toEqual(['contact:write'])

      await expect
        .poll(async () => (await requestBound(otherInstance, by, undefined, fields)).status)
        .toBe(400)
      const refused = { ...PROOF_REQUIRED, says: 'DELETE /api/agent/dpop-required-scopes' }
      for (const at of [auth, otherInstance])
        for (const scope of [undefined, 'contact:write', ALL])
          await expectRefusal(
            auth,
            () => requestBound(at, by, undefined, { ...fields, ...(scope && { scope }) }),
            refused,
          )
      const guides = { ...fields, scope: 'guides:read waitlist:write' }
      expect(await activeAt(tokenIn(auth, await requestBound(otherInstance, by, undefined, guides)))).toEqual(
        [true, true],
      )

      const again = await bind(by, fields, otherInstance)
      expect([await activeAt(bound), await activeAt(again)]).toEqual([
        [true, true],
        [true, true],
      ])

      for (let n = 0; n < 2; n++) expect((await unbind(by)).status).toBe(204)
      expect(await describeAgent(by)).not.toHaveProperty('dpop_required_scopes')
      const free = tokenIn(auth, await requestBound(auth, by, undefined, fields))
      expect([await activeAt(free), await activeAt(bound)]).toEqual([
        [true, true],
        [true, true],
      ])
      expect(await activeAt(await bind(by, fields))).toEqual([true, true])
      expect(await activeAt(free)).toEqual([false, false])
      const client_id = by.client_id
      expect(securityEventsIn(auth.logged.slice(linesBefore))).toEqual([
        { event: 'contact-bound', client_id },
        { event: 'contact-unbound', client_id },
        { event: 'contact-bound', client_id },
      ])
    })

    test('issues active tokens to simultaneous first requests for bound tokens', async () => {
      const { by, fields } = await confirmed()
      const bound = await Promise.all(
        [auth, otherInstance, auth, otherInstance].map((at) => bind(by, fields, at)),
      )
      for (const token of bound) expect(await activeAt(token)).toEqual([true, true])
    })

    test('rejects a bearer token for contact:write that an instance with a stale cache issues', async () => {
      const { by, fields } = await confirmed()
      tokenIn(auth, await requestBound(otherInstance, by, undefined, fields))
      const alter = (what: 'disable' | 'enable') =>
        auth.stores.asOwner(
          `alter table agents ${what} trigger agents_changed; alter table agents ${what} trigger agents_dpop_changed`,
        )
      await alter('disable')
      try {
        const bound = await bind(by, fields)
        const late = tokenIn(auth, await requestBound(otherInstance, by, undefined, fields))
        expect([await activeAt(bound), await activeAt(late)]).toEqual([
          [true, true],
          [false, false],
        ])
      } finally {
        await alter('enable')
      }
    })

    test('only the client can allow bearer tokens for contact:write again', async () => {
      const { by, fields } = await confirmed()
      await bind(by, fields)
      expect((await unbind({ ...by, client_secret: 'pps_wrong' })).status).toBe(401)
      expect((await unbind(agent)).status).toBe(204)
      expect((await describeAgent(by))['dpop_required_scopes']).toEqual(['contact:write'])
    })
  })
})

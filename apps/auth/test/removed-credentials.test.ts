import { waitForBlockedSessions } from '@plainpath/postgres/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addVerification } from './add-verification.ts'
import { agentAuthHeader, createJsonContent, type RegisteredAgent, register } from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { countStored, expectProblem, expectSafe, type Refusal } from './expect-refusal.ts'
import {
  createAssertionHeader,
  generateTestKeyPair,
  type KeyAgent,
  type KeyPair,
  putKeys,
  registerKeys,
} from './key-agent.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import { type HttpRequest, type HttpResponse, send } from './send.ts'
import type { RunningAuth } from './start-auth.ts'
import {
  beginVerification,
  createAddress,
  showCode,
  startVerificationSystem,
  type VerificationSystem,
} from './verification-client.ts'

/*
 * A request is authenticated before its body is read. A thief could therefore hold the body back until the owner has removed the
 * stolen credential, and change the client afterwards.
 */

type Headers = Record<string, string>

const INVALID_CLIENT: Refusal = {
  status: 401,
  code: 'invalid-client',
  error: 'invalid_client',
  errorFormat: 'agent',
}

describe.for(TOKEN_STORES)('a credential that is removed during a request, tokens in %s:', (tokenStore) => {
  let system: VerificationSystem
  let auth: RunningAuth
  let otherInstance: RunningAuth
  beforeAll(async () => {
    system = await startVerificationSystem({ tokenStore })
    auth = system.auth
    otherInstance = await system.startAnother()
  })
  afterAll(async () => {
    await expectNoConfidentialValues(auth)
    await otherInstance[Symbol.asyncDispose]()
    await system[Symbol.asyncDispose]()
  })

  /** Counts the requests at `auth` whose client was authenticated. Its limit is counted next, before the body is read. */
  async function countAuthenticated(): Promise<number> {
    const { text } = await send(auth.operationsUrl, { path: '/metrics' })
    const pattern =
      /^limit_decisions_total\{policy="token-client",decision="allowed",service="auth"\} (\d+)$/m
    return Number(pattern.exec(text)?.[1] ?? 0)
  }

  /**
   * Sends a request without the end of its body, and waits until its client was authenticated.
   *
   * @returns a function that sends the rest, and returns the response
   */
  async function holdBack(request: HttpRequest & { body: string }): Promise<() => Promise<HttpResponse>> {
    const earlierCount = await countAuthenticated()
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const writer = writable.getWriter()
    const bytes = Buffer.from(request.body)
    const response = send(auth.url, { ...request, body: readable })
    await writer.write(bytes.subarray(0, 5))
    await expect.poll(countAuthenticated).toBe(earlierCount + 1)
    return async () => {
      await writer.write(bytes.subarray(5))
      await writer.close()
      return await response
    }
  }

  const createRequest = (method: string, path: string, headers: Headers, body: unknown) => {
    const content = createJsonContent(body)
    return { method, path, headers: { ...content.headers, ...headers }, body: content.body }
  }
  const createKeysRequest = (headers: Headers, { jwk }: KeyPair) =>
    createRequest('PUT', '/api/agent/jwks', headers, { keys: [jwk] })

  const addSecret = (agent: RegisteredAgent) =>
    send(auth.url, { method: 'POST', path: '/api/agent/secrets', headers: agentAuthHeader(agent) })
  const removeSecret = (agent: RegisteredAgent, id: string) =>
    send(otherInstance.url, {
      method: 'DELETE',
      path: `/api/agent/secrets/${id}`,
      headers: agentAuthHeader(agent),
    })
  /** Registers an agent with two secrets. `thief` knows only the older secret, and `owner` uses only the newer one. */
  async function registerWithTwoSecrets() {
    const thief = await register(auth)
    const { client_secret, ...added } = JSON.parse((await addSecret(thief)).text) as {
      client_secret: string
      secret_id: string
      secrets: { secret_id: string }[]
    }
    auth.confidential.add(client_secret)
    const stolenId = added.secrets.find(({ secret_id }) => secret_id !== added.secret_id)?.secret_id ?? ''
    return { thief, owner: { ...thief, client_secret }, stolenId, ownId: added.secret_id }
  }

  const isAccepted = async (headers: Headers) => {
    const { status } = await send(auth.url, { path: '/api/agent', headers })
    return status === 200
  }
  const isKeyAccepted = async (agent: KeyAgent) => isAccepted(await createAssertionHeader(auth, agent))

  async function expectRefusedAndNothingStored(
    finish: () => Promise<HttpResponse>,
    expected = INVALID_CLIENT,
  ): Promise<void> {
    const storedBefore = await countStored(auth)
    const response = await finish()
    expectProblem(response, expected)
    await expectSafe(auth, response)
    expect(await countStored(auth)).toEqual(storedBefore)
  }

  describe('PUT /api/agent/jwks, whose body was held back,', () => {
    /** The headers of a thief, the removal of the credential that they contain, and whether the owner is still accepted. */
    interface Theft {
      readonly clientId: string
      readonly headers: Headers
      remove(): Promise<HttpResponse>
      isOwnerAccepted(): Promise<boolean>
    }

    test.for([
      [
        'its secret was removed',
        async () => {
          const { thief, owner, stolenId } = await registerWithTwoSecrets()
          return {
            clientId: owner.client_id,
            headers: agentAuthHeader(thief),
            remove: () => removeSecret(owner, stolenId),
            isOwnerAccepted: () => isAccepted(agentAuthHeader(owner)),
          }
        },
      ],
      [
        'its secret was replaced by a key',
        async () => {
          const agent = await register(auth)
          const key = await generateTestKeyPair()
          return {
            clientId: agent.client_id,
            headers: agentAuthHeader(agent),
            remove: () => putKeys(otherInstance, agentAuthHeader(agent), { keys: [key] }),
            isOwnerAccepted: () => isKeyAccepted({ ...agent, key }),
          }
        },
      ],
      [
        'its key was replaced',
        async () => {
          const agent = await registerKeys(auth)
          const key = await generateTestKeyPair()
          const ownHeaders = await createAssertionHeader(auth, agent)
          return {
            clientId: agent.client_id,
            headers: await createAssertionHeader(auth, agent),
            remove: () => putKeys(otherInstance, ownHeaders, { keys: [key] }),
            isOwnerAccepted: () => isKeyAccepted({ ...agent, key }),
          }
        },
      ],
    ] satisfies [string, () => Promise<Theft>][])('is refused if %s meanwhile', async ([_title, steal]) => {
      const { clientId, headers, remove, isOwnerAccepted } = await steal()
      const key = await generateTestKeyPair()
      const finish = await holdBack(createKeysRequest(headers, key))
      expect((await remove()).status).toBeOneOf([200, 204])
      await expectRefusedAndNothingStored(finish)
      expect(await isOwnerAccepted()).toBe(true)
      expect(await isKeyAccepted({ client_id: clientId, key })).toBe(false)
    })

    test('succeeds if nothing was removed meanwhile, but a secret was added', async () => {
      const agent = await register(auth)
      const key = await generateTestKeyPair()
      const finish = await holdBack(createKeysRequest(agentAuthHeader(agent), key))
      const addition = await addSecret(agent)
      expect(addition.status).toBe(201)
      auth.confidential.add((JSON.parse(addition.text) as { client_secret: string }).client_secret)
      expect((await finish()).status).toBe(200)
      expect(await isKeyAccepted({ ...agent, key })).toBe(true)
    })

    test('succeeds if no key was removed meanwhile, but one was added', async () => {
      const agent = await registerKeys(auth)
      const [key, addedKey] = [await generateTestKeyPair(), await generateTestKeyPair()]
      const finish = await holdBack(createKeysRequest(await createAssertionHeader(auth, agent), key))
      const keys = [agent.key, addedKey]
      expect((await putKeys(auth, await createAssertionHeader(auth, agent), { keys })).status).toBe(200)
      expect((await finish()).status).toBe(200)
      expect(await isKeyAccepted({ ...agent, key })).toBe(true)
    })
  })

  describe.for([
    ['is refused if its secret was removed meanwhile', true],
    ['succeeds if its secret was not removed', false],
  ] as const)('a request of an e-mail verification, whose body was held back, %s:', ([_title, isRemoved]) => {
    test('POST /api/agent/claim', async () => {
      const { thief, owner, stolenId } = await registerWithTwoSecrets()
      const email = createAddress()
      auth.confidential.add(email)
      const finish = await holdBack(
        createRequest('POST', '/api/agent/claim', agentAuthHeader(thief), { email }),
      )
      if (!isRemoved) return expect((await finish()).status).toBe(202)
      expect((await removeSecret(owner, stolenId)).status).toBe(204)
      return await expectRefusedAndNothingStored(finish)
    })

    test('POST /api/agent/claim/complete', async () => {
      const { thief, owner, stolenId } = await registerWithTwoSecrets()
      const otp = await showCode(auth, await beginVerification(system, { agent: thief }))
      const finish = await holdBack(
        createRequest('POST', '/api/agent/claim/complete', agentAuthHeader(thief), { otp }),
      )
      if (!isRemoved) return expect((await finish()).status).toBe(200)
      expect((await removeSecret(owner, stolenId)).status).toBe(204)
      // The same response as for a client that was deleted meanwhile. No try is counted, so a thief cannot lock the attempt.
      await expectRefusedAndNothingStored(finish, {
        status: 400,
        code: 'claim-unknown',
        error: 'invalid_claim_token',
        errorFormat: 'agent',
      })
      const { text } = await send(auth.url, { path: '/api/agent', headers: agentAuthHeader(owner) })
      return expect(JSON.parse(text)).toMatchObject({ identity_type: 'anonymous' })
    })
  })

  describe('a request without a body, which waited while its client was locked,', () => {
    /** Sends requests while the row of the client is locked. PostgreSQL serves them in the order in which they began to wait. */
    function sendInOrder(
      { client_id }: RegisteredAgent,
      ...requests: readonly (() => Promise<HttpResponse>)[]
    ): Promise<HttpResponse[]> {
      const responses: Promise<HttpResponse>[] = []
      return system.testbed.db
        .transaction(async (tx) => {
          await tx.query('select from agents where id = $1 for no key update', [client_id])
          for (const request of requests) {
            responses.push(request())
            await waitForBlockedSessions(system.testbed.db, responses.length)
          }
        })
        .then(() => Promise.all(responses))
    }
    const findState = async ({ client_id }: RegisteredAgent) => {
      const { rows } = await system.testbed.db.query(
        `select status, contact_bound_since, array(select id from agent_secrets where agent_id = agents.id) as secrets,
           array(select ended_by from claims where agent_id = agents.id) as verifications,
           array(select id from claim_attempts where agent_id = agents.id and state = 'superseded') as withdrawn_attempts,
           array(select jti from identity_assertions join claims on claims.id = claim_id where agent_id = agents.id) as assertions
         from agents where id = $1`,
        [client_id],
      )
      return rows[0]
    }

    test.for([
      ['POST', '/api/agent/secrets', 201],
      ['DELETE', '/api/agent/secrets/{id}', 204],
      ['DELETE', '/api/agent', 204],
      ['DELETE', '/api/agent/dpop-required-scopes', 204],
      ['DELETE', '/api/agent/claim', 204],
      ['POST', '/api/agent/assertion', 200],
    ] as const)(
      '%s %s is refused if its secret was removed meanwhile',
      async ([method, pattern, success]) => {
        const prepare = async () => {
          const agent = await registerWithTwoSecrets()
          await addVerification(auth, agent.owner)
          await beginVerification(system, { agent: agent.owner })
          // As if a bound token had set the lock on contact:write.
          await system.testbed.db.query('update agents set contact_bound_since = 1 where id = $1', [
            agent.owner.client_id,
          ])
          const path = pattern.replace('{id}', agent.ownId)
          const request = () => send(auth.url, { method, path, headers: agentAuthHeader(agent.thief) })
          return { ...agent, request }
        }
        const { owner, stolenId, ownId, request } = await prepare()
        const unchangedState = { ...(await findState(owner)), secrets: [ownId] }
        expect(unchangedState).toMatchObject({ verifications: [null], assertions: [] })
        const [removal, response] = await sendInOrder(owner, () => removeSecret(owner, stolenId), request)
        expect(removal?.status).toBe(204)
        expectProblem(response!, INVALID_CLIENT)
        expect(await findState(owner)).toEqual(unchangedState)

        const twin = await prepare()
        // A client may have two secrets only.
        if (pattern === '/api/agent/secrets')
          await system.testbed.db.query('delete from agent_secrets where id = $1', [twin.ownId])
        const twinState = await findState(twin.owner)
        const [twinResponse] = await sendInOrder(twin.owner, twin.request)
        expect(twinResponse?.status).toBe(success)
        expect(await findState(twin.owner)).not.toEqual(twinState)
      },
    )
  })
})

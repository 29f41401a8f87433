import { generateKeyPairSync } from 'node:crypto'
import { runAuth } from '@plainpath/auth/run-auth'
import { createPostgresProcess } from '@plainpath/stack/postgres-process'
import { describe, expect, test } from 'vitest'
import { basic, form, json, type Sender } from '../send.ts'
import type { RegisteredAgent, System } from './open-system.ts'

/** A request with the token, and the status of its response. */
interface Use {
  /** From `performance.now()`. */
  readonly startedAt: number
  readonly status: number
}

/** The status of an API that cannot reach its stores in time, as on a busy machine. It accepts no token. */
const UNAVAILABLE = 503

/**
 * Uses a token repeatedly at each API process and through the gateway, until `stop` is called.
 *
 * @param createHeaders returns the headers of each request. The default presents a bearer token
 */
export function useEverywhere(
  system: System,
  token: string,
  createHeaders = (): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` }),
) {
  const host = new URL(system.origin).host
  // Excludes 503, because it says nothing about the token.
  const uses: Use[] = []
  let isRunning = true
  const senders: Sender[] = [
    ...system.stack.resource.map(({ ports }) =>
      system.createSender({ url: `http://127.0.0.1:${ports.public}`, allowedFailureStatus: UNAVAILABLE }),
    ),
    system.createSender({ from: '127.0.0.5', allowedFailureStatus: UNAVAILABLE }),
  ]
  const loops = senders.map(async (sender) => {
    while (isRunning) {
      const startedAt = performance.now()
      const headers = { host, ...createHeaders() }
      const { status } = await sender.send({ path: '/api/guides?limit=1', headers })
      if (status !== UNAVAILABLE) uses.push({ startedAt, status })
    }
  })
  return {
    uses,
    async stop() {
      isRunning = false
      await Promise.all(loops)
    },
  }
}

/** A public key whose private key was discarded. */
const PUBLIC_KEY = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
const createCredentials = (agent: RegisteredAgent) => basic(agent.client_id, agent.client_secret)

/** Tests R-LIN: after the response to a revocation, no process accepts a new request with a revoked token. */
export function describeRevocation(getSystem: () => System): void {
  describe('R-LIN over two processes of each app:', () => {
    test.for([
      [
        'a revoked token',
        (agent: RegisteredAgent, token: string, sender: Sender) => {
          const content = form({ token })
          const headers = { ...content.headers, ...createCredentials(agent) }
          return sender.send({ method: 'POST', path: '/oauth/revoke', ...content, headers })
        },
        200,
      ],
      [
        'the token of a client that deletes itself',
        (agent: RegisteredAgent, _token: string, sender: Sender) =>
          sender.send({ method: 'DELETE', path: '/api/agent', headers: createCredentials(agent) }),
        204,
      ],
      [
        'the token of a client that replaces its secret with keys',
        (agent: RegisteredAgent, _token: string, sender: Sender) => {
          const content = json({ keys: [PUBLIC_KEY] })
          const headers = { ...content.headers, ...createCredentials(agent) }
          return sender.send({ method: 'PUT', path: '/api/agent/jwks', ...content, headers })
        },
        200,
      ],
      [
        'the token of a client whose tokens an operator revokes',
        async (agent: RegisteredAgent) => {
          const args = ['stop', '--client', agent.client_id, '--reason', 'a test']
          return { status: (await runAuth(args, getSystem().stack.env)).code }
        },
        0,
      ],
    ] as const)('no process accepts %s', async ([_description, revoke, expectedStatus]) => {
      const system = getSystem()
      const host = new URL(system.origin).host
      // Revokes through the gateway, and directly at each auth process.
      const revokingSenders = [
        system.createSender({ from: '127.0.0.6' }),
        ...system.stack.auth.map(({ ports }) => {
          const sender = system.createSender({ url: `http://127.0.0.1:${ports.public}` })
          const send: Sender['send'] = (request) =>
            sender.send({ ...request, headers: { host, ...request.headers } })
          return { ...sender, send }
        }),
      ]
      for (const revokingSender of revokingSenders) {
        const agent = await system.register()
        const token = await system.issueToken(agent)
        const { uses, stop } = useEverywhere(system, token)
        await expect.poll(() => uses.filter(({ status }) => status === 200).length).toBeGreaterThan(10)
        const response = await revoke(agent, token, revokingSender)
        const respondedAt = performance.now()
        expect(response.status).toBe(expectedStatus)
        await expect
          .poll(() => uses.filter(({ startedAt }) => startedAt > respondedAt).length)
          .toBeGreaterThan(10)
        await stop()
        // A request that began before the response may have either status.
        const laterUses = uses.filter(({ startedAt }) => startedAt > respondedAt)
        expect(laterUses.filter(({ status }) => status !== 401)).toEqual([])
        expect(uses.filter(({ status }) => status !== 200 && status !== 401)).toEqual([])
      }
    })

    test('a deletion survives if every auth process and the database are killed right after its response', async () => {
      const system = getSystem()
      const agent = await system.register()
      const token = await system.issueToken(agent)
      const otherAgent = await system.register()
      const { auth } = system.stack
      const deletion = await system
        .createSender()
        .send({ method: 'DELETE', path: '/api/agent', headers: createCredentials(agent) })
      expect(deletion.status).toBe(204)
      await Promise.all(auth.map((each) => each.stop('SIGKILL')))
      const database = createPostgresProcess(system.stack.postgres)
      await database.stop('SIGKILL')
      await database.start()
      for (const each of auth) await each.start()
      const sender = system.createSender({ from: '127.0.0.7' })
      const readOtherAgent = async () =>
        (await sender.send({ path: '/api/agent', headers: createCredentials(otherAgent) })).status
      await expect.poll(readOtherAgent, { timeout: 20_000, interval: 250 }).toBe(200)
      expect((await sender.send({ path: '/api/agent', headers: createCredentials(agent) })).status).toBe(401)
      const refusedUse = await sender.send({
        path: '/api/guides',
        headers: { authorization: `Bearer ${token}` },
      })
      expect(refusedUse.status).toBe(401)
    })
  })
}

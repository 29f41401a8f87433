import { AgentId, RULES } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expireAgents } from '../src/agents/agent-expiry.ts'
import { deactivateAgent } from '../src/agents/deactivate-agent.ts'
import { readStatusReason } from '../src/agents/status-reason.ts'
import { createEvents } from '../src/events.ts'
import { isActive } from './agent-client.ts'
import { type AgentDocuments, startAgentDocuments, type UrlAgent } from './agent-documents.ts'
import { expectProblem } from './expect-refusal.ts'
import { generateTestKeyPair, type KeyPair } from './key-agent.ts'
import { type AuthTestbed, openAuthTestbed, TOKEN_STORES } from './open-auth-testbed.ts'
import type { RunningAuth } from './start-auth.ts'
import {
  type Clock,
  getUrlToken,
  openUrlStores,
  postFormAsUrlClient,
  requestUrlToken,
  sendAsAgent,
  setClockBack,
  startUrlInstance,
} from './url-agent.ts'

/** In a flood, an agent expires at the earliest this many seconds after its registration. */
const FLOOD_SECONDS = RULES.floodMs / 1_000

describe.for(TOKEN_STORES)(
  'a URL client whose earlier state is still cached or stored, with tokens in %s,',
  (tokenStore) => {
    const resources = new AsyncDisposableStack()
    let documentServer: AgentDocuments
    let testbed: AuthTestbed
    let auth: RunningAuth
    let otherInstance: RunningAuth
    let key: KeyPair
    let clock: Clock
    beforeAll(async () => {
      clock = { now: new Date() }
      documentServer = resources.use(await startAgentDocuments())
      testbed = resources.use(await openAuthTestbed(tokenStore))
      auth = resources.use(await startUrlInstance(testbed, documentServer, clock))
      otherInstance = resources.use(
        await startUrlInstance(testbed, documentServer, clock, { origin: auth.origin }),
      )
      key = await generateTestKeyPair()
    })
    afterAll(() => resources.disposeAsync())

    const publish = () => documentServer.publish([key])
    const revoke = (agent: UrlAgent, token: string) =>
      postFormAsUrlClient(auth, agent, clock, { path: '/oauth/revoke', fields: { token } })

    /** Sends a request that `auth` refuses, because it does not know the client yet. It then caches the client as unknown. */
    const cacheAsUnknown = async (agent: UrlAgent) => expect((await revoke(agent, 'x')).status).toBe(401)

    const openSharedStores = () => openUrlStores(testbed, auth, documentServer, clock)

    test('has an active token at an instance that has cached the client as unknown', async () => {
      const agent = publish()
      await cacheAsUnknown(agent)
      const { token } = await getUrlToken(otherInstance, agent, clock)
      expect(await isActive(auth, token)).toBe(true)
    })

    test('keeps its token when another client tries to revoke it at an instance that has cached the owner of the token as unknown', async () => {
      const [agent, stranger] = [publish(), publish()]
      await getUrlToken(auth, stranger, clock)
      await cacheAsUnknown(agent)
      const { token } = await getUrlToken(otherInstance, agent, clock)
      expectProblem(await revoke(stranger, token), { status: 400, code: 'foreign-token' })
      expect(await isActive(otherInstance, token)).toBe(true)
    })

    test('does not expire as never used in a flood after it was deleted and got a token again on the same day', async () => {
      const agent = publish()
      // Each instance remembers a recorded use for a day. The use before the deletion must not count for the new row, which
      // is old enough to expire in a flood.
      setClockBack(clock, FLOOD_SECONDS + 100)
      await getUrlToken(auth, agent, clock)
      setClockBack(clock, FLOOD_SECONDS + 50)
      const deleteResponse = await sendAsAgent(auth, agent, clock, { method: 'DELETE', path: '/api/agent' })
      expect(deleteResponse.status, deleteResponse.text).toBe(204)
      setClockBack(clock, FLOOD_SECONDS + 10)
      await getUrlToken(auth, agent, clock)
      setClockBack(clock, 0)
      const { token } = await getUrlToken(auth, agent, clock)
      await using stores = await openSharedStores()
      // A maximum of 0 makes this the case of a flood: every never-used agent that registered over an hour ago expires.
      await expireAgents({ ...stores, events: createEvents() }, clock.now, 0)
      expect(await isActive(auth, token)).toBe(true)
    })

    test('loses the stored reason for its deletion once it has got a token again', async () => {
      const agent = publish()
      await getUrlToken(auth, agent, clock)
      await using stores = await openSharedStores()
      const id = AgentId.parse(agent.client_id)
      await deactivateAgent(stores, { id, credentialVersion: undefined }, 'deleted', 'abuse')
      expect(await readStatusReason(testbed.db, id)).toBe('abuse')
      await expect.poll(async () => (await requestUrlToken(auth, agent, clock)).status).toBe(200)
      expect(await readStatusReason(testbed.db, id)).toBeUndefined()
    })
  },
)

import { openPool } from '@plainpath/postgres'
import { describe, expect, test } from 'vitest'
import { basic, form, json } from '../send.ts'
import type { System } from './open-system.ts'

const JOIN_COUNT = 40

/** Defines tests of simultaneous requests to two processes of each app. */
export function describeSimultaneousRequests(getSystem: () => System): void {
  describe('simultaneous requests through the gateway:', () => {
    test(`of ${JOIN_COUNT} waitlist requests with three spellings of one e-mail address, exactly one gets 201, and one row is stored`, async () => {
      const system = getSystem()
      const email = system.createEmail()
      await using db = openPool(system.adminUrls.resource, { max: 1 })
      const countEntries = async () =>
        Number((await db.query<{ count: string }>('select count(*) from waitlist_entries')).rows[0]?.count)
      const countBefore = await countEntries()
      // Each sender acts as a client of its own, with its own address and connections. The rate limits would also allow one sender.
      const senders = Array.from({ length: 20 }, (_, index) =>
        system.createSender({ from: `127.0.1.${index + 1}` }),
      )
      const spellings = [email, email.toUpperCase(), ` ${email}`]
      const responses = await Promise.all(
        Array.from({ length: JOIN_COUNT }, (_, index) =>
          senders[index % senders.length]!.send({
            method: 'POST',
            path: '/api/waitlist',
            ...json({ email: spellings[index % spellings.length] }),
          }),
        ),
      )
      const statuses = responses.map(({ status }) => status)
      expect(statuses.filter((status) => status === 201)).toHaveLength(1)
      expect(statuses.filter((status) => status === 200)).toHaveLength(JOIN_COUNT - 1)
      expect(await countEntries()).toBe(countBefore + 1)
    })

    test('all tokens that one client requests simultaneously are different and active', async () => {
      const system = getSystem()
      const agent = await system.register()
      const tokens = await Promise.all(Array.from({ length: 40 }, () => system.issueToken(agent)))
      expect(new Set(tokens).size).toBe(tokens.length)
      const sender = system.createSender({ from: '127.0.0.3' })
      const reads = tokens.map((token) =>
        sender.send({ path: '/api/guides', headers: { authorization: `Bearer ${token}` } }),
      )
      expect((await Promise.all(reads)).every(({ status }) => status === 200)).toBe(true)
    })

    test('ten simultaneous deletions of a client get 204, or 401 after one has deleted it, and the client then gets no token', async () => {
      const system = getSystem()
      const agent = await system.register()
      const headers = basic(agent.client_id, agent.client_secret)
      const sender = system.createSender({ from: '127.0.0.4' })
      const deletions = await Promise.all(
        Array.from({ length: 10 }, () => sender.send({ method: 'DELETE', path: '/api/agent', headers })),
      )
      // In ascending order, a 204 comes before every 401.
      const statuses = deletions.map(({ status }) => status).sort()
      expect(statuses[0]).toBe(204)
      expect(statuses.slice(1).every((status) => status === 204 || status === 401)).toBe(true)
      const grant = form({ grant_type: 'client_credentials' })
      const refusal = await sender.send({
        method: 'POST',
        path: '/oauth/token',
        ...grant,
        headers: { ...grant.headers, ...headers },
      })
      expect(refusal.status).toBe(401)
    })
  })
}

import { expect, test } from 'vitest'
import { exampleAgent, exampleHashKey } from '../../test/example-agent.ts'
import { exampleKey } from '../../test/example-key.ts'
import { gateVoucher } from '../clients/gate-voucher.ts'
import { clientAdapter, matchesKeptSecret } from './client-adapter.ts'

const hashKey = exampleHashKey()
const vouch = gateVoucher()
const digest = hashKey.hash('client-secret', 'pps_right')
const secret = { digest, keyId: hashKey.id, endsAt: undefined }
const keyed = { agent: exampleAgent({ keys: [exampleKey('one')] }).agent, secrets: [] }
const secretive = { agent: exampleAgent().agent, secrets: [secret] }
const strange = { agent: keyed.agent, secrets: [secret] }

async function accepts(client: typeof keyed | typeof secretive, presented: string): Promise<boolean> {
  const adapter = clientAdapter({ find: async () => client, resourceServers: () => [] })
  const kept = (await adapter.find(client.agent.id)) as { client_id: string; client_secret: string }
  const model = { clientId: kept.client_id, clientSecret: kept.client_secret }
  return matchesKeptSecret(model, presented, { hashKey, vouch })
}

test('a client with keys is let in by the gate’s voucher for it alone', async () => {
  const { id } = keyed.agent
  expect(await accepts(keyed, vouch(id))).toBe(true)
  const adapter = clientAdapter({ find: async () => keyed, resourceServers: () => [] })
  const { client_secret: kept } = (await adapter.find(id)) as { client_secret: string }
  for (const presented of ['', kept, id, 'pps_right', vouch(secretive.agent.id), gateVoucher()(id)])
    expect(await accepts(keyed, presented), presented).toBe(false)
})

test('a client with a secret is let in by that, and by no voucher', async () => {
  expect(await accepts(secretive, 'pps_right')).toBe(true)
  expect(await accepts(secretive, vouch(secretive.agent.id))).toBe(false)
  expect(await accepts(secretive, 'pps_wrong')).toBe(false)
})

test('a secret that was left beside keys is none', async () => {
  expect(await accepts(strange, 'pps_right')).toBe(false)
})

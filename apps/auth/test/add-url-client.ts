import { Agent } from '@plainpath/domain'
import { loadConfig } from '../src/config.ts'
import { openStores } from '../src/stores.ts'
import { generateTestKeyPair, type KeyAgent } from './key-agent.ts'
import type { RunningAuth } from './start-auth.ts'

const MARK_DOCUMENTS_FETCHED = `update agents
  set document_fetched_at = now(), document_expires_at = now() + interval '1 day' where id like 'https://%'`

/** Adds a URL client with one key, as if its document had just been fetched. The documents of other URL clients are renewed too. */
export async function addUrlClient(
  { testbed, origin }: Pick<RunningAuth, 'testbed' | 'origin'>,
  url: string,
): Promise<KeyAgent> {
  const key = await generateTestKeyPair()
  const keys = [{ ...key.jwk, alg: 'ES256', use: 'sig' }]
  const members = {
    id: url,
    scopes: ['guides:read', 'waitlist:write'],
    status: 'active',
    credentialVersion: 1,
    keys,
  }
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  await using openedStores = await openStores(loadConfig(await testbed.createSettings(origin)), {
    log,
    now: () => new Date(),
  })
  await openedStores.agents.add({ agent: Agent.parse({ ...members, registeredAt: new Date() }), secrets: [] })
  await testbed.runAsOwner(MARK_DOCUMENTS_FETCHED)
  return { client_id: url, key }
}

import { Agent } from '@plainpath/domain'
import { loadConfig } from '../src/config.ts'
import { openStores } from '../src/stores.ts'
import { generateTestKeyPair, type KeyAgent } from './key-agent.ts'
import type { RunningAuth } from './start-auth.ts'

/**
 * Marks the documents of all URL clients as fetched now and valid for a day. An older schema has no columns for documents:
 * there, drops the constraint that admits only registered agents.
 */
const MARK_DOCUMENTS_FETCHED = `do $$ begin
  if exists (select from information_schema.columns where table_name = 'agents' and column_name = 'document_expires_at') then
    execute 'update agents set document_fetched_at = now(), document_expires_at = now() + interval ''1 day'' where id like ''https://%''';
  else
    alter table agents drop constraint if exists agents_id_check;
  end if;
end $$`

/** Adds a URL client with one key, as if its document had just been fetched. */
export async function addUrlAgent(
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
  // The first run lets an older schema accept the insert. The second marks the document of the new client.
  await testbed.runAsOwner(MARK_DOCUMENTS_FETCHED)
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  await using openedStores = await openStores(loadConfig(await testbed.createSettings(origin)), {
    log,
    now: () => new Date(),
  })
  await openedStores.agents.add({ agent: Agent.parse({ ...members, registeredAt: new Date() }), secrets: [] })
  await testbed.runAsOwner(MARK_DOCUMENTS_FETCHED)
  return { client_id: url, key }
}

import { Agent } from '@plainpath/domain'
import { loadConfig } from '../src/config.ts'
import { openStores } from '../src/stores.ts'
import { type KeyAgent, newKey } from './key-agent.ts'
import type { RunningAuth } from './start-auth.ts'

/** The document of each row is valid for a day. Of a schema without documents, the rule that only registered agents have rows is dropped. */
const AS_FETCHED = `do $$ begin
  if exists (select from information_schema.columns where table_name = 'agents' and column_name = 'document_expires_at') then
    execute 'update agents set document_fetched_at = now(), document_expires_at = now() + interval ''1 day'' where id like ''https://%''';
  else
    alter table agents drop constraint if exists agents_id_check;
  end if;
end $$`

/** An agent that is known by its URL, whose document was fetched a moment ago. */
export async function addUrlAgent(
  { stores, origin }: Pick<RunningAuth, 'stores' | 'origin'>,
  url: string,
): Promise<KeyAgent> {
  const key = await newKey()
  const keys = [{ ...key.jwk, alg: 'ES256', use: 'sig' }]
  const about = {
    id: url,
    scopes: ['guides:read', 'waitlist:write'],
    status: 'active',
    credentialVersion: 1,
    keys,
  }
  await stores.asOwner(AS_FETCHED)
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  await using opened = await openStores(loadConfig(await stores.settingsFor(origin)), {
    log,
    now: () => new Date(),
  })
  await opened.agents.add({ agent: Agent.parse({ ...about, registeredAt: new Date() }), secrets: [] })
  await stores.asOwner(AS_FETCHED)
  return { client_id: url, key }
}

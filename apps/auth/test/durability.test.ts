import { afterAll, beforeAll, expect, test } from 'vitest'
import { deleteAgent, getToken, register, revoke } from './agent-client.ts'
import { registerKeys, requestTokenWithNewAssertion } from './key-agent.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

let auth: RunningAuth
beforeAll(async () => {
  auth = await startAuth()
  await auth.testbed.runAsAdmin(`alter database ${auth.testbed.database.name} set synchronous_commit = off`)
  // Records, at the end of each transaction, the setting that decides whether its commit waits for the disk.
  await auth.testbed.runAsOwner(`
    create schema note;
    create table note.commits (tables text, synchronous_commit text);
    create function note.commit() returns trigger language plpgsql security definer as $$
      begin
        insert into note.commits values (tg_table_name, current_setting('synchronous_commit'));
        return null;
      end $$;
    create constraint trigger noted after delete on tokens deferrable initially deferred for each row execute function note.commit();
    create constraint trigger noted after insert on client_assertions deferrable initially deferred for each row execute function note.commit();
    create constraint trigger noted after update on agents deferrable initially deferred for each row execute function note.commit();`)
  // Only new sessions have the new default.
  await auth.testbed.runAsAdmin(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  )
})
afterAll(() => auth[Symbol.asyncDispose]())

const listCommits = async () => {
  await auth.testbed.runAsOwner(
    `grant usage on schema note to public; grant select on note.commits to public`,
  )
  const { rows } = await auth.testbed.db.query('select tables, synchronous_commit from note.commits')
  return rows
}

test('an instance flushes a recorded use, a revocation, a deletion and a used assertion to disk before responding, whatever the server’s default', async () => {
  // The first requests may fail, because `beforeAll` terminated the connections of the instance.
  const canRegister = () =>
    register(auth).then(
      () => true,
      () => false,
    )
  await expect.poll(canRegister).toBe(true)
  const agent = await register(auth)
  const token = await getToken(auth, agent)
  expect((await revoke(auth, agent, token)).status).toBe(200)
  expect((await deleteAgent(auth, agent)).status).toBe(204)
  // The commits of the recorded use, the revocation and the deletion. The inserts of agents and tokens are not recorded.
  expect(await listCommits()).toEqual([
    { tables: 'agents', synchronous_commit: 'on' },
    { tables: 'tokens', synchronous_commit: 'on' },
    { tables: 'agents', synchronous_commit: 'on' },
  ])
  const keyAgent = await registerKeys(auth)
  expect((await requestTokenWithNewAssertion(auth, keyAgent)).status).toBe(200)
  expect((await listCommits()).slice(3)).toEqual([
    { tables: 'client_assertions', synchronous_commit: 'on' },
    { tables: 'agents', synchronous_commit: 'on' },
  ])
})

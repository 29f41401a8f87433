import { holdLock } from '@plainpath/postgres'
import { openTestDatabase } from '@plainpath/postgres/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MIGRATIONS } from '../src/stores.ts'
import { type RegisteredAgent, register } from './agent-client.ts'
import { type AuthTestbed, openAuthTestbed } from './open-auth-testbed.ts'
import { runAuth } from './run-auth.ts'
import { ORIGIN, startInstance } from './start-auth.ts'

const resources = new AsyncDisposableStack()
let testbed: AuthTestbed
let agent: RegisteredAgent
beforeAll(async () => {
  testbed = resources.use(await openAuthTestbed())
  agent = await register(resources.use(await startInstance(testbed)))
})
afterAll(() => resources.disposeAsync())

test.for([
  'agents disable AGENT',
  'agents enable AGENT',
  'agents delete AGENT',
  'stop --reason drill --client AGENT',
  'agents refresh https://agents.example.org/agent.json',
  'agents block --reason drill agents.example.org',
  'agents unblock --reason drill agents.example.org',
  'keys rotate --now',
])(
  '%s is refused while another command changes the same agent, document, domain or keys',
  async (command) => {
    const args = command.replace('AGENT', agent.client_id).split(' ')
    // The name of the lock, as in `define-command.ts`.
    const lockedResource = args[0] === 'keys' ? 'the signing keys' : args.at(-1)
    const readRows = async () =>
      (
        await testbed.db.query(`select status, version from agents, key_ring where id = $1`, [
          agent.client_id,
        ])
      ).rows
    const rowsBefore = await readRows()
    await using _lock = await holdLock(testbed.database.appUrl, `plainpath command ${lockedResource}`)
    expect(await runAuth(args, await testbed.createSettings(ORIGIN))).toEqual({
      code: 1,
      printed: '',
      errors: `Another command is changing ${lockedResource} now. Nothing was changed. When that command has ended, check its result, then run this command again.`,
    })
    expect(await readRows()).toEqual(rowsBefore)
  },
)

test('a command takes its lock at AUTH_SESSION_DATABASE_URL, not at AUTH_DATABASE_URL', async () => {
  // The lock is held only in the other database, so the command can notice it only there.
  await using otherDatabase = await openTestDatabase({ folder: MIGRATIONS, name: 'auth' })
  await using _lock = await holdLock(otherDatabase.appUrl, `plainpath command ${agent.client_id}`)
  const settings = {
    ...(await testbed.createSettings(ORIGIN)),
    AUTH_SESSION_DATABASE_URL: otherDatabase.appUrl,
  }
  expect((await runAuth(['agents', 'disable', agent.client_id], settings)).errors).toContain(
    `Another command is changing ${agent.client_id} now.`,
  )
})

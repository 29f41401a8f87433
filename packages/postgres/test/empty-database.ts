import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { connect, disconnect } from '../src/connection.ts'
import { type DatabaseSpec, ensureRolesAndDatabases } from '../src/roles-and-databases.ts'
import { createRunName } from './test-run.ts'

/** Creates an empty database with two roles, its owner and its app, on the project's server. Disposing drops all three. */
export async function createEmptyDatabase() {
  const { adminUrl, runId, rolePassword: password } = inject('testPostgres')
  const name = createRunName(runId, 'empty', randomBytes(4).toString('hex'))
  const owner = { name: `${name}_owner`, password }
  const app = { name: `${name}_app`, password }
  const spec = { name, owner, app }
  const [urls] = await ensureRolesAndDatabases(adminUrl, [spec])
  if (!urls) throw new Error('no database was made')
  return {
    ...urls,
    spec,
    [Symbol.asyncDispose]: () => dropDatabase(spec),
  }
}

/** Drops a database, even if it is in use, and its two roles. */
export async function dropDatabase({ name, owner, app }: DatabaseSpec): Promise<void> {
  const admin = await connect(inject('testPostgres').adminUrl, {
    applicationName: 'test',
    patience: 10,
  })
  await admin.query(`drop database "${name}" with (force)`)
  await admin.query(`drop role "${owner.name}", "${app.name}"`)
  await disconnect(admin)
}

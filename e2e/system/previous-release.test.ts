import { cp, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { MIGRATIONS as AUTH_MIGRATIONS } from '@plainpath/auth/stores'
import { migrate } from '@plainpath/postgres'
import { MIGRATIONS as RESOURCE_MIGRATIONS } from '@plainpath/resource/migrations'
import { checkOutCommit } from '@plainpath/stack/check-out'
import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findNewestRelease, type Release } from '../releases/newest-release.ts'
import { openReleaseStores } from '../releases/open-release-stores.ts'
import { runSmokeTest } from '../releases/run-smoke-test.ts'
import { type RunningRelease, runAppCommand, startRelease } from '../releases/start-release.ts'

/*
 * Tests that the newest release works on the tables of this commit, as it must while an upgrade replaces its processes one by
 * one. The tests depend on their order: each leaves the tables for the next one. F-32 is a number in
 * `e2e/faults/fault-numbers.ts`.
 */

const ROOT = path.resolve(import.meta.dirname, '../..')
const ORIGIN = 'http://localhost:8080'

const resources = new AsyncDisposableStack()
let folder: string
let env: Record<string, string>
let release: Release
let previousRelease: RunningRelease

beforeAll(async () => {
  release = findNewestRelease(ROOT)
  folder = resources.use(await createTemporaryFolder('release')).path
  checkOutCommit(ROOT, release.commit, path.join(folder, 'release'))
  env = {
    ...resources.use(await openReleaseStores(folder, ORIGIN)).env,
    AUTH_LIMITS_FACTOR: '1000',
    RESOURCE_LIMITS_FACTOR: '1000',
    AUTH_DRAIN_DELAY_SECONDS: '0',
    RESOURCE_DRAIN_DELAY_SECONDS: '0',
  }
  await runAppCommand(path.join(folder, 'release'), 'auth', ['migrate'], env)
  await runAppCommand(path.join(folder, 'release'), 'resource', ['migrate'], env)
  await runAppCommand(path.join(folder, 'release'), 'auth', ['keys', 'init'], env)
  previousRelease = resources.use(
    await startRelease(path.join(folder, 'release'), { name: release.tag, env, folder }),
  )
}, 180_000)
afterAll(() => resources.disposeAsync(), 60_000)

/** The folder with the migrations of this commit, by app. */
const MIGRATION_FOLDERS = { AUTH: AUTH_MIGRATIONS, RESOURCE: RESOURCE_MIGRATIONS }

/** Applies the missing migrations of a folder to the database of an app, and grants its role access. */
function migrateApp(app: keyof typeof MIGRATION_FOLDERS, migrations = MIGRATION_FOLDERS[app]) {
  const appRole = decodeURIComponent(new URL(env[`${app}_DATABASE_URL`] ?? '').username)
  return migrate({ url: env[`${app}_MIGRATION_DATABASE_URL`] ?? '', folder: migrations, appRole })
}

/** Applies one more migration, with the given SQL. The migrations of this commit must have been applied before. */
async function plantMigration(app: keyof typeof MIGRATION_FOLDERS, sql: string): Promise<void> {
  const migrations = path.join(folder, `planted-${app}`)
  await cp(MIGRATION_FOLDERS[app], migrations, { recursive: true })
  await writeFile(path.join(migrations, '9999-planted.sql'), sql)
  expect(await migrateApp(app, migrations)).toEqual({ applied: ['9999-planted'] })
}

test('F-32 the previous release works on its own tables', async () => {
  expect(await runSmokeTest(previousRelease)).toEqual([])
})

test('F-32 the previous release works after the migrations of each app to this release', async () => {
  await migrateApp('AUTH')
  expect(await runSmokeTest(previousRelease)).toEqual([])
  await migrateApp('RESOURCE')
  expect(await runSmokeTest(previousRelease)).toEqual([])
})

test('F-32 both releases work on the new tables, and the previous one can start there', async () => {
  await using current = await startRelease(ROOT, { name: 'this', env, folder })
  expect([await runSmokeTest(current), await runSmokeTest(previousRelease)]).toEqual([[], []])
  for (const each of previousRelease.processes) {
    await each.stop('SIGTERM')
    await each.start()
  }
  expect([await runSmokeTest(previousRelease), await runSmokeTest(current)]).toEqual([[], []])
})

test('F-32 the check detects a migration that removes what the previous release uses', async () => {
  await plantMigration('RESOURCE', 'alter table waitlist_entries rename column email_hash to email_digest')
  // A finding begins with the step and the status of its response, here 5xx.
  expect(await runSmokeTest(previousRelease)).toEqual([
    expect.stringMatching(/^join: 5/),
    expect.stringMatching(/^join again: 5/),
  ])
  await plantMigration('AUTH', 'alter table agent_secrets drop column secret_hash')
  expect(await runSmokeTest(previousRelease)).toContainEqual(expect.stringMatching(/^register: 5/))
})

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { openPool } from '@plainpath/postgres'
import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { startStack } from '@plainpath/stack/start-stack'
import { startFaultyMailServer } from '../faults/faulty-mail-server.ts'
import { prepareLedger } from '../faults/prepare-ledger.ts'
import { parseVitestReport } from '../faults/run-fault-tests.ts'
import { createMailSettings } from '../verification-steps.ts'
import { LEDGER_SIZE, rehearseUnderLoad } from './phases.ts'
import type { Rehearsal, RehearsalOptions, RehearsalResult } from './rehearsal.ts'
import { POOL_SIZE, type Pooler, startPooler } from './start-pooler.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const TESTS_TIMEOUT_MS = 600_000

export const POOLER: Rehearsal = {
  title: 'PostgreSQL behind a pooler in transaction mode',
  description: `Two processes of each app reached PostgreSQL through Debian's PgBouncer, which opened at most ${POOL_SIZE} sessions for each database. The connections
that receive notifications, and those that hold the session locks of commands, bypassed the pooler (\`AUTH_SESSION_DATABASE_URL\`,
\`RESOURCE_SESSION_DATABASE_URL\`). Afterwards, the end-to-end tests of an agent's life cycle (\`e2e/system/journey.ts\`) and of revocation ran
behind a second PgBouncer with the same settings.`,
  run: rehearsePooler,
}

/** The effects allowed while the pooler is stopped: neither database can be reached. */
const DATABASES_UNAVAILABLE = { components: ['auth database', 'api database'] } as const

async function rehearsePooler({ rate, seconds, print }: RehearsalOptions): Promise<RehearsalResult> {
  await using resources = new AsyncDisposableStack()
  const { path: folder } = resources.use(await createTemporaryFolder('pooler'))
  const mailServer = resources.use(await startFaultyMailServer())
  let startedPooler: Pooler | undefined
  // Registered before the stack, so it is disposed of after the stack, which needs the pooler until the stack has stopped.
  const poolerResources = resources.use(new AsyncDisposableStack())
  const stack = resources.use(
    await startStack({
      folder,
      limitsFactor: 1_000_000,
      settings: createMailSettings(mailServer),
      async redirectStores(stores) {
        startedPooler = await startPooler(stores, folder)
        poolerResources.use(startedPooler.process)
        return startedPooler.addresses
      },
    }),
  )
  const pooler = startedPooler
  if (!pooler) throw new Error('the stack did not start the pooler')
  const ledger = await prepareLedger(stack.origin, { mail: mailServer, size: LEDGER_SIZE })
  print('the load begins')
  let connectionsNote = ''
  const { phases, lost } = await rehearseUnderLoad(
    { origin: stack.origin, ledger, rate },
    async ({ runPhase, waitForLoad }) => {
      await runPhase('behind the pooler', async () => {
        await waitForLoad(seconds)
        connectionsNote = await describeConnections(pooler, stack.postgres.url)
      })
      await runPhase('the pooler reopens its server connections (RECONNECT)', async () => {
        await pooler.runConsoleCommand('RECONNECT')
        await waitForLoad(seconds)
      })
      await runPhase(
        'the pooler is killed and restarted',
        async () => {
          await pooler.process.stop('SIGKILL')
          await pooler.process.start()
          const repairedAt = performance.now()
          await waitForLoad(seconds)
          return repairedAt
        },
        DATABASES_UNAVAILABLE,
      )
    },
  )
  const instances = [...stack.auth, ...stack.resource]
  const mistakes = instances.flatMap(({ name, isRunning }) =>
    isRunning ? [] : [`${name} exited during the rehearsal`],
  )
  await resources.disposeAsync()
  print('the tests begin')
  return { phases, lost, mistakes, tests: await runTests(), notes: [connectionsNote] }
}

/** Counts the connections to the pooler and to PostgreSQL. Returns the counts as a sentence for the results. */
async function describeConnections(pooler: Pooler, adminUrl: string): Promise<string> {
  const pools = await pooler.runConsoleCommand('SHOW POOLS')
  const sumPoolColumns = (columnNames: RegExp) =>
    pools
      .filter(({ database }) => String(database).startsWith('plainpath_'))
      .flatMap((each) => Object.entries(each))
      .reduce((total, [name, value]) => (columnNames.test(name) ? total + Number(value) : total), 0)
  await using admin = openPool(adminUrl, { max: 1, applicationName: 'plainpath rehearsal' })
  const { rows } = await admin.query<{ direct: number }>(
    `select count(*) as direct from pg_stat_activity where application_name = 'plainpath listen'`,
  )
  return `Under this load, the apps had ${sumPoolColumns(/^cl_(active|waiting)$/)} connections to the pooler, and ${rows[0]?.direct ?? 0} direct connections to PostgreSQL for notifications. The pooler had ${sumPoolColumns(/^sv_(active|idle|used|tested|login)$/)} connections to PostgreSQL.`
}

/** Runs the tests behind their own pooler. */
async function runTests(): Promise<RehearsalResult['tests']> {
  await using resources = new AsyncDisposableStack()
  const { path: folder } = resources.use(await createTemporaryFolder('pooler-tests'))
  const report = path.join(folder, 'report.json')
  const options = ['--config', 'vitest.rehearsals.config.ts', '--reporter=json', `--outputFile=${report}`]
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...options, 'behind-pooler']
  // Vitest also exits with an error if a test fails, and the report then says which. After a time-out or a crash there is no report.
  await promisify(execFile)(process.execPath, args, { cwd: ROOT, timeout: TESTS_TIMEOUT_MS }).catch(
    () => undefined,
  )
  const text = await readFile(report, 'utf8').catch(() => undefined)
  if (text === undefined) return [{ title: 'the tests', outcome: 'not run' }]
  return parseVitestReport(text).map(({ title, status, failureMessages }) => ({
    title,
    outcome: status === 'passed' ? status : `${status}: ${failureMessages?.[0]?.split('\n')[0] ?? ''}`,
  }))
}

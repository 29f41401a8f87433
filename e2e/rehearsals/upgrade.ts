import path from 'node:path'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import type { AppName } from '@plainpath/metadata'
import { checkOutCommit, selectKnownSettings } from '@plainpath/stack/check-out'
import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { findDebianPrograms } from '@plainpath/stack/debian-program'
import { type AppPorts, type RunningApp, startApp } from '@plainpath/stack/start-app'
import { startGateway, toPublicMcpOrigin } from '@plainpath/stack/start-gateway'
import { startFaultyMailServer } from '../faults/faulty-mail-server.ts'
import { prepareLedger } from '../faults/prepare-ledger.ts'
import { retryWhileRefused } from '../faults/retry-while-refused.ts'
import { findNewestRelease } from '../releases/newest-release.ts'
import { openReleaseStores } from '../releases/open-release-stores.ts'
import { runAppCommand } from '../releases/start-release.ts'
import { createMailSettings } from '../verification-steps.ts'
import { LEDGER_SIZE, rehearseUnderLoad } from './phases.ts'
import type { Rehearsal, RehearsalOptions, RehearsalResult } from './rehearsal.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')

export const UPGRADE: Rehearsal = {
  title: 'A rolling upgrade and rollback',
  description: `Two processes of each app ran the newest release of \`docs/releases.json\`. The migrations of this commit were applied, then each process
was replaced in turn by one of this commit, the API first: stopped with SIGTERM, and started at the same address. Then each was replaced by one
of the release again in the reverse order, on the new tables.`,
  run: rehearseUpgrade,
}

/** A process of an app, which can be replaced by a process of another version. */
interface Instance {
  readonly app: AppName
  readonly number: number
  readonly ports: AppPorts
  running: RunningApp
}

async function rehearseUpgrade({ rate, seconds, print }: RehearsalOptions): Promise<RehearsalResult> {
  await using resources = new AsyncDisposableStack()
  const release = findNewestRelease(ROOT)
  const { path: folder } = resources.use(await createTemporaryFolder('upgrade'))
  const oldRoot = path.join(folder, 'release')
  checkOutCommit(ROOT, release.commit, oldRoot)
  const mailServer = resources.use(await startFaultyMailServer())
  // One port for the gateway, and three for each of the four processes.
  const [port = 0, ...ports] = await reserveFreePorts(13)
  const takePort = () => ports.pop() ?? 0
  const origin = `http://localhost:${port}`
  const stores = resources.use(await openReleaseStores(folder, origin))
  const env: Record<string, string> = {
    ...stores.env,
    ...createMailSettings(mailServer),
    RESOURCE_MCP_PUBLIC_ORIGIN: toPublicMcpOrigin(port),
    AUTH_TRUSTED_PROXIES: '127.0.0.1',
    RESOURCE_TRUSTED_PROXIES: '127.0.0.1',
    AUTH_LIMITS_FACTOR: '1000000',
    RESOURCE_LIMITS_FACTOR: '1000000',
    // A short delay is enough, because the gateway checks the health of each instance ten times a second.
    AUTH_DRAIN_DELAY_SECONDS: '2',
    RESOURCE_DRAIN_DELAY_SECONDS: '2',
  }
  const runCommand = (root: string, app: AppName, ...args: string[]) =>
    retryWhileRefused(() => runAppCommand(root, app, args, env))
  const migrateTo = async (root: string) => {
    for (const app of ['auth', 'resource'] as const) await runCommand(root, app, 'migrate')
  }
  await migrateTo(oldRoot)
  await runCommand(oldRoot, 'auth', 'keys', 'init')
  await runCommand(oldRoot, 'resource', 'guides', 'publish')

  const instances: Instance[] = []
  resources.defer(async () => {
    await Promise.all(instances.map(({ running }) => running[Symbol.asyncDispose]()))
  })
  const start = ({ app, number, ports: instancePorts }: Omit<Instance, 'running'>, root: string) =>
    startApp({ app, number, ports: instancePorts, root, folder, env: selectKnownSettings(root, app, env) })
  const addInstance = async (app: AppName, number: number) => {
    const identity = {
      app,
      number,
      ports: { public: takePort(), operations: takePort(), internal: takePort() },
    }
    const instance = { ...identity, running: await start(identity, oldRoot) }
    instances.push(instance)
    return instance
  }
  const auth = [await addInstance('auth', 1), await addInstance('auth', 2)]
  env['RESOURCE_AUTH_URL'] = auth.map((each) => `http://127.0.0.1:${each.ports.internal}`).join(',')
  const resource = [await addInstance('resource', 1), await addInstance('resource', 2)]
  const listUpstreams = (apps: readonly Instance[]) => apps.map((each) => `127.0.0.1:${each.ports.public}`)
  const { caddy } = await findDebianPrograms(['caddy'], process.env['PATH'] ?? '')
  resources.use(
    await startGateway({
      program: caddy,
      port,
      auth: listUpstreams(auth),
      resource: listUpstreams(resource),
      folder,
    }),
  )

  const replace = async (instance: Instance, root: string) => {
    await instance.running.stop('SIGTERM')
    instance.running = await start(instance, root)
  }
  const ledger = await prepareLedger(origin, { mail: mailServer, size: LEDGER_SIZE })
  const traffic = { origin, ledger, rate }
  const formatName = ({ app, number }: Instance) => `${app}-${number}`
  print(`${release.tag} (${release.commit.slice(0, 12)}) runs; the upgrade begins`)
  const upgrade = await rehearseUnderLoad(traffic, async ({ runPhase, waitForLoad }) => {
    await runPhase(`${release.tag} on its own tables`, () => waitForLoad(seconds))
    await runPhase('the migrations of this commit are applied', async () => {
      await migrateTo(ROOT)
      await waitForLoad(seconds)
    })
    for (const instance of [...resource, ...auth])
      await runPhase(`${formatName(instance)} is replaced by this commit`, async () => {
        await replace(instance, ROOT)
        await waitForLoad(seconds)
      })
  })
  print('this commit runs; the rollback begins')
  const rollback = await rehearseUnderLoad(traffic, async ({ runPhase, waitForLoad }) => {
    for (const instance of [...resource, ...auth].toReversed())
      await runPhase(`${formatName(instance)} is ${release.tag} again`, async () => {
        await replace(instance, oldRoot)
        await waitForLoad(seconds)
      })
  })
  return {
    phases: [...upgrade.phases, ...rollback.phases],
    lost: [...upgrade.lost, ...rollback.lost],
    mistakes: instances.flatMap((each) =>
      each.running.isRunning ? [] : [`${formatName(each)} exited during the rehearsal`],
    ),
    tests: [],
    notes: [
      `The release was ${release.tag}, commit ${release.commit.slice(0, 12)}.`,
      `Checked after each direction: ${ledger.agents.length} agents, ${ledger.addresses.length} addresses, ${ledger.tokens.length} tokens, of which ${ledger.revokedTokens.length} had been revoked.`,
    ],
  }
}

import { reserveFreePorts } from '@plainpath/http/free-ports'
import { findRunningServer } from '@plainpath/postgres'
import { findDebianPrograms } from '@plainpath/stack/debian-program'
import { startGateway } from '@plainpath/stack/start-gateway'
import { listChildProcesses } from '../load/processor-time.ts'
import { openStores, type Stores } from '../testbed/open-stores.ts'
import { type AgentWithToken, registerAgents } from '../testbed/register-agents.ts'
import { type MeasuredApp, startMeasuredApp } from '../testbed/start-measured-app.ts'

/** The parts of a stack. The processor time of each is measured separately. */
export const PARTS = ['auth', 'api', 'gateway', 'redis', 'postgres'] as const
export type Part = (typeof PARTS)[number]

/** A stack: some instances of each app behind one gateway, with stores of their own. */
export interface InstanceStack extends AsyncDisposable {
  readonly count: number
  readonly stores: Stores
  readonly auths: readonly MeasuredApp[]
  readonly apis: readonly MeasuredApp[]
  readonly gatewayPort: number
  readonly agents: readonly AgentWithToken[]
  /** Lists the ids of the processes that currently belong to a part. */
  readonly listProcesses: (part: Part) => readonly number[]
}

/** Each auth instance has at most 14 connections to PostgreSQL, and each API instance 12. */
const CONNECTIONS_PER_PAIR = 26
/** For the commands that set up the stores, the bench itself, and the three that PostgreSQL reserves for superusers. */
const OTHER_CONNECTIONS = 20
const AGENT_COUNT = 1_000

/** Starts stores, `count` instances of each app, and the stack's gateway, on all cores. Registers agents. */
export async function startInstances(
  count: number,
  { folder, nodeOptions }: { folder: string; nodeOptions: readonly string[] },
): Promise<InstanceStack> {
  await using opening = new AsyncDisposableStack()
  const { caddy } = await findDebianPrograms(['caddy'], process.env['PATH'] ?? '')
  const maxConnections = String(CONNECTIONS_PER_PAIR * count + OTHER_CONNECTIONS)
  const stores = opening.use(await openStores(folder, { max_connections: maxConnections }))
  const env = { ...stores.env, AUTH_DRAIN_DELAY_SECONDS: '0', RESOURCE_DRAIN_DELAY_SECONDS: '0' }
  // Without a wrapper, which would pin the apps to one core.
  const options = { folder, nodeOptions, wrapper: [] }
  const instanceNumbers = Array.from({ length: count }, (_none, index) => index + 1)
  const auths: MeasuredApp[] = []
  for (const instanceNumber of instanceNumbers)
    auths.push(
      opening.use(await startMeasuredApp({ ...stores, env }, { ...options, app: 'auth', instanceNumber })),
    )
  const apis: MeasuredApp[] = []
  for (const instanceNumber of instanceNumbers)
    apis.push(
      opening.use(
        await startMeasuredApp({ ...stores, env }, { ...options, app: 'resource', instanceNumber, auths }),
      ),
    )
  const [gatewayPort = 0] = await reserveFreePorts(1)
  const listAddresses = (apps: readonly MeasuredApp[]) => apps.map(({ port }) => `127.0.0.1:${port}`)
  const gateway = opening.use(
    await startGateway({
      program: caddy,
      port: gatewayPort,
      auth: listAddresses(auths),
      resource: listAddresses(apis),
      folder,
    }),
  )
  const [auth] = auths
  if (!auth) throw new Error('there is no instance of auth')
  const agents = await registerAgents(auth, AGENT_COUNT)
  const resources = opening.move()
  const databaseServer = findRunningServer(stores.postgres.dir)?.pid ?? 0
  const processes: Readonly<Record<Part, () => readonly number[]>> = {
    auth: () => auths.map(({ pid }) => pid),
    api: () => apis.map(({ pid }) => pid),
    gateway: () => [gateway.child.pid ?? 0],
    redis: () => [stores.redis.child.pid ?? 0],
    postgres: () => [databaseServer, ...listChildProcesses(databaseServer)],
  }
  return {
    count,
    stores,
    auths,
    apis,
    gatewayPort,
    agents,
    listProcesses: (part) => processes[part](),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

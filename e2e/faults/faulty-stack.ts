import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { openPool, type Pool } from '@plainpath/postgres'
import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { createPostgresProcess, type PostgresProcess } from '@plainpath/stack/postgres-process'
import type { RunningApp } from '@plainpath/stack/start-app'
import { type Stack, startStack } from '@plainpath/stack/start-stack'
import { Redis } from 'ioredis'
import { type AgentKey, createAgentKey } from '../agent-key.ts'
import { createMailSettings } from '../verification-steps.ts'
import { WITHOUT_FSYNC } from '../without-fsync.ts'
import { createFaultProxies, type FaultProxies } from './fault-proxies.ts'
import { type FaultyDocumentServer, startFaultyDocumentServer } from './faulty-document-server.ts'
import { createFaultyMachines, type Machine } from './faulty-machine.ts'
import { type FaultyMailServer, startFaultyMailServer } from './faulty-mail-server.ts'
import type { ProcessFault } from './faulty-process.ts'

/**
 * With these settings, a key rotation takes seconds. A process that stops keeps serving for the drain delay, so that
 * the gateway, which checks ten times a second, stops sending requests in time.
 */
const SETTINGS = {
  AUTH_KEYS_MAX_AGE_SECONDS: '0',
  AUTH_KEYS_TRUST_SECONDS: '1',
  AUTH_KEYS_POLL_SECONDS: '0.5',
  AUTH_KEYS_OVERLAP_SECONDS: '1',
  AUTH_DRAIN_DELAY_SECONDS: '2',
  RESOURCE_DRAIN_DELAY_SECONDS: '2',
}

/** Several times as much as a process needs, but so little that a leak fills it quickly. */
const HEAP_MB = 192

/** The whole topology, with a fault proxy in front of every store, the mail server and auth's internal listener. */
export interface FaultyStack
  extends AsyncDisposable,
    Pick<FaultProxies, 'setFault' | 'startCounting' | 'redirectDatabases'> {
  readonly folder: string
  readonly stack: Stack
  readonly postgres: PostgresProcess
  /** Superuser pools: for the database of each app, and for `postgres` as `server`. */
  readonly admin: { readonly auth: Pool; readonly api: Pool; readonly server: Pool }
  /** A connection to Redis as its administrator. */
  readonly redis: Redis
  /** Receives the mails of both apps. */
  readonly mail: FaultyMailServer
  /** Serves the metadata documents of clients whose `client_id` is a URL. */
  readonly documents: FaultyDocumentServer
  /** The key that all these clients have. */
  readonly documentKey: AgentKey
  /** Returns the machine as a process such as `auth-1` sees it, to set its faults. */
  getMachine(name: string): Machine
  /** Makes a process hang for a while, or leak memory. */
  injectProcessFault(app: RunningApp, fault: ProcessFault): void
  /** Registers a clean-up that runs after everything has stopped, and before a temporary folder is deleted. */
  defer(cleanUp: () => Promise<void>): void
}

/**
 * Starts the topology with its fault proxies.
 *
 * @param options.limitsFactor multiplies the rate limits and the mail limits of the apps, which would refuse the load otherwise
 * @param options.folder the folder for logs and data; by default a temporary one that is deleted afterwards
 */
export async function startFaultyStack(options: {
  limitsFactor: number
  folder?: string | undefined
}): Promise<FaultyStack> {
  await using opening = new AsyncDisposableStack()
  const { limitsFactor } = options
  const folder = options.folder ?? opening.use(await createTemporaryFolder('faults')).path
  const cleanUps = opening.use(new AsyncDisposableStack())
  const machines = await createFaultyMachines(folder)
  const proxies = opening.use(createFaultProxies())
  const mail = opening.use(await startFaultyMailServer())
  const documentKey = createAgentKey()
  const documents = opening.use(await startFaultyDocumentServer(documentKey))
  const certificateFile = path.join(folder, 'documents.pem')
  writeFileSync(certificateFile, documents.certificate)
  const toFaultFile = (name: string) => path.join(folder, `${name}.fault`)
  const stack = opening.use(
    await startStack({
      folder,
      limitsFactor,
      postgresSettings: WITHOUT_FSYNC,
      settings: {
        ...SETTINGS,
        AUTH_CLIENT_DOCUMENT_TEST_HOSTS: documents.address,
        ...createMailSettings({ url: await proxies.addProxy('mail', mail.url) }),
      },
      redirectStores: async (addresses) => ({
        AUTH_DATABASE_URL: await proxies.addProxy('auth database', addresses.AUTH_DATABASE_URL),
        RESOURCE_DATABASE_URL: await proxies.addProxy('api database', addresses.RESOURCE_DATABASE_URL),
        AUTH_REDIS_URL: await proxies.addProxy('auth redis', addresses.AUTH_REDIS_URL),
        RESOURCE_REDIS_URL: await proxies.addProxy('api redis', addresses.RESOURCE_REDIS_URL),
      }),
      redirectAuth: (url) => proxies.addProxy('introspection', url),
      processEnvFor: (name) => ({
        ...machines.getMachine(name).environment,
        NODE_OPTIONS: `--import=${import.meta.resolve('./faulty-process.ts')} --max-old-space-size=${HEAP_MB}`,
        FAULTY_PROCESS: toFaultFile(name),
        NODE_EXTRA_CA_CERTS: certificateFile,
      }),
    }),
  )
  const openAdminPool = (database: string) => {
    const url = new URL(stack.postgres.url)
    url.pathname = `/${database}`
    // Faults that terminate the sessions of the apps recognize these sessions by their application name, and spare them.
    return opening.use(openPool(url.href, { max: 1, applicationName: 'plainpath faults' }))
  }
  // Faults that stop Redis interrupt this connection. A command then waits for up to 20 attempts to reconnect, with 50 ms
  // before each.
  const redis = new Redis(stack.redis.adminUrl, { maxRetriesPerRequest: 20, retryStrategy: () => 50 })
  // Without a listener, ioredis would print each failed connection.
  redis.on('error', () => {})
  opening.defer(() => redis.disconnect())
  const pools = {
    auth: openAdminPool('plainpath_auth'),
    api: openAdminPool('plainpath_resource'),
    server: openAdminPool('postgres'),
  }
  // The apps stop in parallel, because each keeps serving for its drain delay.
  opening.defer(async () => {
    await Promise.all([...stack.auth, ...stack.resource].map((app) => app.stop('SIGTERM')))
  })
  const resources = opening.move()
  return {
    folder,
    stack,
    admin: pools,
    redis,
    mail,
    documents,
    documentKey,
    postgres: createPostgresProcess(stack.postgres),
    getMachine: (name) => machines.getMachine(name),
    injectProcessFault({ name, child }, fault) {
      writeFileSync(toFaultFile(name), fault)
      child.kill('SIGUSR2')
    },
    defer: (cleanUp) => cleanUps.defer(cleanUp),
    setFault: proxies.setFault,
    startCounting: proxies.startCounting,
    redirectDatabases: proxies.redirectDatabases,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

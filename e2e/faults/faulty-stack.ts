import { writeFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openPool, type Pool } from '@plainpath/postgres'
import { type PostgresProcess, postgresProcess } from '@plainpath/stack/postgres-process'
import type { RunningApp } from '@plainpath/stack/start-app'
import { type Stack, startStack } from '@plainpath/stack/start-stack'
import { Redis } from 'ioredis'
import { type AgentKey, createAgentKey } from '../agent-key.ts'
import { mailSettings } from '../lend-mailbox-to.ts'
import { type FaultyDocumentServer, startFaultyDocumentServer } from './faulty-document-server.ts'
import { faultyMachines, type Machine } from './faulty-machine.ts'
import { type FaultyMailServer, startFaultyMailServer } from './faulty-mail-server.ts'
import type { Misdeed } from './faulty-process.ts'
import { openWays, type Ways } from './ways.ts'

/**
 * With these intervals a key rotation takes seconds. A process that is stopped keeps serving until the gateway has noticed, which
 * checks ten times a second.
 */
const SETTINGS = {
  AUTH_KEYS_MAX_AGE_SECONDS: '0',
  AUTH_KEYS_TRUST_SECONDS: '1',
  AUTH_KEYS_POLL_SECONDS: '0.5',
  AUTH_KEYS_OVERLAP_SECONDS: '1',
  AUTH_DRAIN_DELAY_SECONDS: '2',
  RESOURCE_DRAIN_DELAY_SECONDS: '2',
}

/** Several times what a process needs, but small enough to fill quickly. */
const HEAP_MB = 192

/** The whole topology, with a fault proxy before every store, the mail server, and auth as the API reaches it. */
export interface FaultyStack extends AsyncDisposable, Pick<Ways, 'put' | 'watch' | 'aimDatabases'> {
  readonly folder: string
  readonly stack: Stack
  readonly postgres: PostgresProcess
  /** Superuser connections to the databases. */
  readonly admin: { readonly auth: Pool; readonly api: Pool; readonly server: Pool }
  readonly redis: Redis
  /** Receives the mails of both apps. */
  readonly mail: FaultyMailServer
  /** Has the documents of clients that are known by a URL. */
  readonly documents: FaultyDocumentServer
  /** The key of all these clients. */
  readonly documentKey: AgentKey
  /** The faults of the machine that a process such as `auth-1` sees. */
  machine(name: string): Machine
  /** Makes a process hang for a while, or use more and more memory. */
  misbehave(app: RunningApp, misdeed: Misdeed): void
  /** Registers work for the end, before the folder is deleted. */
  defer(clean: () => Promise<void>): void
}

/**
 * Starts the topology with its fault proxies.
 *
 * @param options.folder stores logs and data, which then remain; a temporary folder when absent
 */
export async function startFaultyStack(options: {
  limitsFactor: number
  folder?: string | undefined
}): Promise<FaultyStack> {
  await using opening = new AsyncDisposableStack()
  const { limitsFactor, folder = await mkdtemp(path.join(tmpdir(), 'plainpath-faults-')) } = options
  if (!options.folder) {
    opening.defer(() => rm(folder, { recursive: true, force: true }))
    // For root the database server runs as another user, which must be able to enter its folder inside this one.
    await chmod(folder, 0o755)
  }
  const last = opening.use(new AsyncDisposableStack())
  const machines = await faultyMachines(folder)
  const ways = opening.use(openWays())
  const mail = opening.use(await startFaultyMailServer())
  const documentKey = createAgentKey()
  const documents = opening.use(await startFaultyDocumentServer(documentKey))
  const authorityFile = path.join(folder, 'documents.pem')
  writeFileSync(authorityFile, documents.certificate)
  const misdeedFile = (name: string) => path.join(folder, `${name}.misdeed`)
  const stack = opening.use(
    await startStack({
      folder,
      limitsFactor,
      settings: {
        ...SETTINGS,
        AUTH_CLIENT_DOCUMENT_TEST_HOSTS: documents.address,
        ...mailSettings({ url: await ways.through('mail', mail.url) }),
      },
      redirectStores: async (to) => ({
        AUTH_DATABASE_URL: await ways.through('auth database', to.AUTH_DATABASE_URL),
        RESOURCE_DATABASE_URL: await ways.through('api database', to.RESOURCE_DATABASE_URL),
        AUTH_REDIS_URL: await ways.through('auth redis', to.AUTH_REDIS_URL),
        RESOURCE_REDIS_URL: await ways.through('api redis', to.RESOURCE_REDIS_URL),
      }),
      redirectAuth: (url) => ways.through('introspection', url),
      processEnvFor: (name) => ({
        ...machines.of(name).environment,
        NODE_OPTIONS: `--import=${import.meta.resolve('./faulty-process.ts')} --max-old-space-size=${HEAP_MB}`,
        FAULTY_PROCESS: misdeedFile(name),
        NODE_EXTRA_CA_CERTS: authorityFile,
      }),
    }),
  )
  const admin = (database: string) => {
    const url = new URL(stack.postgres.url)
    url.pathname = `/${database}`
    return opening.use(openPool(url.href, { max: 1, applicationName: 'plainpath faults' }))
  }
  const redis = new Redis(stack.redis.adminUrl, { maxRetriesPerRequest: 20, retryStrategy: () => 50 })
  redis.on('error', () => {})
  opening.defer(() => redis.disconnect())
  const pools = {
    auth: admin('plainpath_auth'),
    api: admin('plainpath_resource'),
    server: admin('postgres'),
  }
  // All at once, since each keeps serving for a while.
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
    postgres: postgresProcess(stack.postgres),
    machine: (name) => machines.of(name),
    misbehave({ name, child }, misdeed) {
      writeFileSync(misdeedFile(name), misdeed)
      child.kill('SIGUSR2')
    },
    defer: (clean) => last.defer(clean),
    ...{ put: ways.put, watch: ways.watch, aimDatabases: ways.aimDatabases },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
